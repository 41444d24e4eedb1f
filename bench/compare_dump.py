#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times full matrices into files: Tessera against its peers and against the disk. One run, same data, same threads, rounds interleaved.

    build/venv/bin/python bench/compare_dump.py --folder /some/disk --out build/dump [rates|peers|batched|faiss|disk ...]

rates    the dot form's values a second without any file, against OpenBLAS sgemm (numpy.matmul) on the same tile shape: Gaussian rows, and
         embeddings that all lie within cosine distances 0.05 to 0.3 of each other
peers    cosine N x N x 100 into a file: scikit-learn pairwise_distances_chunked and scipy cdist into a memmap, all flushed to the disk
batched  [200, 512, 768] to [200, 512, 512]: a numpy loop (normalise, matmul, 1 - s, memmap), flushed
faiss    row-wise top-K of a dump against `tessera topk`, FAISS IVF at nprobe = nlist and HNSW at a large efSearch, on integer data
disk     a dump against writing the same bytes in the same blocks with fsync, and against computing them without writing
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent


def gaussian(rng, n, d):
    return rng.standard_normal((n, d), dtype=np.float32)


def anisotropic(rng, n, d):
    """All cosine distances within 0.05 to 0.3, as many embeddings are: one direction that all share, plus noise of its own size."""
    shared = np.random.default_rng(5).standard_normal(d)
    return (2.4 * shared + rng.standard_normal((n, d))).astype(np.float32)


