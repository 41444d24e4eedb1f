#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds `tessera ann` against FAISS's Python bindings: the same index file, the same settings, the same ids, the same recall.

    apt-get install python3-faiss python3-numpy            # the bindings of the FAISS that Debian's libfaiss-dev is
    /usr/bin/python3 bench/sweep_against_python.py BASE QUERIES [--index HNSW32 --index IVF1024,Flat ...] [--out build/sweep_check.json]

BASE and QUERIES as verify_integers.py reads them (.u8bin, IDX). Every default setting of every index is searched by both; ids must be
equal one by one, and the recall that sweep reports (--index-file) equal to the one computed here from the bindings' ids.
"""
import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import faiss
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
from verify_integers import ROOT, read_rows  # noqa: E402


def tie_recall(ids, truth_ids, truth_distances, k):
    """recall by docs/cli.md, in NumPy."""
    total = 0.0
    for run, near, far in zip(ids, truth_ids, truth_distances):
        tau = far[k - 1]
        closer, tied = set(near[far < tau]), set(near[far == tau])
        run = set(run[run >= 0])
        total += (len(run & closer) + min(len(run & tied), k - len(closer))) / k
    return total / len(ids)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base")
    parser.add_argument("queries")
    parser.add_argument("--index", action="append")
    parser.add_argument("-k", type=int, default=10)
    parser.add_argument("--nq", type=int, default=1000)
    parser.add_argument("--tessera", default=str(ROOT / "build/release/tools/tessera"))
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    queries = read_rows(args.queries)[:args.nq].astype(np.float32)
    checked = []
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for number, factory in enumerate(args.index or ["HNSW32", "IVF1024,Flat", "IVF256_HNSW32,Flat"]):
            file = folder / f"{number}.faiss"
            subprocess.run([args.tessera, "ann", "build", "-b", args.base, "--index", factory, "-o", file, "-q"], check=True)
            sweep = json.loads(subprocess.run(
                [args.tessera, "ann", "sweep", "-b", args.base, "--queries", args.queries, "--query-rows", f"0:{len(queries)}", "-k", str(args.k),
                 "--index-file", file, "--seconds", "0", "--truth", folder / "truth.npz", "--json", "-q"], check=True, capture_output=True, text=True).stdout)
            if sweep["faiss"] != faiss.__version__:
                sys.exit(f"bindings of FAISS {faiss.__version__}, tessera has {sweep['faiss']}: another build, nothing is proven")
            with np.load(folder / "truth.npz") as truth:
                truth_ids, truth_distances = truth["ids"], truth["distances"]
            index = faiss.read_index(str(file))
            for point in sweep["indexes"][0]["points"]:
                run = folder / "run.npz"
                subprocess.run([args.tessera, "ann", "search", "--index-file", file, "--queries", args.queries, "--query-rows", f"0:{len(queries)}", "-k",
                                str(args.k), "--set", point["settings"], "-o", run, "--force", "-q"], check=True)
                faiss.ParameterSpace().set_index_parameters(index, point["settings"])
                ids = index.search(queries, args.k)[1]
                with np.load(run) as ours:
                    different = int((ours["ids"] != ids).sum())
                recall = tie_recall(ids, truth_ids, truth_distances, args.k)
                checked.append({"index": factory, "settings": point["settings"], "different_ids": different, "recall": point["recall"], "recall_of_bindings": recall})
                print(f"{factory:22} {point['settings']:36} {different} ids differ, recall {point['recall']:.6f} and {recall:.6f}", flush=True)
    if args.out:
        args.out.write_text(json.dumps(checked, indent=1))
    if any(c["different_ids"] or abs(c["recall"] - c["recall_of_bindings"]) > 1e-12 for c in checked):
        sys.exit("they differ")


if __name__ == "__main__":
    main()
