#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The largest errors of dumped values, per metric and types, against an oracle in extended precision. Prints a Markdown table.

    build/venv/bin/python bench/dump_accuracy.py [--tessera build/release/tools/tessera] [--rows 160]

Data: normal rows, the same 10,000 off the origin, two clusters, near duplicates, embeddings that all lie close together, tiny and huge scales,
and rows built to attain the bound (numerics.md, section 16). 3, 16, 100 and 768 columns. The oracle is a plain loop over the stored
elements in the processor's long double. Errors are relative to the distance; of inner_product, to the product of the norms; a value
below the smallest normal of its type, as part of that. Exit status 1: an error is past its proven bound.
"""
import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
METRICS = ("l2", "sqeuclidean", "cosine", "l1", "linf", "inner_product", "periodic")
INPUTS = (np.float64, np.float32, np.float16, np.uint8, np.int8)
CELL = "9 8.5 10 75 80 65"  # a b c alpha beta gamma
COLS = (3, 16, 100, 768)


def kinds(rng, n, d, dtype):
    """(name, x, y) of float64 rows whose elements the type can hold."""
    x, y = rng.standard_normal((n, d)), rng.standard_normal((n + 7, d))
    near = np.concatenate([x, x[:7]]) * (1 + 1e-6 * y)
    shared = 2.4 * rng.standard_normal(d)
    half = (np.arange(n) % 2 * 60.0)[:, None]
    yield "normal", x, y
    yield "off the origin", x + 1e4, y + 1e4
    yield "two clusters", x + half, y + 60
    yield "near duplicates", x, near
    yield "embeddings", x + shared, y + shared
    if dtype in (np.float64, np.float32):
        yield "tiny", x * 1e-15, y * 1e-15
        yield "huge", x * 1e15, y * 1e15
    if dtype == np.float32 and d >= 100:
        yield ("built", *built(d, 0.5))
        yield ("built", *built(d, 1 / 3))


def built(d, apart):
    """A chain of 64 whose leading 1 loses every later term, at a distance just past the dot form's condition."""
    x, y = np.zeros((1, d)), np.zeros((2, d))
    small = np.float64(np.float32(0.99995)) * 2.0**-12
    x[0, 0] = y[0, 0] = 1
    x[0, 1:62] = y[0, 1:62] = small
    x[0, 62] = y[0, 63] = apart + 1e-4
    y[1] = -y[0]
    return x, y


def stored(values, dtype):
    if np.issubdtype(dtype, np.integer):
        info = np.iinfo(dtype)
        return np.clip(np.rint(values * 40 + (100 if info.min == 0 else 0)), info.min, info.max).astype(dtype)
    return np.clip(values, -6e4, 6e4).astype(dtype) if dtype == np.float16 else values.astype(dtype)


def lattice():
    a, b, c, *angles = map(float, CELL.split())
    ca, cb, cg = np.cos(np.radians(angles))
    sg = np.sqrt(1 - cg * cg)
    return np.array([[a, 0, 0], [b * cg, b * sg, 0], [c * cb, c * (ca - cb * cg) / sg, c * np.sqrt(1 - cb * cb - ((ca - cb * cg) / sg) ** 2)]])


def oracle(metric, x, y):
    """[nx, ny] long double."""
    x, y = x.astype(np.longdouble), y.astype(np.longdouble)
    if metric == "cosine":
        x = x / np.sqrt((x * x).sum(1))[:, None]
        y = y / np.sqrt((y * y).sum(1))[:, None]
    if metric == "inner_product":
        return np.stack([(row * y).sum(1) for row in x])
    out = np.empty((len(x), len(y)), np.longdouble)
    for i, row in enumerate(x):
        diff = y - row
        if metric == "periodic":
            cell = lattice().astype(np.longdouble)
            shifts = np.stack(np.meshgrid(*[np.arange(-3, 4)] * 3, indexing="ij"), -1).reshape(-1, 3) @ cell
            back = np.rint((diff @ np.linalg.inv(cell.astype(float)).astype(np.longdouble)).astype(float)) @ cell
            out[i] = np.sqrt((((diff - back)[:, None, :] + shifts) ** 2).sum(2).min(1))
        elif metric in ("l1", "linf"):
            out[i] = np.abs(diff).sum(1) if metric == "l1" else np.abs(diff).max(1)
        else:
            out[i] = (diff * diff).sum(1)
            out[i] = np.sqrt(out[i]) if metric == "l2" else out[i] / 2 if metric == "cosine" else out[i]
    return out


