#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/tensor_vectors.json: inputs of one tensor-core addition, and what each modelled architecture gives.

The model is written here a second time, in exact fractions, so that the C++ one (tests/simt/tensor_model.cpp) has a judge; and
scripts/gpu_check.sh gives the same inputs to a device, which judges both.

    python3 tests/simt/make_tensor_vectors.py > tests/data/tensor_vectors.json

A vector: c (bits of a float32), a and b (bits of sixteen bf16 each), sums (bits of a float32 for each architecture).
"""
import json
import random
import struct
from fractions import Fraction

ARCHS = {"80": (8, 1), "90": (16, 2)}  # products added at once, extra bits: as kernels/cuda/tensor_arch.hpp
SEED = 20251207


def float_of(bits):
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def bits_of(value):
    return struct.unpack("<I", struct.pack("<f", value))[0]


def exponent(bits, mantissa):
    """Of a finite number's bits: of the place before the point."""
    return max(bits >> mantissa & 0xFF, 1) - 127


def cut(value, unit):
    """value, cut off towards zero to a multiple of 2^unit."""
    scaled = value / Fraction(2) ** unit
    return Fraction(abs(scaled.numerator) // scaled.denominator) * (1 if scaled >= 0 else -1) * Fraction(2) ** unit


def to_float(value):
    """Cut off towards zero to a float32."""
    if value == 0:
        return 0
    place = 0
    while abs(value) >= Fraction(2) ** (place + 1):
        place += 1
    while abs(value) < Fraction(2) ** place:
        place -= 1
    return bits_of(float(cut(value, max(place, -126) - 23)))


def one_step(c, a, b, extra):
    terms = [(Fraction(float_of(c)), exponent(c, 23))]
    terms += [(Fraction(float_of(x << 16)) * Fraction(float_of(y << 16)), exponent(x, 7) + exponent(y, 7)) for x, y in zip(a, b)]
    places = [e for value, e in terms if value != 0]
    if not places:
        return 0
    unit = max(places) - 23 - extra
    return to_float(sum(cut(value, unit) for value, _ in terms))


def model(arch, c, a, b):
    products, extra = ARCHS[arch]
    for first in range(0, 16, products):
        c = one_step(c, a[first : first + products], b[first : first + products], extra)
    return c


def bf16(value):
    """To nearest; of the values used here."""
    bits = bits_of(value)
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def vectors():
    rng = random.Random(SEED)
    one = bf16(1.0)
    # One large number, and sixteen that lie around the last place that is kept beside it: the width of the adder, term by term.
    for place in range(20, 30):
        for sign in (1.0, -1.0):
            for start in (1.0, -1.0):
                small = [bf16(sign * 2.0 ** -(place // 2) * (1 if i % 2 else 1.5)) for i in range(16)]
                yield bits_of(start), small, [bf16(2.0 ** -(place - place // 2))] * 16
    # The same with the large one among the products: in every place once, so in both halves.
    for at in range(16):
        a = [bf16(2.0**-12)] * 16
        b = [bf16(2.0**-12 * 1.25)] * 16
        a[at], b[at] = one, one
        yield bits_of(0.0), a, b
    # Products of up to four units: exponents are compared as sums, before that is seen.
    for place in (22, 23, 24, 25):
        yield bits_of(1.0), [bf16(1.984375)] + [bf16(2.0**-place)] * 15, [bf16(1.984375)] + [one] * 15
        yield bits_of(3.0), [bf16(1.984375)] + [bf16(2.0**-place)] * 15, [bf16(-1.984375)] + [one] * 15
    # Cancellation, and what it leaves.
    for place in (20, 23, 24, 25, 26):
        yield bits_of(-1.0), [one, bf16(2.0**-place)] + [0] * 14, [one, one] + [0] * 14
        yield bits_of(2.0**-place), [one, one] + [0] * 14, [one, bf16(-1.0)] + [0] * 14
    for spread in (0, 1, 4, 12, 30):
        for _ in range(24):
            def number():
                return bf16(rng.choice((1.0, -1.0)) * rng.uniform(1, 2) * 2.0 ** rng.randint(-spread, spread))

            yield bits_of(rng.choice((0.0, 1.0, -1.0)) * rng.uniform(1, 2) * 2.0 ** rng.randint(-spread, spread)), [number() for _ in range(16)], [
                number() for _ in range(16)
            ]


def main():
    rows = [{"c": c, "a": a, "b": b, "sums": {arch: model(arch, c, a, b) for arch in ARCHS}} for c, a, b in vectors()]
    print("[")
    print(",\n".join(json.dumps(row, separators=(",", ":")) for row in rows))
    print("]")


main()
