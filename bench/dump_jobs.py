#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs four large dumps as users run them, checks a sample of what they wrote, and asks for the plan of the full size. Prints a Markdown table.

    build/venv/bin/pip install numpy scipy h5py
    build/venv/bin/python bench/dump_jobs.py --folder /some/disk [cosine|periodic|wasserstein|batched ...] [--rows 40000] [--out build/jobs.json]

cosine       N x 100 float32, with itself, to HDF5, --memory 800M; at full size 100,000
periodic     N points in a triclinic cell: with themselves, and against N others; at full size 500,000
wasserstein  a ragged 10 x 24 grid of 60,000 to 180,000 samples: [10, 24, 10, 24]
batched      [200, 512, 768] float32 to [200, 512, 512]

A thousand random entries of each file, read by numpy or h5py, are held against the formula in double. Files are removed.
"""
import argparse
import json
import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
CELL = np.array([[50.0, 0, 0], [20.52, 56.38, 0], [12.16, 20.3, 65.9]])  # about 60, 70, 80 degrees


class Jobs:
    def __init__(self, args, folder):
        self.tessera, self.threads, self.rows, self.folder = args.tessera, args.threads, args.rows, Path(folder)
        self.done = []

    def dump(self, *args):
        done = subprocess.run([self.tessera, "dump", *map(str, args), "--threads", str(self.threads), "--force", "--json"], capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(done.stderr)
        return json.loads(done.stdout)

    def save(self, name, array):
        np.save(self.folder / name, array)
        return self.folder / name

    def report(self, job, run, full, worst):
        row = {"job": job, "shape": run["shape"], "gigabytes": run["file_bytes"] / 1e9, "seconds": run["seconds"]["total"], "megabytes_per_second": run["bytes_per_second"] / 1e6,
               "peak_mib": run["peak_rss_bytes"] / 2**20, "plan": run["plan"], "worst": worst, "full": full}
        self.done.append(row)
        told = "–" if full is None else (f"{full['shape']}, {full['file_bytes'] / 1e9:,.0f} GB: {full['estimate']['seconds']:,.0f} s "
                                         f"({full['estimate']['compute_bytes_per_second'] / 1e6:,.0f} MB/s computed, {full['estimate']['write_bytes_per_second'] / 1e6:,.0f} written)")
        print(f"| {job} | {run['shape']} | {row['gigabytes']:.1f} GB | {row['seconds']:.1f} s | {row['megabytes_per_second']:,.0f} | {row['peak_mib']:.0f} MiB | "
              f"{run['plan']['form']}, {run['plan']['schedule']} | {worst:.1e} | {told} |", flush=True)

    def worst(self, got, want):
        return float(np.max(np.abs(got - want) / np.maximum(np.abs(want), np.finfo(np.float32).tiny)))

    def pairs(self, n, m):
        rng = np.random.default_rng(9)
        return rng.integers(0, n, 1000), rng.integers(0, m, 1000)


def cosine(jobs):
    import h5py

    rng = np.random.default_rng(1)
    x = rng.standard_normal((jobs.rows, 100), dtype=np.float32)
    out = jobs.folder / "d.h5"
    run = jobs.dump("-b", jobs.save("x.npy", x), "-m", "cosine", "-o", out, "--memory", "800M")
    i, j = jobs.pairs(len(x), len(x))
    u, v = (x[at].astype(np.float64) for at in (i, j))
    want = 0.5 * ((u / np.linalg.norm(u, axis=1)[:, None] - v / np.linalg.norm(v, axis=1)[:, None]) ** 2).sum(axis=1)
    with h5py.File(out) as file:
        worst = jobs.worst(np.array([file["distances"][a, b] for a, b in zip(i, j)]), want)
    out.unlink()
    full = jobs.dump("-b", jobs.save("x.npy", rng.standard_normal((100_000, 100), dtype=np.float32)), "-m", "cosine", "-o", out, "--memory", "800M", "--dry-run")
    jobs.report("cosine, 100 columns, HDF5, `--memory 800M`", run, full, worst)


def nearest(r):
    """Over the images around the rounded one: enough for this cell."""
    r = r - np.round(r @ np.linalg.inv(CELL)) @ CELL
    shifts = np.stack(np.meshgrid(*[np.arange(-2, 3)] * 3, indexing="ij"), -1).reshape(-1, 3) @ CELL
    return np.sqrt(((r[:, None] + shifts) ** 2).sum(axis=2).min(axis=1))


def periodic(jobs):
    rng = np.random.default_rng(2)
    x, y = (rng.random((jobs.rows, 3)) @ CELL for _ in range(2))
    base, cols, out = jobs.save("x.npy", x), jobs.save("y.npy", y), jobs.folder / "d.npy"
    flags = ["-m", "periodic", "--cell", " ".join(map(repr, CELL.ravel().tolist())), "-o", out]
    full_base, full_cols = (jobs.save(name, rng.random((500_000, 3)) @ CELL) for name in ("fx.npy", "fy.npy"))
    for name, run_args, full_args, other in (("one set", ["-b", base], ["-b", full_base], x), ("two sets", ["-b", base, "--cols", cols], ["-b", full_base, "--cols", full_cols], y)):
        run = jobs.dump(*run_args, *flags)
        i, j = jobs.pairs(len(x), len(x))
        worst = jobs.worst(np.load(out, mmap_mode="r")[i, j], nearest(other[j] - x[i]))
        out.unlink()
        jobs.report(f"periodic, triclinic, {name}", run, jobs.dump(*full_args, *flags, "--dry-run"), worst)


def wasserstein(jobs):
    from scipy.stats import wasserstein_distance

    rng = np.random.default_rng(3)
    sizes = rng.integers(60_000, 180_001, 240)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    values = rng.standard_normal(offsets[-1]) * np.repeat(rng.uniform(0.5, 2, 240), sizes)
    np.savez(jobs.folder / "w.npz", values=values, offsets=offsets, shape=np.array([10, 24]))
    out = jobs.folder / "d.npy"
    run = jobs.dump("-b", jobs.folder / "w.npz", "-m", "wasserstein", "-o", out)
    got = np.load(out)
    part = [values[a:b] for a, b in zip(offsets[:-1], offsets[1:])]
    i, j = (at[:20] for at in jobs.pairs(240, 240))
    worst = jobs.worst(got.reshape(240, 240)[i, j], np.array([wasserstein_distance(part[a], part[b]) for a, b in zip(i, j)]))
    jobs.report(f"wasserstein, ragged grid, {offsets[-1] / 1e6:.1f} M samples", run, None, worst)


def batched(jobs):
    x = np.random.default_rng(4).standard_normal((200, 512, 768), dtype=np.float32)
    out = jobs.folder / "d.npy"
    run = jobs.dump("-b", jobs.save("t.npy", x), "--batched", "-m", "cosine", "-o", out)
    batch = np.random.default_rng(9).integers(0, 200, 1000)
    i, j = jobs.pairs(512, 512)
    u, v = (x[batch, at].astype(np.float64) for at in (i, j))
    want = 0.5 * ((u / np.linalg.norm(u, axis=1)[:, None] - v / np.linalg.norm(v, axis=1)[:, None]) ** 2).sum(axis=1)
    worst = jobs.worst(np.load(out, mmap_mode="r")[batch, i, j], want)
    out.unlink()
    jobs.report("cosine, batched, 768 columns", run, None, worst)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = {"cosine": cosine, "periodic": periodic, "wasserstein": wasserstein, "batched": batched}
    parser.add_argument("what", nargs="*", default=list(known))
    parser.add_argument("--tessera", default=str(ROOT / "build/release/tools/tessera"))
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rows", type=int, default=40_000, help="N of cosine and periodic")
    parser.add_argument("--folder")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    print("| job | shape | file | seconds | MB/s | peak memory | plan | worst relative error of the sample | at full size, `--dry-run` |\n" + "| --- " * 9 + "|")
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        jobs = Jobs(args, folder)
        for what in args.what:
            known[what](jobs)
    if args.out:
        args.out.parent.mkdir(parents=True, exist_ok=True)
        args.out.write_text(json.dumps(jobs.done, indent=1) + "\n")


if __name__ == "__main__":
    main()
