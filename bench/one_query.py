#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times one query, or a batch, at a time against a prepared base: tessera::PreparedBase and FAISS IndexFlatL2 after add, turns interleaved.

    cmake --preset release -DTESSERA_BENCH=ON && cmake --build --preset release --target one_query
    build/venv/bin/python bench/one_query.py --batch 1 10 100 1000 --out build/one_query.json

Each turn is a process of its own, so that neither library's threads spin beside the other's. Prints medians, minima and maxima over all
calls of all turns, how much of what the arithmetic asks for that is (2 d a pair; the base's floats once a call), and at how many ranks of
the first queries either has a neighbour that is farther, in double, than the true one.
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
base, queries, k, calls = np.load(sys.argv[1]), np.load(sys.argv[2]), int(sys.argv[3]), int(sys.argv[6])
faiss.omp_set_num_threads(int(sys.argv[4]))
start = time.perf_counter()
index = faiss.IndexFlatL2(base.shape[1])
index.add(base)
prepare = time.perf_counter() - start
batches = {}
for batch in map(int, sys.argv[7:]):
    index.search(queries[:batch], k)
    seconds, ids = [], []
    for call in range(calls):
        first = call * batch % (len(queries) - batch + 1)
        start = time.perf_counter()
        found = index.search(queries[first:first + batch], k)[1]
        seconds.append(time.perf_counter() - start)
        ids += found.ravel().tolist()
    batches[batch] = {"seconds": seconds, "ids": ids, "plan": ""}
print(json.dumps({"prepare": prepare, "batches": batches, "version": faiss.__version__}))
"""


def wrong(base, queries, ids, k):
    """Ranks at which these neighbours are farther, in double, than the true ones."""
    count = 0
    b = base.astype(np.float64)
    for q, query in enumerate(queries.astype(np.float64)):
        difference = b - query
        distances = np.einsum("ij,ij->i", difference, difference)
        count += int((distances[ids[q]] > np.sort(np.partition(distances, k)[:k]) * (1 + 1e-12)).sum())
    return count


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=ROOT / "build/release/bench/one_query", type=Path)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--d", type=int, default=128)
    parser.add_argument("--batch", type=int, nargs="+", default=[1], help="queries a call")
    parser.add_argument("--screen", default="auto", help="Tessera's")
    parser.add_argument("--calls", type=int, default=5, help="calls of each size a turn, one more to warm up")
    parser.add_argument("--check", type=int, default=5, help="queries of each size whose answers are held against doubles")
    parser.add_argument("-k", type=int, default=10)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    rng = np.random.default_rng(1)
    base = rng.standard_normal((args.rows, args.d), dtype=np.float32)
    queries = rng.standard_normal((max(args.batch) + 64, args.d), dtype=np.float32)
    results = {"tessera": [], "faiss": []}
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/base.npy", base)
        np.save(f"{folder}/queries.npy", queries)
        tail = [str(a) for a in [f"{folder}/base.npy", f"{folder}/queries.npy", args.k, args.threads, args.screen, args.calls, *args.batch]]
        for _ in range(args.turns):
            for name, command in [("tessera", [args.program]), ("faiss", [sys.executable, "-c", FAISS])]:
                done = subprocess.run([*command, *tail], check=True, capture_output=True, text=True)
                results[name].append(json.loads(done.stdout))
    summary = {"rows": args.rows, "d": args.d, "k": args.k, "threads": args.threads, "calls": args.calls, "turns": args.turns,
               "faiss_version": results["faiss"][0]["version"], "batches": {}}
    for name, turns in results.items():
        summary[name] = {"prepare": statistics.median(turn["prepare"] for turn in turns)}
    for batch in args.batch:
        sides = {}
        for name, turns in results.items():
            seconds = [s for turn in turns for s in turn["batches"][str(batch)]["seconds"]]
            check = min(args.check, batch * args.calls)
            ids = np.array(turns[0]["batches"][str(batch)]["ids"]).reshape(-1, args.k)
            asked = np.concatenate([queries[first:first + batch] for first in (c * batch % (len(queries) - batch + 1) for c in range(args.calls))])
            median = statistics.median(seconds)
            sides[name] = {"median": median, "min": min(seconds), "max": max(seconds), "gflops": 2e-9 * batch * args.rows * args.d / median,
                           "base_gbytes_per_second": 4e-9 * args.rows * args.d / median, "plan": turns[0]["batches"][str(batch)]["plan"],
                           "wrong": wrong(base, asked[:check], ids[:check], args.k)}
        sides["ratio"] = sides["faiss"]["median"] / sides["tessera"]["median"]
        summary["batches"][batch] = sides
    text = json.dumps(summary, indent=1)
    print(text)
    if args.out:
        args.out.write_text(text)


if __name__ == "__main__":
    main()
