#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Neighbours of points in space, periodic or not: speed against SciPy's cKDTree, and pairs that the peers get wrong.

    python3 -m venv build/venv && build/venv/bin/pip install numpy scipy ase MDAnalysis
    cmake --preset release -DTESSERA_BENCH=ON && cmake --build build/release
    build/venv/bin/python bench/compare_periodic.py graph wrong matrix --out build/periodic

graph   self search, k nearest of n points: tessera topk (prepare + search of its own report, the file being mapped) against cKDTree(boxsize,
        leafsize 16) build + query(workers = threads). Uniform, clustered and two sets of points without a cell, float32; uniform in a periodic box, float64; the same points in a triclinic cell of 60, 70, 80 degrees and equal volume, which
        cKDTree has not; a droplet in vacuum; two sets. Distances are compared on a sample.
wrong   random pairs in skewed cells: the rounding formula, ASE get_distances, MDAnalysis distance_array and tessera against an enumeration of
        all images that needs no reduction. A distance is wrong when it is off by more than 1e-4 of the cell's shortest edge (peers compute in float32).
matrix  distance arrays in memory, n x n, one thread: MDAnalysis distance_array with box (float32 in, float64 out) against tessera's distance_matrix (float32).

Writes OUT.json.
"""
import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent


def cell_rows(a, b, c, alpha, beta, gamma):
    ca, cb, cg = np.cos(np.radians([alpha, beta, gamma]))
    sg = np.sin(np.radians(gamma))
    y = (ca - cb * cg) / sg
    return np.array([[a, 0, 0], [b * cg, b * sg, 0], [c * cb, c * y, c * np.sqrt(1 - cb * cb - y * y)]])


def tessera(args, base, queries, cell, k, threads):
    out = args.folder / "nn.npz"
    command = [args.binary, "topk", "-b", base, "-k", str(k), "--threads", str(threads), "--distances", "float64", "-o", out, "--force", "--json"]
    if cell is not None:
        command += ["-m", "periodic", "--cell", " ".join(map(repr, np.ravel(cell).tolist()))]
    if queries is not None:
        command += ["--queries", queries]
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    with np.load(out) as lists:
        return report["seconds"]["prepare"] + report["seconds"]["search"], lists["distances"], report


def dump(args, base, cols, cell):
    out = args.folder / "d.npy"
    subprocess.run([args.binary, "dump", "-b", base, "--cols", cols, "-m", "periodic", "--cell", " ".join(map(repr, np.ravel(cell).tolist())), "--dtype", "float64",
                    "-o", out, "--force", "-q"], check=True, capture_output=True)
    return np.load(out)


def kdtree(points, queries, box, k, threads):
    from scipy.spatial import cKDTree
    own = queries is None
    start = time.perf_counter()
    tree = cKDTree(points, leafsize=16, boxsize=box)
    distances, _ = tree.query(points if own else queries, k=k + own, workers=threads)
    return time.perf_counter() - start, distances[:, 1:] if own else distances


def graph(args):
    rng = np.random.default_rng(1)
    n, k, threads = args.n, args.k, args.threads
    side = 100.0
    box = np.array([side, side, side])
    uniform = rng.random((n, 3)) * box
    others = rng.random((n, 3)) * box
    direction = rng.standard_normal((n, 3))
    droplet = box / 2 + 0.25 * side * rng.random((n, 1)) ** (1 / 3) * direction / np.linalg.norm(direction, axis=1, keepdims=True)
    skewed = cell_rows(1, 1, 1, 60, 70, 80)
    skewed *= side / np.cbrt(np.linalg.det(skewed))
    clusters = (rng.random((1000, 3))[rng.integers(0, 1000, n)] + 0.01 * rng.standard_normal((n, 3))).astype(np.float32)
    rows = []
    for name, points, queries, cell in [("open uniform", uniform.astype(np.float32), None, None), ("clusters without a cell", clusters, None, None),
                                        ("separate sets without a cell", uniform.astype(np.float32), others.astype(np.float32), None),
                                        ("orthorhombic", uniform, None, np.diag(box)), ("triclinic 60 70 80", uniform / side @ skewed, None, skewed),
                                        ("droplet in vacuum", droplet, None, np.diag(box)), ("two sets", uniform, others, np.diag(box))]:
        if args.cases and name.split()[0] not in args.cases:
            continue
        base = args.folder / "base.npy"
        np.save(base, points)
        asked = None
        if queries is not None:
            asked = args.folder / "queries.npy"
            np.save(asked, queries)
        own, peer = [], []
        peer_can = cell is None or np.count_nonzero(cell) == 3
        for _ in range(args.rounds):
            seconds, distances, report = tessera(args, base, asked, cell, k, threads)
            own.append(seconds)
            if peer_can and len(peer) < args.peer_rounds:
                seconds, theirs = kdtree(points, queries, None if cell is None else box, k, threads)
                peer.append(seconds)
                worst = float(np.max(np.abs(theirs - distances)))
        row = {"case": name, "n": n, "k": k, "threads": threads, "tessera": own, "phases": report["seconds"], "pruned_fraction": report["pruned_fraction"], "isa": report["isa"],
               "survivors_per_row": report["survivors_per_row"]}
        if peer:
            row |= {"cKDTree": peer, "ratio": float(np.median(peer) / np.median(own)), "largest difference": worst}
        print(json.dumps(row), flush=True)
        rows.append(row)
    return rows


def least_distances(x, y, cell):
    """The least over all shifts that can matter, by plain enumeration around the rounded one."""
    d = y - x
    inverse = np.linalg.inv(cell)
    d -= np.round(d @ inverse) @ cell
    reach = np.ceil(np.linalg.norm(cell, axis=1).sum() / 2 * np.linalg.norm(inverse, axis=0)).astype(int) + 1
    best = np.full(len(d), np.inf)
    for shift in itertools.product(*(range(-r, r + 1) for r in reach)):
        np.minimum(best, np.einsum("ij,ij->i", d + np.array(shift) @ cell, d + np.array(shift) @ cell), out=best)
    return np.sqrt(best)


def wrong(args):
    import ase.geometry
    import MDAnalysis.lib.distances as mda
    import MDAnalysis.lib.mdamath as mdamath
    rng = np.random.default_rng(2)
    rows = []
    for name, angles, tilt in [("80 to 100 degrees", (80, 100), 0), ("60 to 120 degrees", (60, 120), 0), ("tilts up to 1.5 edges", None, 1.5), ("tilts up to 5 edges", None, 5)]:
        counts = dict.fromkeys(["pairs", "rounding formula", "ASE", "MDAnalysis", "tessera"], 0)
        for _ in range(args.cells):
            while True:
                lengths = 1 + rng.random(3)
                if angles is None:
                    cell = np.diag(lengths)
                    cell[1, 0], cell[2, 0], cell[2, 1] = rng.uniform(-tilt, tilt, 3)
                else:
                    with np.errstate(invalid="ignore"):
                        cell = cell_rows(*lengths, *rng.uniform(*angles, 3))
                if np.isfinite(cell).all() and np.linalg.det(cell) > (0 if tilt > 2 else 0.2) * np.prod(np.linalg.norm(cell, axis=1)):
                    break
            n = 200
            x, y = rng.random((n, 3)) @ cell, rng.random((n, 3)) @ cell
            truth = least_distances(x, y, cell)
            limit = 1e-4 * np.linalg.norm(cell, axis=1).min()
            d = y - x
            rounded = np.linalg.norm(d - np.round(d @ np.linalg.inv(cell)) @ cell, axis=1)
            by_ase = ase.geometry.get_distances(x, y, cell=cell, pbc=True)[1].diagonal()
            dimensions = mdamath.triclinic_box(*cell)
            by_mda = mda.calc_bonds(x.astype(np.float32), y.astype(np.float32), box=dimensions) if np.any(dimensions) else np.full(n, np.nan)
            np.save(args.folder / "x.npy", x)
            np.save(args.folder / "y.npy", y)
            ours = dump(args, args.folder / "x.npy", args.folder / "y.npy", cell).diagonal()
            counts["pairs"] += n
            counts["rounding formula"] += int(np.sum(np.abs(rounded - truth) > limit))
            counts["ASE"] += int(np.sum(np.abs(by_ase - truth) > limit))
            counts["MDAnalysis"] += int(np.sum(~(np.abs(by_mda - truth) <= limit)))
            counts["tessera"] += int(np.sum(np.abs(ours - truth) > limit))
        print(json.dumps({"cells": name} | counts), flush=True)
        rows.append({"cells": name} | counts)
    return rows


def matrix(args):
    import MDAnalysis.lib.distances as mda
    rng = np.random.default_rng(3)
    n = args.matrix_n
    rows = []
    for name, cell, dimensions in [("orthorhombic", np.diag([50.0, 60, 70]), [50, 60, 70, 90, 90, 90]),
                                   ("triclinic 60 70 80", cell_rows(50, 60, 70, 60, 70, 80), [50, 60, 70, 60, 70, 80])]:
        points = (rng.random((n, 3)) @ cell).astype(np.float32)
        base = args.folder / "m.npy"
        np.save(base, points)
        peer = []
        result = np.empty((n, n))
        for _ in range(args.peer_rounds + 1):
            start = time.perf_counter()
            mda.distance_array(points, points, box=np.array(dimensions, np.float32), result=result)
            peer.append(time.perf_counter() - start)
        command = [args.matrix, base, " ".join(map(repr, np.ravel(cell).tolist())), "1", str(args.rounds)]
        ours = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        own, peer = ours["seconds"], peer[1:]  # the first warms up, on either side
        print("sums", ours["sum"], float(result.sum()), flush=True)
        row = {"case": name, "n": n, "tessera": own, "MDAnalysis": peer, "ratio": float(np.median(peer) / np.median(own))}
        print(json.dumps(row), flush=True)
        rows.append(row)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="+", choices=["graph", "wrong", "matrix"])
    parser.add_argument("--binary", default=str(ROOT / "build/release/tools/tessera"))
    parser.add_argument("--matrix", default=str(ROOT / "build/release/bench/periodic_matrix"))
    parser.add_argument("--cases", nargs="+", help="graph: only these, by first word")
    parser.add_argument("--n", type=int, default=500_000)
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peer-rounds", type=int, default=1)
    parser.add_argument("--cells", type=int, default=50)
    parser.add_argument("--matrix-n", type=int, default=10_000)
    parser.add_argument("--out", default="build/periodic")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        args.folder = Path(folder)
        results = {what: globals()[what](args) for what in args.what}
    Path(args.out).parent.mkdir(parents=True, exist_ok=True)
    Path(args.out + ".json").write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    sys.exit(main())
