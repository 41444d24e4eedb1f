#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks every id and every distance of `tessera topk` on integer data against exact arithmetic.

    python3 bench/verify_integers.py BASE QUERIES [-k 10] [--tessera PATH]

BASE and QUERIES hold uint8 rows (.u8bin, or IDX with or without .gz). Squared distances of such rows are integers below 2^53, so NumPy's
float64 matrix product gives them exactly; ties are broken by the smaller id. Exit status 1 on the first difference.
"""
import argparse
import gzip
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent


def read_rows(path):
    if str(path).endswith(".u8bin"):
        n, d = np.fromfile(path, "<u4", 2)
        return np.fromfile(path, np.uint8, offset=8).reshape(int(n), int(d))
    data = gzip.open(path).read() if str(path).endswith(".gz") else Path(path).read_bytes()
    ndim = data[3]
    shape = np.frombuffer(data, ">u4", ndim, 4).astype(int)
    return np.frombuffer(data, np.uint8, offset=4 + 4 * ndim).reshape(shape[0], -1)


def exact_neighbours(base, queries, k, block=250):
    b = base.astype(np.float64)
    norms = (b * b).sum(axis=1)
    ids = np.arange(len(b), dtype=np.int64)
    for first in range(0, len(queries), block):
        q = queries[first:first + block].astype(np.float64)
        squares = ((q * q).sum(axis=1)[:, None] + norms[None, :] - 2 * (q @ b.T)).astype(np.int64)
        order = squares * len(b) + ids  # (distance, id) as one integer
        order.partition(k - 1, axis=1)
        order = np.sort(order[:, :k], axis=1)
        yield first, order % len(b), order // len(b)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base")
    parser.add_argument("queries")
    parser.add_argument("-k", type=int, default=10)
    parser.add_argument("--tessera", default=ROOT / "build/release/tools/tessera")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "nn.npz"
        subprocess.run([args.tessera, "topk", "-b", args.base, "--queries", args.queries, "-k", str(args.k), "-m", "l2", "-o", out, "-q"], check=True)
        with np.load(out) as lists:
            ids, distances = lists["ids"], lists["distances"]
    base, queries = read_rows(args.base), read_rows(args.queries)
    for first, want_ids, squares in exact_neighbours(base, queries, args.k):
        rows = slice(first, first + len(want_ids))
        want = np.sqrt(squares.astype(np.float64)).astype(np.float32)
        if not np.array_equal(ids[rows], want_ids) or not np.array_equal(distances[rows], want):
            row = first + int(np.argmax((ids[rows] != want_ids).any(axis=1) | (distances[rows] != want).any(axis=1)))
            sys.exit(f"query {row}: got {ids[row]} {distances[row]}, wanted {want_ids[row - first]} {want[row - first]}")
    print(f"{len(queries)} queries x {args.k} neighbours among {len(base)} rows: every id and every distance as exact arithmetic gives them")


if __name__ == "__main__":
    main()
