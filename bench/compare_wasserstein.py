#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times W_1 of distributions on the line: Tessera against SciPy and POT. One run, same data, one thread each, rounds interleaved.

    build/venv/bin/pip install numpy scipy pot
    build/venv/bin/python bench/compare_wasserstein.py --out build/wasserstein [pair|grid|nearest|random ...]

pair     64 × 64 pairs of 100,000 and 60,000 to 100,000 samples. Tessera: the search seconds of `topk --screen double`, which computes every pair, by
         pair; sorting, which it does once a distribution and SciPy and POT do for every pair, is a column of its own
grid     all pairs of a 10 × 24 grid of 60,000 to 180,000 samples each, a [10, 24, 10, 24] file. SciPy's time is extrapolated from a sample of pairs
nearest  the 10 nearest others of each of 5,000 distributions of 2,000 samples, screened by sketches, against `--screen double`, which
         refines every pair: the same bytes, or the run fails
random   no timing: 400 pairs each of floats and of integers, with and without weights, of 1 to 300 samples, against SciPy (p = 1) and POT (p = 1, 2, 3)

--cpu counts CPU seconds instead of the clock's, for a machine that is not quiet. A search by itself is then the difference of two runs that read and
sort the same: every distribution of one side against all of the other, and one against all.

Answers are compared with SciPy's too: its W_1 is the area between two cumulative distribution functions. Writes OUT.json.
"""
import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

for variable in ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"]:
    os.environ[variable] = "1"

import numpy as np
import scipy
from scipy.stats import wasserstein_distance

try:
    import ot
except ImportError:
    ot = None

ROOT = Path(__file__).resolve().parent.parent
SEED = 5
SIDE = 64  # distributions on either side of a pair benchmark
AGREES = 1e-9  # relative: SciPy's own rounding, over 200,000 terms


class Bench:
    def __init__(self, args, folder):
        self.tessera = args.tessera
        self.rounds = args.rounds
        self.threads = args.threads
        self.cpu = args.cpu
        self.folder = Path(folder)
        self.rows = []
        self.failed = False

    def run(self, command, *args):
        before = children_seconds()
        # Through a shell: the peak memory of a process starts at that of the one it was forked from.
        done = subprocess.run(["sh", "-c", '"$@"; exit $?', "sh", self.tessera, command, *map(str, args), "-m", "wasserstein", "--threads", str(self.threads), "--force", "--json"],
                              capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(done.stderr)
        return {**json.loads(done.stdout), "cpu": children_seconds() - before}

    def whole(self, report):
        """Seconds of a command but its files."""
        seconds = report["seconds"]
        return self.cpu and report["cpu"] or seconds["prepare"] + seconds.get("search", seconds.get("compute", 0))

    def seconds_of(self, call):
        clock = time.process_time if self.cpu else time.perf_counter
        start = clock()
        call()
        return clock() - start

    def save(self, name, rows, weights=None, **more):
        """Ragged rows, as docs/how-to/distributions.md saves them."""
        arrays = dict(values=np.concatenate(rows), offsets=np.cumsum([0] + [len(r) for r in rows]), **more)
        if weights is not None:
            arrays["weights"] = np.concatenate(weights)
        np.savez(self.folder / name, **arrays)
        return self.folder / name

    def check(self, what, true):
        if not true:
            print("WRONG:", what, flush=True)
            self.failed = True


def spread(seconds, unit=1e3):
    return f"{statistics.median(seconds) * unit:.4g} ({min(seconds) * unit:.4g}–{max(seconds) * unit:.4g})"


def children_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def pair_cases():
    random = np.random.default_rng(SEED)

    def normal(n):
        return [random.normal(random.uniform(-1, 1), 1, n) for _ in range(SIDE)]

    def weights(n):
        return [random.uniform(0.1, 1, n) for _ in range(SIDE)]

    def octets(n):
        return [np.clip(random.normal(random.uniform(80, 170), 40, n), 0, 255).astype(np.uint8) for _ in range(SIDE)]

    yield "100,000 + 100,000", normal(100_000), normal(100_000), None, None
    yield "100,000 + 60,000", normal(100_000), normal(60_000), None, None
    yield "100,000 + 60,000, weighted", normal(100_000), normal(60_000), weights(100_000), weights(60_000)
    yield "100,000 + 60,000, uint8", octets(100_000), octets(60_000), None, None


def pair(b):
    print("| samples | Tessera, µs a pair | sorting, ms a distribution | SciPy, ms a pair | SciPy ÷ Tessera | POT, ms a pair | largest relative difference |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, a, c, wa, wc in pair_cases():
        x, y = b.save("a.npz", a, wa), b.save("b.npz", c, wc)
        both = b.save("both.npz", a + c, wa and wa + wc)
        ours, sorting, theirs, pot = [], [], [], []
        for i in range(b.rounds):
            report = b.run("topk", "-b", y, "--queries", x, "-k", SIDE, "--screen", "double", "-o", b.folder / "nn.npz", "--distances", "float64")
            if b.cpu:
                one = b.run("topk", "-b", both, "--queries", x, "--query-rows", "0:1", "-k", 1, "--screen", "double", "-o", b.folder / "one.npz")
                sorting.append(one["cpu"] / (2 * SIDE + 1))  # reading included, and a fiftieth of the pairs
                ours.append((report["cpu"] - one["cpu"] + sorting[-1]) / (SIDE**2 - 2 * SIDE))
            else:
                ours.append(report["seconds"]["search"] / SIDE**2)
                sorting.append(report["seconds"]["prepare"] / (2 * SIDE))
            theirs.append(b.seconds_of(lambda: wasserstein_distance(a[i], c[i], wa and wa[i], wc and wc[i])))
            if ot is not None:
                p, q = a[i].astype(float), c[i].astype(float)
                u, v = (wa[i] / wa[i].sum(), wc[i] / wc[i].sum()) if wa else (None, None)
                pot.append(b.seconds_of(lambda: ot.wasserstein_1d(p, q, u, v, p=1)))
        lists = np.load(b.folder / "nn.npz")
        matrix = np.empty((SIDE, SIDE))
        np.put_along_axis(matrix, lists["ids"], lists["distances"], axis=1)
        worst = max(abs(matrix[i, j] / wasserstein_distance(a[i], c[j], wa and wa[i], wc and wc[j]) - 1) for i, j in [(0, 0), (3, 9), (15, 1)])
        b.check(f"{name} differs by {worst}", worst < AGREES)
        b.rows.append({"case": name, "tessera": ours, "sorting": sorting, "scipy": theirs, "pot": pot, "difference": worst})
        print(f"| {name} | {spread(ours, 1e6)} | {spread(sorting)} | {spread(theirs)} | {statistics.median(theirs) / statistics.median(ours):.0f}× "
              f"| {spread(pot) if pot else 'not installed'} | {worst:.0e} |", flush=True)


def grid(b):
    random = np.random.default_rng(SEED)
    rows = [random.gamma(1 + i % 7, 1 + 0.01 * i, int(n)) for i, n in enumerate(random.integers(60_000, 180_001, 240))]
    x = b.save("grid.npz", rows, shape=[10, 24])
    reports = [b.run("dump", "-b", x, "-o", b.folder / "d.npy") for _ in range(b.rounds)]
    pairs = 240 * 239 // 2
    sample = [(int(i), int(j)) for i, j in random.integers(0, 240, (40, 2)) if i != j]
    values, seconds = [], []
    for i, j in sample:
        seconds.append(b.seconds_of(lambda: values.append(wasserstein_distance(rows[i], rows[j]))))
    file = np.load(b.folder / "d.npy")
    matrix = file.reshape(240, 240)
    worst = max(abs(matrix[i, j] / w - 1) for (i, j), w in zip(sample, values))
    b.check(f"the grid differs by {worst}, its shape is {file.shape}", worst < 1e-7 and file.shape == (10, 24, 10, 24))
    size = x.stat().st_size
    peak = max(r["peak_rss_bytes"] for r in reports)
    b.check(f"peak {peak} for an input of {size}", peak <= 1.3 * size + 200e6)
    total = [r["cpu"] if b.cpu else r["seconds"]["total"] for r in reports]
    theirs = statistics.mean(seconds) * pairs
    b.rows.append({"case": "grid", "samples": sum(map(len, rows)), "total": total, "prepare": [r["seconds"]["prepare"] for r in reports], "input_bytes": size,
                   "peak_rss_bytes": peak, "scipy_extrapolated": theirs, "scipy_sample": seconds, "difference": worst})
    print(f"grid: {pairs:,} pairs of {sum(map(len, rows)):,} samples in all: {spread(total, 1)} s in all, {spread([r['seconds']['prepare'] for r in reports], 1)} s of it sorting; "
          f"peak {peak / 1e6:.0f} MB, input {size / 1e6:.0f} MB (1.3 × + 200 MB: {(1.3 * size + 200e6) / 1e6:.0f} MB); SciPy would need {theirs:.0f} s, from {len(sample)} pairs; "
          f"{theirs / statistics.median(total):.0f}×; largest relative difference {worst:.0e} (float32 file)", flush=True)


def nearest(b):
    random = np.random.default_rng(SEED)
    rows = np.stack([random.gamma(random.uniform(0.5, 5), random.uniform(0.5, 2), 2000) + random.uniform(-1, 1) for _ in range(5000)])
    np.save(b.folder / "x.npy", rows)
    seconds = {"auto": [], "double": []}
    reports = {}
    for i in range(b.rounds):
        for screen in seconds:
            if screen == "double" and i > 0 and sum(seconds[screen]) > 60:
                continue  # long enough
            reports[screen] = b.run("topk", "-b", b.folder / "x.npy", "-k", 10, "--screen", screen, "-o", b.folder / f"{screen}.npz")
            seconds[screen].append(b.whole(reports[screen]))
    b.check("screened and refined bytes differ", (b.folder / "auto.npz").read_bytes() == (b.folder / "double.npz").read_bytes())
    lists = np.load(b.folder / "auto.npz")
    worst = max(abs(lists["distances"][i, 0] / wasserstein_distance(rows[i], rows[lists["ids"][i, 0]]) - 1) for i in range(0, 5000, 500))
    b.check(f"neighbours differ by {worst}", worst < 1e-7)
    survivors = reports["auto"]["survivors_per_row"]
    b.rows.append({"case": "nearest", "seconds": seconds, "survivors_per_row": survivors, "difference": worst})
    print(f"nearest: {spread(seconds['auto'], 1)} s, {survivors:.1f} pairs a row refined of 4,999; {spread(seconds['double'], 1)} s refining every pair "
          f"({len(seconds['double'])} rounds): {statistics.median(seconds['double']) / statistics.median(seconds['auto']):.1f}×, the same bytes", flush=True)


def random_pairs(b):
    random = np.random.default_rng(SEED)
    sizes = [int(n) for n in random.integers(1, 301, 40)]
    kinds = {"float64": lambda n: random.normal(random.uniform(-5, 5), random.uniform(0.1, 3), n), "float32": lambda n: random.gamma(2, 3, n).astype(np.float32),
             "int16": lambda n: random.integers(-300, 300, n).astype(np.int16), "int64": lambda n: random.integers(-5, 5, n)}
    for kind, draw in kinds.items():
        for weighted in (False, True):
            rows = [draw(n) for n in sizes]
            weights = [random.uniform(0.01, 1, n) for n in sizes] if weighted else None
            x, y = b.save("a.npz", rows[:20], weights and weights[:20]), b.save("b.npz", rows[20:], weights and weights[20:])
            worst = {}
            for p in (1, 2, 3):
                b.run("dump", "-b", x, "--cols", y, "--p", p, "--dtype", "float64", "-o", b.folder / "d.npy")
                ours = np.load(b.folder / "d.npy")
                for i, j in np.ndindex(20, 20):
                    u, v = rows[i].astype(float), rows[20 + j].astype(float)
                    wu, wv = (weights[i], weights[20 + j]) if weighted else (None, None)
                    answers = {}
                    if p == 1:
                        answers["SciPy"] = wasserstein_distance(u, v, wu, wv)
                    if ot is not None:
                        answers["POT"] = ot.wasserstein_1d(u, v, None if wu is None else wu / wu.sum(), None if wv is None else wv / wv.sum(), p=p) ** (1 / p)
                    for peer, theirs in answers.items():
                        scale = max(theirs, 1e-3)  # POT's root of a sum that ought to be zero
                        worst[peer, p] = max(worst.get((peer, p), 0), abs(ours[i, j] - theirs) / scale)
            name = f"{kind}{', weighted' if weighted else ''}"
            b.check(f"{name}: {worst}", all(w < 1e-7 for w in worst.values()))
            b.rows.append({"case": f"random {name}", "worst": {f"{peer}, p = {p}": w for (peer, p), w in worst.items()}})
            print(name, {f"{peer} p={p}": f"{w:.0e}" for (peer, p), w in worst.items()}, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", default=["pair", "grid", "nearest", "random"])
    parser.add_argument("--tessera", default=ROOT / "build/release/tools/tessera")
    parser.add_argument("--threads", type=int, default=1, help="of Tessera; SciPy and POT use one")
    parser.add_argument("--cpu", action="store_true", help="CPU seconds instead of the clock's")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", help="for the data (default: a temporary one)")
    parser.add_argument("--out", type=Path, default=Path("wasserstein"))
    args = parser.parse_args()
    info = subprocess.run([args.tessera, "info", "--json"], capture_output=True, text=True)
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    with tempfile.TemporaryDirectory(prefix="tessera-wasserstein-", dir=args.folder) as folder:
        bench = Bench(args, folder)
        for what in args.what:
            {"pair": pair, "grid": grid, "nearest": nearest, "random": random_pairs}[what](bench)
    versions = {"numpy": np.__version__, "scipy": scipy.__version__, "pot": ot.__version__ if ot else None, "python": platform.python_version()}
    report = {"commit": commit, "machine": platform.processor() or platform.machine(), "tessera": json.loads(info.stdout or "null"), "threads": args.threads, "cpu": args.cpu,
              "rounds": args.rounds, "versions": versions, "rows": bench.rows}
    args.out.with_suffix(".json").write_text(json.dumps(report, indent=1))
    print(versions, "commit", commit)
    return 1 if bench.failed else 0


if __name__ == "__main__":
    sys.exit(main())
