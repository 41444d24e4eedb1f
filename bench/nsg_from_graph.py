#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""FAISS's NSG and HNSW built from the exact kNN graph, beside both as FAISS builds them itself: build seconds, recall, speed.

    python3 bench/nsg_from_graph.py BASE QUERIES [--gk 64] [--nsg NSG32] [--hnsw HNSW32] [--out build/nsg]

All by the `tessera` command, in one run, with the same threads; graph seconds are the whole `tessera graph` call. FAISS makes its own
graph for NSG by brute force (IndexNSG::build_type 0, the factory's). Writes OUT.json and OUT.md.
"""
import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base")
    parser.add_argument("queries")
    parser.add_argument("--rows", type=int, help="only the first rows of the base")
    parser.add_argument("--gk", type=int, default=64, help="neighbours a row of the graph (FAISS's default)")
    parser.add_argument("--nsg", default="NSG32")
    parser.add_argument("--hnsw", default="HNSW32")
    parser.add_argument("-k", default="10")
    parser.add_argument("--tessera", default=str(ROOT / "build/release/tools/tessera"))
    parser.add_argument("--out", type=Path, default=ROOT / "build/nsg")
    args = parser.parse_args()

    def tessera(*words):
        start = time.perf_counter()
        done = subprocess.run([args.tessera, *map(str, words)], check=True, capture_output=True, text=True)
        return (json.loads(done.stdout) if done.stdout.startswith("{") else None), time.perf_counter() - start

    results = []
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        base = args.base
        if args.rows:
            base = folder / "base.npy"
            tessera("convert", args.base, base, "--rows", f"0:{args.rows}", "-q")
        graph, graph_seconds = tessera("graph", "-b", base, "-k", args.gk, "-o", folder / "g_knn.npz", "--json")
        cases = [(f"{args.nsg}, exact graph", args.nsg, ["--graph", folder / "g_knn.npz"], graph_seconds), (f"{args.nsg}, FAISS's graph", args.nsg, [], 0.0),
                 (f"{args.hnsw}, exact graph", args.hnsw, ["--graph", folder / "g_knn.npz"], graph_seconds), (f"{args.hnsw}, FAISS's own", args.hnsw, [], 0.0)]
        for number, (name, factory, more, before) in enumerate(cases):
            file = folder / f"{number}.faiss"
            report, _ = tessera("ann", "build", "-b", base, "--index", factory, *more, "-o", file, "--json")
            build = report["seconds"]["train"] + report["seconds"]["add"]
            sweep, _ = tessera("ann", "sweep", "-b", base, "--queries", args.queries, "-k", args.k, "--index-file", file, "--truth", folder / "t.npz", "--json", "-q")
            results.append({"name": name, "graph_seconds": before, "build_seconds": build, "bytes": report["bytes"], "points": sweep["indexes"][0]["points"]})
            exact = sweep["exact"]
    lines = ["| index | graph s | build s | sum s | recall (queries/s) |", "| --- | --- | --- | --- | --- |"]
    for r in results:
        points = ", ".join(f"{p['recall']:.4f} ({p['queries_per_second']:,.0f})" for p in r["points"])
        lines.append(f"| {r['name']} | {r['graph_seconds']:.2f} | {r['build_seconds']:.2f} | {r['graph_seconds'] + r['build_seconds']:.2f} | {points} |")
    text = "\n".join(lines) + f"\n\nexact search: {exact['queries_per_second']:,.0f} queries/s\n"
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.with_suffix(".json").write_text(json.dumps({"results": results, "exact": exact, "graph": graph}, indent=1))
    args.out.with_suffix(".md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