class Bench:
    def __init__(self, args, folder):
        self.tessera = args.tessera
        self.threads = args.threads
        self.rounds = args.rounds
        self.folder = Path(folder)
        self.rows = []
        self.failed = False

    def run(self, *args, command="dump"):
        done = subprocess.run([self.tessera, command, *map(str, args), "--threads", str(self.threads), "--json"], capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(done.stderr)
        return json.loads(done.stdout)

    def save(self, name, array):
        path = self.folder / name
        np.save(path, array)
        return path

    def timed(self, **calls):
        """Rounds of every call in turn; returns seconds by name."""
        seconds = {name: [] for name in calls}
        for _ in range(self.rounds):
            for name, call in calls.items():
                start = time.perf_counter()
                own = call()
                seconds[name].append(own if own is not None else time.perf_counter() - start)
        return seconds

    def report(self, case, seconds, note=""):
        row = {"case": case, "note": note, "seconds": seconds}
        self.rows.append(row)
        print(case, {k: f"{statistics.median(v):.3g} ({min(v):.3g}-{max(v):.3g})" for k, v in seconds.items()}, note, flush=True)


def rates(b):
    rng = np.random.default_rng(1)
    for name, maker, n, d in (("gaussian", gaussian, 8192, 100), ("anisotropic", anisotropic, 8192, 100), ("gaussian", gaussian, 4096, 768)):
        x = maker(rng, n, d)
        path = b.save("x.npy", x)
        # Two sets, so that every value is computed.
        dry = ("-b", path, "--cols", b.save("y.npy", maker(rng, n, d)), "-m", "cosine", "-o", b.folder / "d.npy", "--dry-run")
        plan = b.run(*dry)["plan"]
        rows, cols = plan["tile_rows"], plan["tile_cols"]
        out = np.empty((rows, cols), np.float32)
        reps = max(1, int(2e10 / (2 * rows * cols * d)))

        def sgemm():
            start = time.perf_counter()
            for _ in range(reps):
                np.matmul(x[:rows], x[:cols].T, out=out)
            return (time.perf_counter() - start) / (reps * rows * cols)

        def dot_form():
            return 4 / b.run(*dry)["estimate"]["compute_bytes_per_second"]

        seconds = b.timed(tessera=dot_form, sgemm=sgemm)
        gflops = {k: 2e-9 * d / statistics.median(v) for k, v in seconds.items()}
        b.report(f"rate {name} d {d}, tile {rows} x {cols}", seconds, f"GFLOP/s {gflops['tessera']:.1f} against {gflops['sgemm']:.1f}: {gflops['tessera'] / gflops['sgemm']:.2f}")


def flushed(memmap):
    memmap.flush()
    fd = os.open(memmap.filename, os.O_RDONLY)
    os.fdatasync(fd)
    os.close(fd)


def peers(b, n):
    from scipy.spatial.distance import cdist
    from sklearn.metrics import pairwise_distances_chunked

    x = gaussian(np.random.default_rng(2), n, 100)
    path = b.save("x.npy", x)
    out = b.folder / "peer.npy"

    def tessera():
        b.run("-b", path, "-m", "cosine", "-o", b.folder / "d.npy", "--force")

    def sklearn():
        file = np.lib.format.open_memmap(out, "w+", np.float32, (n, n))
        at = 0
        for chunk in pairwise_distances_chunked(x, metric="cosine", n_jobs=b.threads):
            file[at:at + len(chunk)] = chunk
            at += len(chunk)
        flushed(file)

    def scipy():
        file = np.lib.format.open_memmap(out, "w+", np.float32, (n, n))
        for at in range(0, n, 512):
            file[at:at + 512] = cdist(x[at:at + 512], x, "cosine")
        flushed(file)

    seconds = b.timed(tessera=tessera, sklearn=sklearn, scipy=scipy)
    ours = statistics.median(seconds["tessera"])
    b.report(f"cosine {n} x {n} x 100 into {b.folder}", seconds,
             f"sklearn/tessera {statistics.median(seconds['sklearn']) / ours:.2f}, scipy/tessera {statistics.median(seconds['scipy']) / ours:.2f}")


def batched(b):
    x = np.random.default_rng(3).standard_normal((200, 512, 768), dtype=np.float32)
    path = b.save("t.npy", x)

    def tessera():
        b.run("-b", path, "--batched", "-m", "cosine", "-o", b.folder / "d.npy", "--force")

    def loop():
        tokens = np.load(path, mmap_mode="r")
        file = np.lib.format.open_memmap(b.folder / "peer.npy", "w+", np.float32, (200, 512, 512))
        for i, sample in enumerate(tokens):
            unit = sample / np.linalg.norm(sample, axis=1, keepdims=True)
            file[i] = 1 - unit @ unit.T
        flushed(file)

    seconds = b.timed(tessera=tessera, numpy=loop)
    b.report("batched [200, 512, 768]", seconds, f"numpy/tessera {statistics.median(seconds['numpy']) / statistics.median(seconds['tessera']):.2f}")


def same_neighbours(dump, ids, k):
    """Whether ids [n, k] are k nearest of every row of the dump, ties aside."""
    best = np.sort(dump, axis=1)[:, :k]
    found = np.sort(np.take_along_axis(dump, ids, axis=1), axis=1)
    return bool((best == found).all())


def faiss_check(b):
    import faiss

    faiss.omp_set_num_threads(b.threads)
    rng = np.random.default_rng(4)
    n, d, k = 5000, 32, 10
    x = rng.integers(0, 50, (n, d)).astype(np.float32)
    path = b.save("i.npy", x)
    b.run("-b", path, "-m", "sqeuclidean", "-o", b.folder / "d.npy", "--force")
    dump = np.load(b.folder / "d.npy")
    b.run("-b", path, "-k", k, "--self", "natural", "-m", "sqeuclidean", "-o", b.folder / "nn.npz", command="topk")
    answers = {"tessera topk": np.load(b.folder / "nn.npz")["ids"]}
    ivf = faiss.index_factory(d, "IVF64,Flat")
    ivf.train(x)
    ivf.add(x)
    ivf.nprobe = 64
    answers["IVF64, nprobe 64"] = ivf.search(x, k)[1]
    hnsw = faiss.IndexHNSWFlat(d, 32)
    hnsw.hnsw.efConstruction = 400
    hnsw.add(x)
    hnsw.hnsw.efSearch = 2000
    answers["HNSW32, efSearch 2000"] = hnsw.search(x, k)[1]
    exact = (x.astype(np.int64) ** 2).sum(1)
    integers = exact[:, None] + exact[None, :] - 2 * (x.astype(np.int64) @ x.astype(np.int64).T)
    equal = bool((dump == integers).all())
    same = {name: same_neighbours(dump, ids, k) for name, ids in answers.items()}
    print("dump equals exact integers:", equal, same, flush=True)
    b.rows.append({"case": "faiss", "dump_exact": equal, "same": same})
    b.failed = b.failed or not equal or not all(same.values())


def disk(b, n):
    for name, maker in (("gaussian", gaussian), ("anisotropic", anisotropic)):
        disk_of(b, name, maker(np.random.default_rng(2), n, 100))


def disk_of(b, name, x):
    n = len(x)
    path = b.save("x.npy", x)
    report = {}

    def tessera():
        report.update(b.run("-b", path, "-m", "cosine", "-o", b.folder / "d.npy", "--force", "--memory", "800M"))

    def write_only():
        block = np.random.default_rng(0).bytes(report["plan"]["tile_rows"] * report["plan"]["tile_cols"] * 4)
        fd = os.open(b.folder / "w.bin", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.posix_fallocate(fd, 0, n * n * 4)
        left, unsynced = n * n * 4, 0
        while left > 0:
            wrote = os.write(fd, block[:left])
            left -= wrote
            unsynced += wrote
            if unsynced >= 256 << 20:
                os.fdatasync(fd)
                unsynced = 0
        os.fdatasync(fd)
        os.close(fd)
        os.unlink(b.folder / "w.bin")

    def compute_only():
        return n * n * 4 / b.run("-b", path, "-m", "cosine", "-o", b.folder / "e.npy", "--dry-run")["estimate"]["compute_bytes_per_second"]

    seconds = b.timed(tessera=tessera, write_only=write_only, compute_only=compute_only)
    limit = max(statistics.median(seconds["write_only"]), statistics.median(seconds["compute_only"]))
    b.report(f"disk, cosine {n} x {n} x 100, {name}, in {b.folder}", seconds,
             f"tessera / larger of both {statistics.median(seconds['tessera']) / limit:.2f}; peak memory {report['peak_rss_bytes'] / 2**20:.0f} MiB; "
             f"{report['values']['directly']} values by differences, {report['values']['canonically']} canonical")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", default=["rates", "peers", "batched", "faiss", "disk"])
    parser.add_argument("--tessera", default=str(ROOT / "build/release/tools/tessera"))
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=20_000, help="N of peers and disk")
    parser.add_argument("--folder", default=None)
    parser.add_argument("--out", default="build/dump")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        b = Bench(args, folder)
        for what in args.what:
            {"rates": lambda: rates(b), "peers": lambda: peers(b, args.rows), "batched": lambda: batched(b), "faiss": lambda: faiss_check(b),
             "disk": lambda: disk(b, args.rows)}[what]()
    Path(args.out).with_suffix(".json").write_text(json.dumps({"threads": args.threads, "rounds": args.rounds, "results": b.rows}, indent=2) + "\n")
    if b.failed:
        sys.exit("faiss: the dump differs from exact integers, or neighbours of its rows from an engine's")


if __name__ == "__main__":
    main()
