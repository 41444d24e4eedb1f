# SPDX-License-Identifier: Apache-2.0
"""Runs `tessera recall` on files as their tools write them, good and broken.

usage: recall_files_test.py TESSERA [unittest arguments]
Exit status 77: numpy is missing. Without h5py the HDF5 checks read what tessera itself writes.
"""
import csv
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from cli_case import CliTest, np, run_tests  # noqa: E402

try:
    import h5py
except ImportError:
    h5py = None

CASES = pathlib.Path(__file__).resolve().parents[1] / "data" / "cases" / "recall.json"
SEED = 20261201


class RecallTest(CliTest):
    def recall(self, *args, expect=0):
        return self.run_tessera("recall", *args, expect=expect)

    def report(self, *args, expect=0):
        return json.loads(self.recall(*args, "--json", expect=expect).stdout)

    def truth_bin(self, name, ids, distances=None, cut=0):
        raw = np.array(np.shape(ids), "<u4").tobytes() + np.asarray(ids, "<i4").tobytes()
        if distances is not None:
            raw += np.asarray(distances, "<f4").tobytes()
        (self.dir / name).write_bytes(raw[:len(raw) - cut])
        return name

    def ivecs(self, name, ids):
        ids = np.asarray(ids, "<i4")
        np.hstack([np.full((len(ids), 1), ids.shape[1], "<i4"), ids]).tofile(self.dir / name)
        return name

    def search(self, nb=200, nq=30, d=8, k=12):
        """Data, and the exact answer as lists.npz."""
        rng = np.random.default_rng(SEED)
        np.save(self.dir / "base.npy", rng.normal(size=(nb, d)).astype("f4"))
        np.save(self.dir / "queries.npy", rng.normal(size=(nq, d)).astype("f4"))
        self.run_tessera("topk", "-b", "base.npy", "--queries", "queries.npy", "-k", k, "-o", "truth.npz", "-q")
        with np.load(self.dir / "truth.npz") as npz:
            return npz["ids"], npz["distances"]


class Cases(RecallTest):
    def test_every_case(self):
        cases = json.loads(CASES.read_text())["cases"]
        self.assertEqual(len(cases), 5)
        for case in cases:
            with self.subTest(case["name"]):
                distances = [[float(x) for x in row] for row in case["truth_distances"]]
                self.truth_bin("truth.ibin", case["truth"], distances)
                self.ivecs("run.ivecs", case["run"])
                args = ["--truth", "truth.ibin", "--run", "run.ivecs", "-k", case["k"]]
                self.assertAlmostEqual(self.report(*args)["recall"], case["recall"], places=12)
                for name, want in case.get("others", {}).items():
                    self.assertAlmostEqual(self.report(*args, "--definition", name)["recall"], want, places=12)


class Formats(RecallTest):
    def test_every_form_of_truth_and_run_gives_one_answer(self):
        ids, distances = self.search()
        run = ids.copy()
        run[:, 3] = -1
        run[::2, 5] = run[::2, 4]
        np.savez(self.dir / "faiss.npz", I=ids, D=distances)
        np.save(self.dir / "I.npy", ids)
        np.save(self.dir / "D.npy", distances)
        np.save(self.dir / "run.npy", run.astype(np.int32))
        self.truth_bin("gt.bin", ids, distances)
        self.truth_bin("run.ibin", run)
        self.ivecs("run.ivecs", run)
        np.savez(self.dir / "run.npz", ids=run)
        truths = [["truth.npz"], ["faiss.npz"], ["gt.bin"], ["I.npy", "--truth-distances", "D.npy"]]
        runs = [["run.npy"], ["run.ibin"], ["run.ivecs"], ["run.npz"], ["run.npz:ids"]]
        if h5py is not None:
            with h5py.File(self.dir / "ann.hdf5", "w") as file:
                file["neighbors"], file["distances"] = ids.astype("i4"), distances
            with h5py.File(self.dir / "result.hdf5", "w") as file:
                file["neighbors"], file["distances"], file["times"] = run, np.where(run < 0, np.inf, distances), np.zeros(len(run))
            truths.append(["ann.hdf5"])
            runs.append(["result.hdf5"])
        want = np.mean([(len(set(r[:10]) & set(t[:10]) - {-1})) / 10 for r, t in zip(run, ids)])
        for truth in truths:
            for one in runs:
                report = self.report("--truth", *truth, "--run", *one, "-k", 10)
                self.assertAlmostEqual(report["recall"], want, places=12, msg=f"{truth} {one}")
                self.assertEqual((report["repeats"], report["missing"]), (15, 45))

    def test_ann_benchmarks_files_of_distances(self):
        ids, distances = self.search()
        run = distances + np.float32(0.02)
        np.savez(self.dir / "run.npz", ids=ids, distances=run)
        want = np.mean([(r[:10] <= t[9] + 1e-3).sum() / 10 for r, t in zip(run, distances)])
        report = self.report("--truth", "truth.npz", "--run", "run.npz", "-k", 10, "--definition", "ann-benchmarks")
        self.assertAlmostEqual(report["recall"], want, places=12)
        self.assertLess(want, 1)

    def test_exact_search_has_recall_one_by_every_definition(self):
        self.search()
        for definition in ["tie", "strict", "ann-benchmarks", "big-ann", "diskann", "faiss"]:
            args = ["--truth", "truth.npz", "--run", "truth.npz", "-k", 10, "--definition", definition]
            self.assertEqual(self.report(*args)["recall"], 1)
            self.assertEqual(self.report(*args, "-b", "base.npy", "--queries", "queries.npy")["recall"], 1)


