#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds FAISS IndexFlatL2 and `tessera topk` against each other on real data; where they differ, exact integers decide.

    build/venv/bin/pip install numpy faiss-cpu
    build/venv/bin/python bench/validate_faiss.py BASE QUERIES [-k 10] [--nq 1000] [--shift 0 1000 10000]

BASE and QUERIES hold uint8 rows (.u8bin, IDX). --shift adds a constant to both, which float32 holds exactly and which changes no distance.
Each place of a list counts once: `tie`: another row at the very same distance; `cancellation`: FAISS's row is not at the distance of its
place; `tessera`: ours is not, which must never be. The exit status is 1 when it is.
"""
import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import faiss
import numpy as np
from verify_integers import ROOT, exact_neighbours, read_rows


def squares_of(base, queries, ids):
    return np.stack([((base[row].astype(np.int64) - query.astype(np.int64)) ** 2).sum(axis=1) for query, row in zip(queries, ids)])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base")
    parser.add_argument("queries")
    parser.add_argument("-k", type=int, default=10)
    parser.add_argument("--nq", type=int, default=1000)
    parser.add_argument("--shift", type=float, nargs="*", default=[0, 1000, 10000])
    parser.add_argument("--tessera", default=ROOT / "build/release/tools/tessera")
    args = parser.parse_args()
    base, queries = read_rows(args.base), read_rows(args.queries)[:args.nq]
    places = np.concatenate([squares for _, _, squares in exact_neighbours(base, queries, args.k)])
    print(f"FAISS {faiss.__version__}, {len(queries)} queries x {args.k} places, {len(base)} rows", flush=True)
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for shift in args.shift:
            b, q = base.astype(np.float32) + np.float32(shift), queries.astype(np.float32) + np.float32(shift)
            np.save(folder / "b.npy", b)
            np.save(folder / "q.npy", q)
            subprocess.run([args.tessera, "topk", "-b", folder / "b.npy", "--queries", folder / "q.npy", "-k", str(args.k), "-o", folder / "nn.npz", "--force", "-q"],
                           check=True)
            with np.load(folder / "nn.npz") as lists:
                ours = lists["ids"]
            index = faiss.IndexFlatL2(b.shape[1])
            index.add(b)
            theirs = index.search(q, args.k)[1]
            wrong = int((squares_of(base, queries, ours) != places).sum())
            lost = squares_of(base, queries, theirs) != places
            ties = int(((theirs != ours) & ~lost).sum())
            failed |= wrong > 0
            print(f"shift {shift:>8g}: tie {ties}, cancellation {int(lost.sum())}, tessera {wrong}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
