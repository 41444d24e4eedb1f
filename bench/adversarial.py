#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Data made to defeat screens: whatever the screen, the output files are equal; what `auto` chooses costs little more than fp32.

    python3 bench/adversarial.py [--tessera build/release/tools/tessera] [--turns 3] [--rows 40000] [--queries 1000]

For each set: `--screen auto`, `fp32` and `int8`, turns interleaved, medians of prepare + search seconds, on all threads. Exits 1
where files differ, or auto takes more than 1.5 times what fp32 takes and 50 ms more (below that a turn's noise decides).
"""
import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
SCREENS = ["auto", "fp32", "int8"]


def normal(rng, n, d):
    return rng.standard_normal((n, d))


def near_duplicates(rng, n, d):
    centre = np.random.default_rng(7).standard_normal(d)
    return centre / np.linalg.norm(centre) + normal(rng, n, d) * 10.0 ** rng.uniform(-4, -2, (n, 1))


def scaled_dimension(rng, n, d):
    x = normal(rng, n, d)
    x[:, d // 3] *= 1000
    return x


def clusters(rng, n, d):
    return normal(rng, n, d) + 100 * rng.integers(0, 2, (n, 1))


def one_far_row(rng, n, d):
    x = normal(rng, n, d)
    x[n // 2] *= 1e4
    return x


def copies(rng, n, d):
    return np.repeat(normal(rng, (n + 99) // 100, d), 100, axis=0)[:n]


SETS = {
    "normal": (normal, 100),
    "N(0,1) + 1000": (lambda rng, n, d: normal(rng, n, d) + 1000, 100),
    "one dimension x 1000": (scaled_dimension, 100),
    "two clusters 100 apart": (clusters, 100),
    "one row x 1e4": (one_far_row, 100),
    "100 copies of each row": (copies, 100),
    "all rows equal": (lambda rng, n, d: np.broadcast_to(np.random.default_rng(3).standard_normal(d), (n, d)), 100),
    "near-duplicates, d = 768": (near_duplicates, 768),
    "lattice, massive ties": (lambda rng, n, d: rng.integers(0, 3, (n, d)), 100),
    "denormals": (lambda rng, n, d: normal(rng, n, d) * 1e-40, 100),
    "scales 1e-15 ... 1e15": (lambda rng, n, d: normal(rng, n, d) * 10.0 ** rng.uniform(-15, 15, (n, 1)), 100),
    "queries far from the base": (None, 100),
}


def make(name, rows, queries, rng):
    maker, d = SETS[name]
    if maker is None:
        return normal(rng, rows, d).astype(np.float32), (normal(rng, queries, d) * 100 + 1000).astype(np.float32)
    return tuple(np.ascontiguousarray(maker(rng, n, d), dtype=np.float32) for n in (rows, queries))


def run(args, folder, screen, k):
    out = folder / f"{screen}.npz"
    done = subprocess.run([args.tessera, "topk", "-b", folder / "base.npy", "--queries", folder / "queries.npy", "-k", str(k), "--screen", screen, "-o", out, "--force", "--json"],
                          check=True, capture_output=True, text=True)
    report = json.loads(done.stdout)
    return report["seconds"]["prepare"] + report["seconds"]["search"], report["plan"]["screen"], report["survivors_per_row"], out.read_bytes()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tessera", default=ROOT / "build/release/tools/tessera")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--rows", type=int, default=40_000)
    parser.add_argument("--queries", type=int, default=1_000)
    parser.add_argument("-k", type=int, default=10)
    parser.add_argument("--set", action="append", choices=list(SETS), help="only these (default: all)")
    args = parser.parse_args()
    bad = 0
    print("| set | auto chooses | auto | fp32 | int8 | auto / fp32 | survivors a row, int8 |\n| --- | --- | --- | --- | --- | --- | --- |")
    for name in args.set or SETS:
        with tempfile.TemporaryDirectory(prefix="tessera-adversarial-") as folder:
            folder = Path(folder)
            base, queries = make(name, args.rows, args.queries, np.random.default_rng(11))
            np.save(folder / "base.npy", base)
            np.save(folder / "queries.npy", queries)
            seconds = {screen: [] for screen in SCREENS}
            chosen, survivors, files = {}, {}, {}
            for _ in range(args.turns):
                for screen in SCREENS:
                    took, chosen[screen], survivors[screen], files[screen] = run(args, folder, screen, args.k)
                    seconds[screen].append(took)
        median = {screen: statistics.median(values) for screen, values in seconds.items()}
        ratio = median["auto"] / median["fp32"]
        print(f"| {name} | {chosen['auto']} | " + " | ".join(f"{median[s]:.2f} s" for s in SCREENS) + f" | {ratio:.2f} | {survivors['int8']:.0f} |", flush=True)
        if len(set(files.values())) > 1:
            print(f"{name}: the files differ", file=sys.stderr)
            bad += 1
        if ratio > 1.5 and median["auto"] - median["fp32"] > 0.05:
            print(f"{name}: auto takes {ratio:.2f} times what fp32 takes", file=sys.stderr)
            bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
