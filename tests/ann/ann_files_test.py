# SPDX-License-Identifier: Apache-2.0
"""Runs `tessera ann` as a user does. Where FAISS's Python bindings of the very same version are installed (Debian: python3-faiss), they
search the same index files and must return the same ids.

usage: ann_files_test.py TESSERA [unittest arguments]
Exit status 77: numpy is missing.
"""
import csv
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from cli_case import TESSERA, CliTest, np, run_tests  # noqa: E402

try:
    import faiss
except ImportError:
    faiss = None

HAS_FAISS = json.loads(subprocess.run([TESSERA, "info", "--json"], capture_output=True, text=True, check=True).stdout)["features"]["FAISS"].startswith("on")
SEED = 20261201


class AnnTest(CliTest):
    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(SEED)
        self.base = rng.normal(size=(1200, 16)).astype("f4")
        self.queries = rng.normal(size=(50, 16)).astype("f4")
        np.save(self.dir / "b.npy", self.base)
        np.save(self.dir / "q.npy", self.queries)

    def ann(self, *args, expect=0):
        return self.run_tessera(*args, expect=expect)


class Missing(AnnTest):
    def test_a_build_without_faiss_says_so(self):
        if HAS_FAISS:
            self.skipTest("this build has FAISS")
        error = self.ann("ann", "build", "-b", "b.npy", "--index", "Flat", "-o", "i.faiss", expect=1).stderr
        self.assertIn("unsupported in this build", error)