class Output(RecallTest):
    def test_the_documented_keys(self):
        self.search()
        report = self.report("--truth", "truth.npz", "--run", "truth.npz", "-k", 5)
        for key in "recall recall_strict min p1 p5 p50 queries excluded tied tie_overflow repeats missing definition k".split():
            self.assertIn(key, report)
        self.assertEqual((report["command"], report["definition"], report["k"], report["queries"]), ("recall", "tie", 5, 30))

    def test_the_gate_reports_and_exits_4(self):
        self.truth_bin("t.ibin", [[0, 1]], [[1, 2]])
        self.ivecs("r.ivecs", [[0, 5]])
        args = ["--truth", "t.ibin", "--run", "r.ivecs", "-k", 2]
        self.recall(*args, "--min", "0.5")
        missed = self.recall(*args, "--min", "0.51", expect=4)
        self.assertIn("0.500000", missed.stdout)
        self.assertIn("below --min 0.51", missed.stderr)
        self.assertEqual(self.report(*args, "--min", "1", expect=4)["recall"], 0.5)
        self.recall(*args, "--min", "1.5", expect=2)

    def test_a_truth_without_neighbours_is_no_truth(self):
        np.savez(self.dir / "none.npz", ids=np.full((4, 5), -1), distances=np.full((4, 5), np.inf))
        np.savez(self.dir / "run.npz", ids=np.arange(20).reshape(4, 5))
        np.savez(self.dir / "empty.npz", ids=np.zeros((0, 5), int))
        for truth, run in (("none.npz", "run.npz"), ("empty.npz", "empty.npz")):
            done = self.recall("--truth", truth, "--run", run, "-k", 5, "--min", "0", "--definition", "strict", expect=3)
            self.assertIn("nothing can be judged", done.stderr)
            self.assertEqual((done.stdout, done.stderr.count("\n")), ("", 1))

    def test_a_truth_with_a_row_twice_or_distances_that_are_none_is_refused(self):
        ids = np.arange(20).reshape(4, 5)
        np.savez(self.dir / "run.npz", ids=ids)
        np.savez(self.dir / "nan.npz", ids=ids, distances=np.full((4, 5), np.nan))
        np.savez(self.dir / "twice.npz", ids=ids // 2)
        self.assertIn("NaN", self.recall("--truth", "nan.npz", "--run", "run.npz", "-k", 5, expect=3).stderr)
        self.assertIn("is there twice", self.recall("--truth", "twice.npz", "--run", "run.npz", "-k", 5, "--definition", "strict", expect=3).stderr)

    def test_the_csv_has_a_line_a_query(self):
        self.truth_bin("t.ibin", [[0, 1, 2], [-1, -1, -1], [4, 5, 6]], [[1, 2, 2], [np.inf] * 3, [1, 2, 3]])
        self.ivecs("r.ivecs", [[0, 2], [3, 4], [4, 4]])
        self.recall("--truth", "t.ibin", "--run", "r.ivecs", "-k", 2, "--per-query", "q.csv")
        with open(self.dir / "q.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([row["recall"] for row in rows], ["1", "", "0.5"])
        self.assertEqual([row["tied"] for row in rows], ["1", "0", "0"])
        self.assertEqual([row["repeats"] for row in rows], ["0", "0", "1"])
        self.recall("--truth", "t.ibin", "--run", "r.ivecs", "-k", 2, "--per-query", "q.csv", expect=2)
        self.recall("--truth", "t.ibin", "--run", "r.ivecs", "-k", 2, "--per-query", "q.csv", "--force")

    def test_overflowing_ties_are_a_warning_until_data_are_given(self):
        np.save(self.dir / "b.npy", np.ones((6, 2), "f4"))
        np.save(self.dir / "q.npy", np.zeros((1, 2), "f4"))
        self.truth_bin("t.ibin", [[0, 1, 2]], [[2 ** 0.5] * 3])
        self.ivecs("r.ivecs", [[5, 4]])
        args = ["--truth", "t.ibin", "--run", "r.ivecs", "-k", 2]
        blind = self.report(*args)
        self.assertEqual((blind["recall"], blind["tie_overflow"]), (0, 1))
        self.assertIn("last column", blind["warnings"][0])
        seeing = self.report(*args, "-b", "b.npy", "--queries", "q.npy")
        self.assertEqual((seeing["recall"], seeing["tie_overflow"], seeing["warnings"]), (1, 0, []))


class Broken(RecallTest):
    def broken(self, *args, says, expect=3):
        error = self.recall(*args, expect=expect).stderr
        for text in says:
            self.assertIn(text, error)

    def test_a_truth_of_another_base(self):
        self.search()
        rng = np.random.default_rng(1)
        np.save(self.dir / "other.npy", rng.normal(size=(200, 8)).astype("f4"))
        args = ["--truth", "truth.npz", "--run", "truth.npz", "-k", 5]
        self.broken(*args, "-b", "other.npy", "--queries", "queries.npy", says=["truth.npz", "another base"])
        self.broken(*args, "-b", "base.npy", "--queries", "queries.npy", "-m", "ip", says=["inner_product", "another metric"])

    def test_ids_out_of_range(self):
        ids, _ = self.search()
        np.save(self.dir / "small.npy", np.zeros((150, 8), "f4"))
        row, col = np.argwhere(ids >= 150)[0]
        self.broken("--truth", "truth.npz", "--run", "truth.npz", "-k", 5, "-b", "small.npy",
                    says=[f"row {row}", f"column {col}", str(ids[row, col]), "0 to 149"])

    def test_other_numbers_of_queries_or_neighbours(self):
        ids, _ = self.search()
        np.save(self.dir / "few.npy", ids[:7])
        np.save(self.dir / "thin.npy", ids[:, :3])
        self.broken("--truth", "truth.npz", "--run", "few.npy", "-k", 5, says=["30 lists", "7", "few.npy"][:2])
        self.broken("--truth", "truth.npz", "--run", "thin.npy", "-k", 5, says=["thin.npy", "3 columns", "-k 3"])
        self.broken("--truth", "truth.npz", "--run", "truth.npz", "-k", 13, says=["12 columns", "-k 12"])

    def test_truncated_files(self):
        ids, distances = self.search()
        self.truth_bin("cut.ibin", ids, distances, cut=7)
        self.broken("--truth", "cut.ibin", "--run", "truth.npz", "-k", 5, says=["cut.ibin", "29 whole lists"])
        self.broken("--truth", "truth.npz", "--run", "cut.ibin", "-k", 5, says=["cut.ibin"])
        raw = (self.dir / "truth.npz").read_bytes()
        (self.dir / "cut.npz").write_bytes(raw[:-40])
        self.broken("--truth", "cut.npz", "--run", "truth.npz", "-k", 5, says=["cut.npz"])
        (self.dir / "empty.ibin").write_bytes(b"")
        self.broken("--truth", "empty.ibin", "--run", "truth.npz", "-k", 5, says=["empty.ibin"])

    def test_distances_taken_for_ids(self):
        ids, distances = self.search()
        np.save(self.dir / "D.npy", distances)
        self.broken("--truth", "truth.npz", "--run", "D.npy", "-k", 5, says=["D.npy", "distances"])
        self.broken("--truth", "truth.npz:distances", "--run", "truth.npz", "-k", 5, says=["distances"])
        raw = np.array(distances.shape, "<u4").tobytes() + distances.astype("<f4").tobytes()
        (self.dir / "d.ibin").write_bytes(raw)
        self.broken("--truth", "truth.npz", "--run", "d.ibin", "-k", 5, says=["d.ibin", "bits of float32"])

    def test_usage(self):
        self.search()
        args = ["--truth", "truth.npz", "--run", "truth.npz"]
        for more, says in [(["-k", "0"], "-k"), (["-k", 5, "--definition", "map"], "diskann"), (["-k", 5, "--queries", "queries.npy"], "--base"),
                           (["-k", 5, "--per-query", "q.txt"], ".csv"), (["-k", 5, "--per-query", "truth.npz"], ".csv")]:
            self.assertIn(says, self.recall(*args, *more, expect=2).stderr)
        self.assertIn("absent.npz", self.recall("--truth", "absent.npz", "--run", "truth.npz", "-k", 5, expect=1).stderr)


if __name__ == "__main__":
    sys.exit(run_tests(SEED))
