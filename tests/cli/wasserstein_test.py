# SPDX-License-Identifier: Apache-2.0
"""Distributions through the command: every way to store them, and the shared cases.

    TESSERA_BIN=build/release/tools/tessera python3 tests/cli/wasserstein_test.py [unittest arguments]
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import numpy as np
except ImportError:
    print("wasserstein_test: SKIPPED, NumPy is not installed (apt-packages.txt: python3-numpy)")
    sys.exit(77)

CASES = pathlib.Path(__file__).resolve().parents[1] / "data" / "cases" / "wasserstein.json"
TESSERA = os.environ.get("TESSERA_BIN", "")
SEED = 11


def ragged(*rows, **more):
    """The two lines of docs/how-to/distributions.md."""
    offsets = np.cumsum([0] + [len(row) for row in rows])
    return dict(values=np.concatenate([np.asarray(row) for row in rows]), offsets=offsets, **more)


def w1(a, b):
    """W_1 by its definition: the area between the two cumulative distribution functions."""
    points = np.sort(np.concatenate([a, b]).astype(float))
    cdf_a = np.searchsorted(np.sort(a), points[:-1], side="right") / len(a)
    cdf_b = np.searchsorted(np.sort(b), points[:-1], side="right") / len(b)
    return float(np.sum(np.abs(cdf_a - cdf_b) * np.diff(points)))


class Distributions(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tessera-w-")
        self.addCleanup(folder.cleanup)
        self.dir = pathlib.Path(folder.name)
        self.random = np.random.default_rng(SEED)

    def run_tessera(self, *args, expect=0):
        done = subprocess.run([TESSERA, *map(str, args)], cwd=self.dir, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, expect, f"{args}\n{done.stdout}\n{done.stderr}")
        return done

    def topk(self, *args):
        self.run_tessera("topk", *args, "-m", "wasserstein", "-o", "out.npz", "--force", "-q", "--distances", "float64")
        with np.load(self.dir / "out.npz") as out:
            return out["ids"], out["distances"]

    def test_the_shared_cases(self):
        for case in json.loads(CASES.read_text())["cases"]:
            sides = {side: np.asarray(case[side], case.get("dtype", "float64")) for side in "ab"}
            weighted = any(side + "_weights" in case for side in "ab")
            for name in ["a", "b", "ab"]:
                weights = [np.asarray(case.get(side + "_weights", np.ones(len(sides[side])))) for side in name]
                more = {"weights": np.concatenate(weights)} if weighted else {}
                np.savez(self.dir / f"{name}.npz", **ragged(*(sides[side] for side in name), **more))
            for p, want in case["w"].items():
                close = dict(delta=max(case.get("tolerance", 0), 2e-16) * max(1, want), msg=(case["name"], p))
                _, got = self.topk("-b", "b.npz", "--queries", "a.npz", "-k", 1, "--p", p)
                self.assertAlmostEqual(got[0, 0], want, **close)
                common = ["-b", "ab.npz", "-m", "wasserstein", "--p", p, "--force", "-q"]
                self.run_tessera("graph", *common, "-k", 1, "-o", "g.npz", "--distances", "float64")
                graph = np.load(self.dir / "g.npz")
                self.assertEqual(list(graph["indices"]), [1, 0])
                self.run_tessera("dump", *common, "-o", "d.npy", "--dtype", "float64")
                matrix = np.load(self.dir / "d.npy")
                for distance in [*graph["data"], matrix[0, 1], matrix[1, 0]]:
                    self.assertAlmostEqual(distance, want, **close)
                self.assertEqual([matrix[0, 0], matrix[1, 1]], [0, 0])

    def rows(self):
        return [self.random.normal(i % 3, 1, size=3 + 5 * i) for i in range(12)]

    def expect_w1(self, rows, ids, distances):
        for i, row in enumerate(rows):
            want = sorted((w1(row, other), j) for j, other in enumerate(rows) if j != i)
            self.assertEqual([j for _, j in want[: ids.shape[1]]], list(ids[i]))
            np.testing.assert_allclose(distances[i], [d for d, _ in want[: ids.shape[1]]], rtol=1e-12)

    def test_every_way_to_store_ragged_rows_gives_the_same_bytes(self):
        rows = self.rows()
        np.savez(self.dir / "flat.npz", **ragged(*rows))
        np.savez_compressed(self.dir / "grid.npz", **ragged(*rows, shape=np.array([3, 4])))
        np.savez(self.dir / "arrays.npz", *rows)
        first = self.topk("-b", "flat.npz", "-k", 4)
        self.expect_w1(rows, *first)
        for name, more in [("grid.npz", []), ("arrays.npz", []), ("arrays.npz", ["--grid", "4,3"])]:
            np.testing.assert_array_equal(self.topk("-b", name, "-k", 4, *more), first)
        try:
            import h5py
        except ImportError:
            self.skipTest("h5py is not installed; .h5 with ragged rows not tried")
        with h5py.File(self.dir / "flat.h5", "w") as file:
            for name, array in ragged(*rows).items():
                file[name] = array
        with h5py.File(self.dir / "packed.h5", "w") as file:
            for name, array in ragged(*rows).items():
                file.create_dataset(name, data=array, compression="gzip")
        for name in ["flat.h5", "packed.h5"]:
            np.testing.assert_array_equal(self.topk("-b", name, "-k", 4), first)

    def test_slices_keep_their_ids(self):
        rows = self.rows()
        np.savez(self.dir / "flat.npz", **ragged(*rows))
        all_ids, all_distances = self.topk("-b", "flat.npz", "-k", 12, "--self", "natural")
        ids, distances = self.topk("-b", "flat.npz", "--base-rows", "4:9", "--query-rows", "2:6", "-k", 5, "--self", "natural")
        for q in range(4):
            kept = [(d, i) for d, i in zip(all_distances[q + 2], all_ids[q + 2]) if 4 <= i < 9]
            self.assertEqual(kept, list(zip(distances[q], ids[q])))

    def test_mixed_types_meet_in_float64(self):
        rows = [np.arange(5), np.array([0.5, 1.5]), np.array([7], np.uint8)]
        np.savez(self.dir / "arrays.npz", *rows)
        self.expect_w1(rows, *self.topk("-b", "arrays.npz", "-k", 2))

    def test_npy_grids_and_bytes(self):
        grid = self.random.integers(0, 255, size=(2, 3, 40)).astype(np.uint8)
        np.save(self.dir / "grid.npy", grid)
        self.expect_w1(list(grid.reshape(6, 40)), *self.topk("-b", "grid.npy", "-k", 3))

    def test_a_grid_is_dumped_in_four_dimensions(self):
        rows = self.rows()
        np.savez(self.dir / "grid.npz", **ragged(*rows, shape=[3, 4]))
        self.run_tessera("dump", "-b", "grid.npz", "-m", "wasserstein", "-o", "d.npy", "-q", "--dtype", "float64")
        matrix = np.load(self.dir / "d.npy")
        self.assertEqual(matrix.shape, (3, 4, 3, 4))
        want = np.array([[w1(a, b) for b in rows] for a in rows])
        np.testing.assert_allclose(matrix.reshape(12, 12), want, rtol=1e-12)
        self.run_tessera("dump", "-b", "grid.npz", "--cols", "grid.npz", "-m", "w1", "--p", "2", "-o", "d2.npy", "-q")
        self.assertEqual(np.load(self.dir / "d2.npy").shape, (3, 4, 3, 4))
        self.run_tessera("dump", "-b", "grid.npz", "-m", "w1", "--condensed", "-o", "c.npy", "-q", "--dtype", "float64")
        np.testing.assert_array_equal(np.load(self.dir / "c.npy"), matrix.reshape(12, 12)[np.triu_indices(12, 1)])

    def test_a_graph_of_distributions(self):
        rows = self.rows()
        rows[7] = rows[2][::-1]  # the same samples in another order
        np.savez(self.dir / "grid.npz", **ragged(*rows, shape=[3, 4]))
        done = self.run_tessera("graph", "-b", "grid.npz", "-k", 4, "-m", "w1", "-o", "g.npz", "--json", "--distances", "float64")
        self.assertEqual(json.loads(done.stdout)["graph"]["duplicate_rows"], 1)
        ids, distances = self.topk("-b", "grid.npz", "-k", 4)
        graph = np.load(self.dir / "g.npz")
        self.assertEqual(list(graph["shape"]), [12, 12])
        np.testing.assert_array_equal(graph["indices"].reshape(12, 4), ids)
        np.testing.assert_array_equal(graph["data"].reshape(12, 4), distances)
        self.run_tessera("graph", "-b", "grid.npz", "-k", 2, "--p", "2", expect=2)

    def test_histograms(self):
        counts = self.random.integers(0, 6, size=(5, 7))
        support = np.array([0, 1, 2.5, 4, 8, 16, 32.0])
        np.save(self.dir / "counts.npy", counts)
        np.save(self.dir / "support.npy", support)
        self.expect_w1([np.repeat(support, row) for row in counts], *self.topk("-b", "counts.npy", "-k", 3, "--histogram", "--support", "support.npy"))
        self.expect_w1([np.repeat(np.arange(7), row) for row in counts], *self.topk("-b", "counts.npy", "-k", 3, "--histogram"))

    def test_messages_name_file_distribution_and_sample(self):
        np.savez(self.dir / "nan.npz", **ragged([1.0, 2], [3, np.nan]))
        text = self.run_tessera("topk", "-b", "nan.npz", "-k", 1, "-m", "w1", expect=3).stderr
        for part in ["nan.npz", "distribution 1, sample 1", "NaN"]:
            self.assertIn(part, text)
        np.savez(self.dir / "short.npz", values=np.arange(3.0), offsets=[0, 2, 4])
        self.assertIn("'offsets'[2] is 4", self.run_tessera("topk", "-b", "short.npz", "-k", 1, "-m", "w1", expect=3).stderr)
        np.savez(self.dir / "shape.npz", values=np.arange(3.0), offsets=[0, 2, 3], shape=[2, 2])
        self.assertIn("'shape' is (2, 2)", self.run_tessera("topk", "-b", "shape.npz", "-k", 1, "-m", "w1", expect=3).stderr)
        np.savez(self.dir / "weights.npz", values=np.arange(3.0), offsets=[0, 2, 3], weights=[1, 2])
        self.assertIn("2 weights beside 3 values", self.run_tessera("topk", "-b", "weights.npz", "-k", 1, "-m", "w1", expect=3).stderr)

    def test_flags_are_checked(self):
        np.save(self.dir / "x.npy", np.zeros((3, 4)))
        for flags in [["--p", "0.5"], ["--p", "x"], ["--support", "x.npy"], ["--grid", "3"]]:
            self.run_tessera("topk", "-b", "x.npy", "-k", 1, "-m", "wasserstein", *flags, expect=2)
        self.assertIn("only with -m wasserstein", self.run_tessera("topk", "-b", "x.npy", "-k", 1, "--p", "2", expect=2).stderr)
        self.run_tessera("topk", "-b", "x.npy", "-k", 1, "-m", "wasserstein", "--grid", "2,2", expect=3)


if __name__ == "__main__":
    if not os.access(TESSERA, os.X_OK):
        sys.exit(f"wasserstein_test: no tessera binary at '{TESSERA}': set TESSERA_BIN")
    TESSERA = os.path.abspath(TESSERA)
    unittest.main()