class Commands(AnnTest):
    def setUp(self):
        super().setUp()
        if not HAS_FAISS:
            self.skipTest("this build has no FAISS")

    def test_build_and_search(self):
        report = json.loads(self.ann("ann", "build", "-b", "b.npy", "--index", "IVF32,Flat", "-o", "i.faiss", "--json").stdout)
        self.assertEqual((report["command"], report["index"], report["metric"], report["train_rows"]), ("ann build", "IVF32,Flat", "l2", 1200))
        self.assertEqual(report["bytes"], (self.dir / "i.faiss").stat().st_size)
        self.ann("ann", "search", "--index-file", "i.faiss", "--queries", "q.npy", "-k", 5, "--set", "nprobe=32", "-o", "run.npz")
        self.ann("topk", "-b", "b.npy", "--queries", "q.npy", "-k", 5, "-o", "gt.npz", "-q")
        with np.load(self.dir / "run.npz") as run, np.load(self.dir / "gt.npz") as truth:
            np.testing.assert_array_equal(run["ids"], truth["ids"])
            np.testing.assert_allclose(run["distances"], truth["distances"], rtol=1e-4)
        self.assertIn("1.000000", self.ann("recall", "--truth", "gt.npz", "--run", "run.npz", "-k", 5).stdout)
        self.ann("ann", "build", "-b", "b.npy", "--index", "Flat", "-o", "i.faiss", expect=2)

    def test_what_faiss_prints_stays_off_stdout_and_is_silent_when_asked(self):
        # 1,200 rows are few for an IMI's 64 centroids, of which FAISS 1.7 warns.
        build = ["ann", "build", "-b", "b.npy", "--index", "IMI2x6,Flat", "-o", "i.faiss"]
        told = self.ann(*build, "--json")
        if json.loads(told.stdout)["faiss"].startswith("1.7."):
            self.assertIn("WARNING clustering", told.stderr)
        quiet = self.ann(*build, "--force", "-q")
        self.assertEqual((quiet.stdout, quiet.stderr), ("", ""))

    def test_cosine_is_normalised_on_both_sides(self):
        self.ann("ann", "build", "-b", "b.npy", "-m", "cosine", "--index", "IVF16_HNSW8,Flat", "-o", "c.faiss", "-q")
        self.ann("ann", "search", "--index-file", "c.faiss", "-m", "cosine", "--queries", "q.npy", "-k", 5,
                 "--set", "nprobe=16,quantizer_efSearch=64", "-o", "run.npz", "-q")
        self.ann("topk", "-b", "b.npy", "--queries", "q.npy", "-k", 5, "-m", "cosine", "-o", "gt.npz", "-q")
        with np.load(self.dir / "run.npz") as run, np.load(self.dir / "gt.npz") as truth:
            np.testing.assert_array_equal(run["ids"], truth["ids"])
            np.testing.assert_allclose(run["distances"], truth["distances"], atol=1e-6)

    def test_nsg_takes_our_graph(self):
        self.ann("graph", "-b", "b.npy", "-k", 32, "-o", "g_knn.npz", "-q")
        self.ann("ann", "build", "-b", "b.npy", "--index", "NSG16", "--graph", "g_knn.npz", "-o", "n.faiss", "-q")
        done = self.ann("ann", "search", "--index-file", "n.faiss", "--queries", "q.npy", "-k", 5, "--set", "search_L=100", "-o", "r.npz", "--json")
        self.assertEqual(json.loads(done.stdout)["settings"], "search_L=100")
        graph = (self.dir / "g_knn.npz").read_bytes()
        self.ann("ann", "build", "-b", "b.npy", "--index", "HNSW16", "--graph", "g_knn.npz", "-o", "g_knn.npz", "--force", "-q", expect=2)
        self.assertEqual((self.dir / "g_knn.npz").read_bytes(), graph)

    def test_sweep_reports_points_the_exact_path_and_a_csv(self):
        args = ["ann", "sweep", "-b", "b.npy", "--queries", "q.npy", "-k", 5, "--index", "HNSW8", "--index", "IVF16,Flat", "--seconds", 0]
        report = json.loads(self.ann(*args, "-o", "s.json", "--truth", "gt.npz", "--json").stdout)
        self.assertEqual(report, json.loads((self.dir / "s.json").read_text()))
        self.assertEqual([index["index"] for index in report["indexes"]], ["HNSW8", "IVF16,Flat"])
        self.assertEqual(report["exact"]["recall"], 1)
        for index in report["indexes"]:
            self.assertGreater(index["bytes"], 1200 * 16 * 4)
            for point in index["points"]:
                self.assertEqual(set(point), {"settings", "recall", "recall_strict", "queries_per_second", "latency_ms", "pareto"})
        self.assertTrue(any(point["pareto"] for index in report["indexes"] for point in index["points"]) or report["exact"]["pareto"])
        with open(self.dir / "s.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(len(rows), 1 + sum(len(index["points"]) for index in report["indexes"]))
        self.assertEqual((rows[0]["index"], rows[-1]["index"]), ("exact", "IVF16,Flat"))
        with np.load(self.dir / "gt.npz") as kept:  # the truth was kept, deeper than k, and serves again
            self.assertGreater(kept["ids"].shape[1], 5)
        again = json.loads(self.ann(*args, "--truth", "gt.npz", "--json", "--set", "efSearch=16,64", "--set", "nprobe=2").stdout)
        self.assertEqual([[p["settings"] for p in i["points"]] for i in again["indexes"]], [["efSearch=16", "efSearch=64"], ["nprobe=2"]])

    def test_what_does_not_fit(self):
        np.save(self.dir / "other.npy", self.base[:, :8])
        self.ann("ann", "build", "-b", "b.npy", "--index", "Flat", "-o", "i.faiss", "-q")
        (self.dir / "cut.faiss").write_bytes((self.dir / "i.faiss").read_bytes()[:1000])
        sweep = ["ann", "sweep", "-b", "b.npy", "--queries", "q.npy", "-k", 5]
        for status, says, args in [
                (2, "HSNW", ["ann", "build", "-b", "b.npy", "--index", "HSNW8", "-o", "x.faiss"]),
                (2, "wanted at least 1", ["ann", "build", "-b", "b.npy", "--index", "HNSW0", "-o", "x.faiss"]),
                (2, "wanted at least 1", ["ann", "build", "-b", "b.npy", "--index", "IVF0,Flat", "-o", "x.faiss"]),
                (2, "linf", ["ann", "build", "-b", "b.npy", "-m", "linf", "--index", "Flat", "-o", "x.faiss"]),
                (2, "nprobe", ["ann", "search", "--index-file", "i.faiss", "--queries", "q.npy", "-k", 5, "--set", "nprobe=2"]),
                (3, "8 columns", ["ann", "search", "--index-file", "i.faiss", "--queries", "other.npy", "-k", 5]),
                (3, "'cut.faiss' is truncated", ["ann", "search", "--index-file", "cut.faiss", "--queries", "q.npy", "-k", 5]),
                (3, "no index", ["ann", "search", "--index-file", "b.npy", "--queries", "q.npy", "-k", 5]),
                (1, "absent", ["ann", "search", "--index-file", "absent.faiss", "--queries", "q.npy", "-k", 5]),
                (2, "an index is needed", sweep), (2, ".json", [*sweep, "--index", "Flat", "-o", "s.txt"]),
                (2, "NAME=VALUE", [*sweep, "--index", "Flat", "--set", "16"]),
                (2, "none of these", [*sweep, "--index", "Flat", "--set", "nprobe=16", "--seconds", 0]),
                (3, "another base", ["ann", "sweep", "-b", "q.npy", "--queries", "q.npy", "-k", 5, "--index-file", "i.faiss", "--seconds", 0]),
                (2, "did you mean sweep", ["ann", "swep"]), (2, "tessera ann build --help", ["ann", "build", "-b", "b.npy"])]:
            with self.subTest(args=args):
                self.assertIn(says, self.ann(*args, expect=status).stderr)

    def test_the_bindings_of_the_same_version_return_the_same_ids(self):
        version = json.loads(self.ann("ann", "build", "-b", "b.npy", "--index", "Flat", "-o", "v.faiss", "--json").stdout)["faiss"]
        if faiss is None or faiss.__version__ != version:
            self.skipTest(f"no Python bindings of FAISS {version}")
        faiss.omp_set_num_threads(1)
        for factory, settings in [("HNSW16", "efSearch=32"), ("IVF32,Flat", "nprobe=4"), ("IVF32_HNSW8,Flat", "nprobe=4,quantizer_efSearch=64"),
                                  ("IVF16,PQ4np", "nprobe=8"), ("PCA8,IVF16,Flat", "nprobe=4"), ("NSG16", "search_L=40")]:
            with self.subTest(factory):
                self.ann("ann", "build", "-b", "b.npy", "--index", factory, "-o", "i.faiss", "--force", "-q")
                self.ann("ann", "search", "--index-file", "i.faiss", "--queries", "q.npy", "-k", 7, "--set", settings, "--threads", 1, "-o", "r.npz",
                         "--force", "-q")
                index = faiss.read_index(str(self.dir / "i.faiss"))
                if factory.startswith("NSG"):
                    index.nsg.search_L = 40
                else:
                    faiss.ParameterSpace().set_index_parameters(index, settings)
                squares, ids = index.search(self.queries, 7)
                with np.load(self.dir / "r.npz") as run:
                    np.testing.assert_array_equal(run["ids"], ids)
                    np.testing.assert_array_equal(run["distances"], np.sqrt(np.maximum(squares, 0)))


if __name__ == "__main__":
    sys.exit(run_tests(SEED))
