#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times exact top-K of Tessera against its peers: one run, same data, same threads, rounds interleaved.

    python3 -m venv build/venv && build/venv/bin/pip install numpy scikit-learn faiss-cpu hnswlib usearch threadpoolctl
    build/venv/bin/python bench/compare_peers.py --out build/peers

Peers: FAISS IndexFlat (add + search, with the better of one and all OpenBLAS threads), scikit-learn NearestNeighbors(algorithm="brute") (fit + kneighbors), hnswlib BFIndex, USearch
exact search. Tessera is the command: prepare + search seconds of its own report, the file being mapped (reading it is inside prepare).
Answers are compared too: for a sample of queries every engine's neighbours are held against brute force in double; a neighbour is
wrong when its double distance is larger than that of the true neighbour of its rank.

Real data: --sift BASE QUERIES (bench/make_sift.py), --fashion-mnist BASE QUERIES (IDX files); Tessera takes their bytes as they are, peers as float32.

Writes OUT.json and OUT.md (a Markdown table): medians, minima, maxima, the ratio of the fastest peer to Tessera.
"""
import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

ROOT = Path(__file__).resolve().parent.parent
ORACLE_QUERIES = 100
ENGINE_SECONDS = 60


def gaussian(rng, n, d):
    return rng.standard_normal((n, d), dtype=np.float32)


def shifted(rng, n, d):
    return gaussian(rng, n, d) + np.float32(1e4)


def near_duplicates(rng, n, d):
    """One unit vector plus noise of 1e-2 ... 1e-4: cosines of nearly 1, l2 differences that float32 expansion cannot hold."""
    centre = np.random.default_rng(7).standard_normal(d)
    centre /= np.linalg.norm(centre)
    noise = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-4, -2, (n, 1))
    return (centre + noise).astype(np.float32)


def unit_clusters(rng, n, d):
    """Unit vectors around 500 centres, few directions of which carry most, as embeddings of text have them."""
    fixed = np.random.default_rng(8)
    spectrum = 1 / np.sqrt(np.arange(1, d + 1))
    x = (fixed.standard_normal((500, d)) * spectrum)[rng.integers(0, 500, n)] + 0.5 * rng.standard_normal((n, d)) * spectrum
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)


MAKERS = {"gaussian": gaussian, "shifted 1e4": shifted, "near-duplicates": near_duplicates, "unit clusters": unit_clusters}


class Case(NamedTuple):
    data: str  # a maker's name, or that of files
    base: int
    queries: int
    d: int
    k: int
    metric: str = "l2"


CASES = [
    Case("gaussian", 100_000, 10_000, 3, 10),
    Case("gaussian", 100_000, 4_000, 32, 10),
    Case("gaussian", 100_000, 10_000, 100, 10),
    Case("gaussian", 100_000, 2_000, 768, 10),
    Case("unit clusters", 100_000, 10_000, 768, 10, "cosine"),
    Case("SIFT", 200_000, 2_000, 128, 10),
    Case("SIFT", 200_000, 2_000, 128, 100),
    Case("Fashion-MNIST", 60_000, 10_000, 784, 10),
    # So many queries that FAISS takes its batched form: below distance_compute_blas_threshold / d it sums differences.
    Case("shifted 1e4", 100_000, 5_000, 32, 10),
    Case("near-duplicates", 100_000, 2_000, 100, 10),
]


class Tessera:
    name = "tessera"

    def __init__(self, binary, threads, folder):
        self.binary, self.threads, self.folder = binary, threads, folder
        self.report = {}

    def prepare(self, base, queries, metric):
        self.metric = metric
        np.save(self.folder / "base.npy", base)
        np.save(self.folder / "queries.npy", queries)

    def run(self, base, queries, k):
        out = self.folder / "nn.npz"
        command = [self.binary, "topk", "-b", self.folder / "base.npy", "--queries", self.folder / "queries.npy", "-k", str(k), "-m", self.metric,
                   "--threads", str(self.threads), "-o", out, "--force", "--json"]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        self.report = json.loads(done.stdout)
        seconds = self.report["seconds"]
        with np.load(out) as lists:
            return seconds["prepare"] + seconds["search"], lists["ids"]


class Faiss:
    def __init__(self, threads):
        import faiss
        self.faiss = faiss
        faiss.omp_set_num_threads(threads)
        self.name = f"faiss {faiss.__version__}"
        self.threads, self.blas_threads = threads, threads

    def prepare(self, base, queries, metric):
        """Chooses the better of two settings: OpenBLAS with one thread, or with all."""
        self.index = self.faiss.IndexFlatIP if metric == "cosine" else self.faiss.IndexFlatL2  # the rows are unit vectors then
        seconds = {}
        for self.blas_threads in (1, self.threads):
            seconds[self.blas_threads] = min(self.run(base, queries, 10)[0] for _ in range(2))
        self.blas_threads = min(seconds, key=seconds.get)

    def run(self, base, queries, k):
        with threadpool_limits(self.blas_threads, user_api="blas"):
            start = time.perf_counter()
            index = self.index(base.shape[1])
            index.add(base)
            _, ids = index.search(queries, k)
            return time.perf_counter() - start, ids


class Sklearn:
    def __init__(self, threads):
        import sklearn
        self.threads = threads
        self.name = f"scikit-learn {sklearn.__version__}"

    def prepare(self, base, queries, metric):
        self.metric = metric

    def run(self, base, queries, k):
        from sklearn.neighbors import NearestNeighbors
        start = time.perf_counter()
        ids = NearestNeighbors(n_neighbors=k, algorithm="brute", metric={"l2": "euclidean"}.get(self.metric, self.metric), n_jobs=self.threads).fit(base).kneighbors(queries, return_distance=False)
        return time.perf_counter() - start, ids


class Hnswlib:
    def __init__(self, threads):
        import hnswlib
        self.hnswlib, self.threads = hnswlib, threads
        self.name = "hnswlib BFIndex"

    def prepare(self, base, queries, metric):
        self.metric = metric

    def run(self, base, queries, k):
        start = time.perf_counter()
        index = self.hnswlib.BFIndex(space=self.metric, dim=base.shape[1])
        index.init_index(max_elements=len(base))
        index.add_items(base)
        if hasattr(index, "set_num_threads"):
            index.set_num_threads(self.threads)
        ids, _ = index.knn_query(queries, k=k)
        return time.perf_counter() - start, ids


class Usearch:
    def __init__(self, threads):
        import usearch
        from usearch.index import search, MetricKind
        self.search, self.kinds, self.threads = search, {"l2": MetricKind.L2sq, "cosine": MetricKind.Cos}, threads
        self.name = f"usearch {usearch.__version__} exact"

    def prepare(self, base, queries, metric):
        self.metric = metric

    def run(self, base, queries, k):
        start = time.perf_counter()
        matches = self.search(base, queries, k, self.kinds[self.metric], exact=True, threads=self.threads)
        return time.perf_counter() - start, np.asarray(matches.keys).astype(np.int64).reshape(len(queries), -1)


class Oracle:
    """The k smallest double distances of a sample of queries, by brute force."""

    def __init__(self, base, queries, k, metric):
        if metric == "cosine":  # half the squared distance of unit vectors
            base, queries = (x / np.linalg.norm(x.astype(np.float64), axis=1, keepdims=True) for x in (base, queries))
        self.base, self.queries, self.k = base, queries, k
        self.sample = range(0, len(queries), max(1, len(queries) // ORACLE_QUERIES))
        differences = np.empty(base.shape)
        self.best = []
        for q in self.sample:
            np.subtract(base, queries[q].astype(np.float64), out=differences)
            self.best.append(np.sort(np.partition(np.einsum("ij,ij->i", differences, differences), k - 1)[:k]))

    def wrong_neighbours(self, ids):
        """Ranks whose double distance is larger than that of the true neighbour of that rank; ranks looked at."""
        wrong = 0
        for q, best in zip(self.sample, self.best):
            rows = self.base[ids[q, :self.k].astype(np.int64)].astype(np.float64)
            got = ((rows - self.queries[q].astype(np.float64)) ** 2).sum(axis=1)
            wrong += int(np.sum(got > best * (1 + 1e-12)))
        return wrong, self.k * len(self.best)


def read_files(paths):
    """Rows of .u8bin and IDX files, as bytes."""
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    from verify_integers import read_rows
    return [read_rows(path).astype(np.uint8) for path in paths]


def measure(engines, case, rounds, files, log):
    name, nb, nq, d, k, metric = case
    if name in MAKERS:
        rng = np.random.default_rng(20260101)
        base, queries = MAKERS[name](rng, nb, d), MAKERS[name](rng, nq, d)
        given = base, queries
    else:
        given = [rows[:n] for rows, n in zip(read_files(files), (nb, nq))]
        base, queries = (rows.astype(np.float32) for rows in given)
    times = {e.name: [] for e in engines}
    spent = {e.name: 0.0 for e in engines}
    ids = {}
    for engine in engines:
        engine.prepare(*(given if isinstance(engine, Tessera) else (base, queries)), metric)
    for r in range(rounds + 1):  # the first round warms up
        for engine in list(engines):
            if r > 1 and spent[engine.name] > ENGINE_SECONDS:
                continue  # a slow peer is timed once; the table says of how many rounds its median is
            try:
                seconds, ids[engine.name] = engine.run(base, queries, k)
            except Exception as error:  # a peer that cannot do the job is reported, not hidden
                log(f"{engine.name}: {error}")
                engines.remove(engine)
                times.pop(engine.name, None)
                continue
            spent[engine.name] += seconds
            if r > 0:
                times[engine.name].append(seconds)
    oracle = Oracle(base, queries, k, metric)
    rows = {}
    for engine in engines:
        t = times[engine.name]
        wrong, total = oracle.wrong_neighbours(ids[engine.name])
        rows[engine.name] = {"median": statistics.median(t), "min": min(t), "max": max(t), "rounds": len(t), "wrong": wrong, "checked": total}
        if isinstance(engine, Faiss):
            rows[engine.name]["openblas_threads"] = engine.blas_threads
    ours = rows["tessera"]["median"]
    peers = [v["median"] for n, v in rows.items() if n != "tessera"]
    return {"data": name, "metric": metric, "screen": engines[0].report["plan"]["screen"], "base": nb, "queries": nq, "d": d, "k": k, "engines": rows, "ratio": min(peers) / ours if peers else None}


def markdown(results, meta):
    names = list(dict.fromkeys(n for r in results for n in r["engines"]))
    lines = [f"{meta['cpu']}, {meta['threads']} threads, {meta['date']}, commit {meta['commit']}; medians of {meta['rounds']} rounds in seconds "
             "(min–max), wrong neighbours of those checked.", "",
             "| data | queries × base, d, k | " + " | ".join(names) + " | fastest peer ÷ Tessera |", "| --- " * (len(names) + 3) + "|"]
    for r in results:
        cells = []
        for n in names:
            e = r["engines"].get(n)
            cells.append(f"{e['median']:.3f} ({e['min']:.3f}–{e['max']:.3f}{'' if e['rounds'] == meta['rounds'] else ', %d round' % e['rounds']}), {e['wrong']}/{e['checked']}" if e else "–")
        lines.append(f"| {r['data']}{'' if r['metric'] == 'l2' else ', ' + r['metric']} | {r['queries']:,} × {r['base']:,}, {r['d']}, {r['k']} | " + " | ".join(cells) + f" | {r['ratio']:.1f}× |")
    return "\n".join(lines) + "\n"


def cpu_name():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tessera", default=ROOT / "build/release/tools/tessera", type=Path)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--peers", default="faiss,sklearn,hnswlib,usearch")
    parser.add_argument("--d", type=int, nargs="*", help="only the cases of these dimensions")
    parser.add_argument("--data", nargs="*", help="only the cases of these data: " + ", ".join(sorted({f"'{case.data}'" for case in CASES})))
    parser.add_argument("--sift", nargs=2, metavar=("BASE", "QUERIES"))
    parser.add_argument("--fashion-mnist", nargs=2, metavar=("BASE", "QUERIES"))
    parser.add_argument("--out", type=Path, default=ROOT / "build/peers")
    args = parser.parse_args()

    def log(text):
        print(text, file=sys.stderr, flush=True)

    makers = {"faiss": Faiss, "sklearn": Sklearn, "hnswlib": Hnswlib, "usearch": Usearch}
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    meta = {"cpu": cpu_name(), "threads": args.threads, "rounds": args.rounds, "date": time.strftime("%Y-%m-%d"), "commit": commit,
            "command": " ".join(sys.argv)}
    results = []
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(args.threads):
        for case in CASES:
            if (args.d and case.d not in args.d) or (args.data and case.data not in args.data):
                continue
            files = {"SIFT": args.sift, "Fashion-MNIST": args.fashion_mnist}.get(case.data)
            if case.data not in MAKERS and files is None:
                log(f"{case.data}: no files given")
                continue
            engines = [Tessera(args.tessera, args.threads, Path(folder))]
            for peer in args.peers.split(","):
                try:
                    engines.append(makers[peer](args.threads))
                except ImportError as error:
                    log(f"{peer}: not installed ({error})")
            results.append(measure(engines, case, args.rounds, files, log))
            log(markdown(results[-1:], meta).splitlines()[-1])
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.with_suffix(".json").write_text(json.dumps({"meta": meta, "results": results}, indent=1))
    args.out.with_suffix(".md").write_text(markdown(results, meta))
    print(markdown(results, meta))


if __name__ == "__main__":
    main()
