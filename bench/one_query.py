#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times one query at a time against a prepared base: tessera::PreparedBase and FAISS IndexFlatL2 after add, turns interleaved.

    cmake --preset release -DTESSERA_BENCH=ON && cmake --build --preset release --target one_query
    build/venv/bin/python bench/one_query.py --out build/one_query.json

Each turn is a process of its own, so that neither library's threads spin beside the other's. Prints medians, minima and maxima over all
queries of all turns, and how many neighbours FAISS has at a larger double distance than Tessera's.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent

FAISS = """
import json, sys, time
import faiss, numpy as np
base, queries, k = np.load(sys.argv[1]), np.load(sys.argv[2]), int(sys.argv[3])
faiss.omp_set_num_threads(int(sys.argv[4]))
start = time.perf_counter()
index = faiss.IndexFlatL2(base.shape[1])
index.add(base)
prepare = time.perf_counter() - start
index.search(queries[:1], k)
seconds, ids = [], []
for q in range(len(queries)):
    start = time.perf_counter()
    found = index.search(queries[q:q + 1], k)[1]
    seconds.append(time.perf_counter() - start)
    ids += found.ravel().tolist()
print(json.dumps({"prepare": prepare, "seconds": seconds, "ids": ids, "version": faiss.__version__}))
"""


def wrong(base, queries, ids, k):
    """Ranks at which these neighbours are farther, in double, than the true ones."""
    count = 0
    b = base.astype(np.float64)
    for q, query in enumerate(queries.astype(np.float64)):
        distances = ((b - query) ** 2).sum(axis=1)
        count += int((distances[ids[q]] > np.sort(np.partition(distances, k)[:k]) * (1 + 1e-12)).sum())
    return count


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=ROOT / "build/release/bench/one_query", type=Path)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--d", type=int, default=128)
    parser.add_argument("--queries", type=int, default=20)
    parser.add_argument("-k", type=int, default=10)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    rng = np.random.default_rng(1)
    base = rng.standard_normal((args.rows, args.d), dtype=np.float32)
    queries = rng.standard_normal((args.queries, args.d), dtype=np.float32)
    results = {"tessera": [], "faiss": []}
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/base.npy", base)
        np.save(f"{folder}/queries.npy", queries)
        tail = [f"{folder}/base.npy", f"{folder}/queries.npy", str(args.k), str(args.threads)]
        for _ in range(args.turns):
            for name, command in [("tessera", [args.program]), ("faiss", [sys.executable, "-c", FAISS])]:
                done = subprocess.run([*command, *tail], check=True, capture_output=True, text=True)
                results[name].append(json.loads(done.stdout))
    summary = {"rows": args.rows, "d": args.d, "k": args.k, "threads": args.threads, "queries": args.queries, "turns": args.turns,
               "faiss_version": results["faiss"][0]["version"]}
    for name, turns in results.items():
        seconds = [s for turn in turns for s in turn["seconds"]]
        ids = np.array(turns[0]["ids"]).reshape(args.queries, args.k)
        summary[name] = {"median": statistics.median(seconds), "min": min(seconds), "max": max(seconds),
                         "prepare": statistics.median(turn["prepare"] for turn in turns), "wrong": wrong(base, queries, ids, args.k)}
    summary["ratio"] = summary["faiss"]["median"] / summary["tessera"]["median"]
    text = json.dumps(summary, indent=1)
    print(text)
    if args.out:
        args.out.write_text(text)


if __name__ == "__main__":
    main()