def bound(metric, mode, d):
    """Proven, relative to the distance (inner_product: to the norms)."""
    product = metric == "inner_product"
    canonical = (d / 16 + 12) * 2.0**-53
    if mode == "float64":
        return canonical
    if mode == "exact":
        return 2.0**-24 + canonical
    fast = 4e-6 if product else 2e-5
    return fast + 2.0**-11 * (1 + fast) if mode == "float16" else fast


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tessera", default=str(ROOT / "build/release/tools/tessera"))
    parser.add_argument("--rows", type=int, default=160)
    args = parser.parse_args()
    modes = {"float32": [], "float16": ["--dtype", "float16"], "exact": ["--exact"], "float64": ["--dtype", "float64"]}
    worst = {}  # (metric, input, mode) -> (error, part of the bound)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for dtype in INPUTS:
            for d in COLS:
                for name, x, y in kinds(np.random.default_rng(d), args.rows, d, dtype):
                    x, y = stored(x, dtype), stored(y, dtype)
                    np.save(folder / "x.npy", x)
                    np.save(folder / "y.npy", y)
                    norms = [np.sqrt((a.astype(np.longdouble) ** 2).sum(1)) for a in (x, y)]
                    for metric in METRICS:
                        if metric == "periodic" and (d != 3 or name in ("off the origin", "huge", "tiny")):
                            continue
                        want = oracle(metric, x, y)
                        for mode, flags in modes.items():
                            check(args.tessera, folder, metric, mode, flags, d, want, norms, worst, (metric, np.dtype(dtype).name, mode), name)
    print("| metric | output | " + " | ".join(np.dtype(t).name for t in INPUTS) + " | proven |\n| --- | --- |" + " --- |" * (len(INPUTS) + 1))
    failed = False
    for metric in METRICS:
        for mode in modes:
            cells = [worst.get((metric, np.dtype(t).name, mode)) for t in INPUTS]
            print(f"| {metric} | {mode} | " + " | ".join("–" if c is None else f"{c[0]:.1e}" for c in cells) + f" | {bound(metric, mode, max(COLS)):.1e} |")
            failed = failed or any(c is not None and c[1] > 1 for c in cells)
    for key, (error, part, where) in worst.items():
        if part > 1:
            print("past the bound:", key, where, error, part, file=sys.stderr)
    sys.exit(1 if failed else 0)


def check(tessera, folder, metric, mode, flags, d, want, norms, worst, key, name):
    command = [tessera, "dump", "-b", folder / "x.npy", "--cols", folder / "y.npy", "-m", metric, "-o", folder / "d.npy", "--force", "--json", *flags]
    done = subprocess.run([*map(str, command), *(["--cell", CELL] if metric == "periodic" else [])], capture_output=True, text=True)
    if done.returncode != 0:
        if mode == "float16" and "float16" in done.stderr:
            return  # a value past 65504 is refused
        raise SystemExit(done.stderr)
    json.loads(done.stdout)
    got = np.load(folder / "d.npy").astype(np.longdouble)
    limit = np.finfo({"float64": np.float64, "float16": np.float16}.get(mode, np.float32))
    scale = np.abs(want)
    if metric == "inner_product":
        scale = norms[0][:, None] * norms[1][None, :]
    # Unit rows in double are off by 2^-53 an element, which near duplicates feel; no value is better than that.
    own = 0
    if metric == "cosine":
        own = 4 * np.sqrt(2 * want) * np.longdouble(2.0**-53) + np.longdouble(2.0**-104)
    elif metric == "periodic":  # the canonical r is reached from y - x, which may be many cells long
        own = 8 * np.longdouble(2.0**-53) * (norms[0][:, None] + norms[1][None, :])
    overflow = np.isinf(got) & (want > np.float64(limit.max) * (1 - 1e-7))
    error = np.maximum(np.abs(got - want) - own, 0)
    error = np.where(overflow, 0, error) / np.maximum(scale, np.longdouble(limit.tiny))
    part = float((error / bound(metric, mode, d)).max())
    if not part <= 1 and np.isnan(error).any():
        part = float("inf")
    largest = float(error.max())
    if key not in worst or largest > worst[key][0] or part > worst[key][1]:
        before = worst.get(key, (0, 0, ""))
        worst[key] = (max(largest, before[0]), max(part, before[1]), f"{name}, d {d}" if part >= before[1] else before[2])


if __name__ == "__main__":
    main()
