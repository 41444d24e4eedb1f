# SPDX-License-Identifier: Apache-2.0
"""Runs `tessera graph` and reads what it wrote as its consumers do: with numpy, and with SciPy where it is installed.

usage: graph_files_test.py TESSERA [unittest arguments]
Exit status 77: numpy is missing. Without SciPy its checks are skipped and named; load_npz is then stood in for by its
documented members.
"""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from cli_case import CliTest, np, run_tests  # noqa: E402

try:
    import scipy.sparse
except ImportError:
    scipy = None

SEED = 20261201


def dense_of(path):
    """returns  (weights [n, n], stored [n, n] bool) of a CSR file, by its members."""
    with np.load(path) as npz:
        assert npz["format"].shape == () and npz["format"].dtype == np.dtype("S3") and npz["format"].item() == b"csr"
        assert npz["indices"].dtype == npz["indptr"].dtype == np.int32 and npz["shape"].dtype == np.int64
        n = int(npz["shape"][0])
        weights, stored = np.zeros(npz["shape"]), np.zeros(npz["shape"], bool)
        for row in range(n):
            part = slice(npz["indptr"][row], npz["indptr"][row + 1])
            assert not stored[row, npz["indices"][part]].any()
            stored[row, npz["indices"][part]] = True
            weights[row, npz["indices"][part]] = npz["data"][part]
        return weights, stored


class GraphTest(CliTest):
    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(SEED)
        self.x = rng.integers(0, 9, (60, 3)).astype(np.float32)  # whole numbers: ties, duplicates, exact distances
        self.x[50:] = self.x[:10]
        np.save(self.dir / "x.npy", self.x)
        squares = ((self.x[:, None].astype(float) - self.x[None]) ** 2).sum(axis=2)
        self.distance = np.sqrt(squares).astype(np.float32)
        order = np.where(np.eye(60, dtype=bool), np.inf, squares)
        self.near = np.argsort(order, axis=1, kind="stable")  # others, ties by id

    def graph(self, *args, expect=0):
        return self.run_tessera("graph", "-b", "x.npy", *args, expect=expect)

    def adjacency(self, k):
        stored = np.zeros((60, 60), bool)
        np.put_along_axis(stored, self.near[:, :k], True, axis=1)
        return stored

    def test_csr_holds_the_exact_neighbours_by_distance(self):
        self.graph("-k", 7, "-o", "g.npz")
        with np.load(self.dir / "g.npz") as npz:
            self.assertEqual(sorted(npz.files), ["data", "format", "indices", "indptr", "shape"])
            np.testing.assert_array_equal(npz["indices"].reshape(60, 7), self.near[:, :7])
            np.testing.assert_array_equal(npz["indptr"], np.arange(0, 421, 7))
            self.assertEqual(npz["data"].dtype, np.float32)
        weights, stored = dense_of(self.dir / "g.npz")
        np.testing.assert_array_equal(stored, self.adjacency(7))
        np.testing.assert_array_equal(weights[stored], self.distance[stored])
        self.assertTrue((weights[stored] == 0).any(), "duplicates are kept as zeros")

    def test_symmetrized_graphs_are_unions_and_intersections(self):
        one_way = self.adjacency(5)
        for how, want in [("union", one_way | one_way.T), ("mutual", one_way & one_way.T)]:
            self.graph("-k", 5, "--symmetrize", how, "-o", "g.npz", "--force")
            weights, stored = dense_of(self.dir / "g.npz")
            np.testing.assert_array_equal(stored, want)
            np.testing.assert_array_equal(weights, np.where(want, self.distance, 0))

    def test_float64_distances(self):
        self.graph("-k", 2, "--distances", "float64", "-o", "g.npz")
        with np.load(self.dir / "g.npz") as npz:
            self.assertEqual(npz["data"].dtype, np.float64)

    def test_scipy_reads_it_and_agrees_on_components(self):
        if scipy is None:
            self.skipTest("SciPy is not installed")
        from scipy.sparse.csgraph import connected_components
        for how in ["none", "union", "mutual"]:
            for k in [1, 2, 5]:
                report = json.loads(self.graph("-k", k, "--symmetrize", how, "-o", "g.npz", "--force", "--json").stdout)["graph"]
                matrix = scipy.sparse.load_npz(self.dir / "g.npz")
                self.assertEqual(matrix.format, "csr")
                matrix.check_format(full_check=True)
                self.assertEqual(matrix.nnz, report["edges"])
                matrix.data[:] = 1  # csgraph takes a stored zero for no edge
                count, labels = connected_components(matrix, directed=False)
                self.assertEqual(report["components"], count)
                self.assertEqual(report["largest_component"], np.bincount(labels).max())

    def test_duplicates_are_counted(self):
        report = json.loads(self.graph("-k", 3, "--json").stdout)["graph"]
        self.assertEqual(report["duplicate_rows"], 60 - len(np.unique(self.x, axis=0)))
        self.assertIn("duplicates", self.graph("-k", 3).stdout)

    def test_lists_are_those_of_topk(self):
        self.graph("-k", 4, "-o", "a_knn.npz")
        with np.load(self.dir / "a_knn.npz") as npz:
            np.testing.assert_array_equal(npz["ids"], self.near[:, :4])
            np.testing.assert_array_equal(npz["distances"], np.take_along_axis(self.distance, self.near[:, :4], axis=1))

    def test_preset_sklearn_stores_the_row_itself_first(self):
        self.graph("-k", 4, "--preset", "sklearn", "-o", "g.npz")
        with np.load(self.dir / "g.npz") as npz:
            indices = npz["indices"].reshape(60, 5)
            np.testing.assert_array_equal(indices[:, 0], np.arange(60))
            np.testing.assert_array_equal(indices[:, 1:], self.near[:, :4])
            self.assertTrue((np.diff(npz["data"].reshape(60, 5), axis=1) >= 0).all())

    def test_preset_umap_counts_the_row_itself(self):
        self.graph("-k", 4, "--preset", "umap", "-o", "g.npz")
        with np.load(self.dir / "g.npz") as npz:
            self.assertEqual(npz["ids"].shape, (60, 4))
            np.testing.assert_array_equal(npz["ids"][:, 0], np.arange(60))
            np.testing.assert_array_equal(npz["ids"][:, 1:], self.near[:, :3])

    def test_preset_scanpy_leaves_the_row_itself_out_but_counts_it(self):
        self.graph("-k", 4, "--preset", "scanpy", "-o", "g.npz")
        with np.load(self.dir / "g.npz") as npz:
            np.testing.assert_array_equal(npz["indices"].reshape(60, 3), self.near[:, :3])

    def test_preset_opentsne_holds_others_only(self):
        self.graph("-k", 4, "--preset", "opentsne", "-o", "g.npz")
        with np.load(self.dir / "g.npz") as npz:
            np.testing.assert_array_equal(npz["ids"], self.near[:, :4])

    def test_preset_hdbscan_is_symmetric(self):
        self.graph("-k", 4, "--preset", "hdbscan", "-o", "g.npz", "-q")
        weights, stored = dense_of(self.dir / "g.npz")
        np.testing.assert_array_equal(stored, stored.T)
        np.testing.assert_array_equal(weights, weights.T)

    def test_preset_pyg_flows_from_neighbour_to_row(self):
        self.graph("-k", 4, "--preset", "pyg", "-o", "g.npz")
        with np.load(self.dir / "g.npz") as npz:
            self.assertEqual((npz["edge_index"].shape, npz["edge_index"].dtype), ((2, 240), np.int64))
            np.testing.assert_array_equal(npz["edge_index"][1], np.repeat(np.arange(60), 4))
            np.testing.assert_array_equal(npz["edge_index"][0].reshape(60, 4), self.near[:, :4])
            self.assertEqual(npz["edge_weight"].shape, (240,))
            self.assertEqual((npz["num_nodes"].shape, int(npz["num_nodes"])), ((), 60))

    def test_a_slice_counts_from_zero_but_in_plain_lists(self):
        self.graph("-k", 3, "--base-rows", "10:50", "-o", "g.npz")
        self.graph("-k", 3, "--base-rows", "10:50", "-o", "g_knn.npz")
        self.graph("-k", 3, "--base-rows", "10:50", "--preset", "opentsne", "-o", "t.npz")
        with np.load(self.dir / "g.npz") as csr, np.load(self.dir / "g_knn.npz") as lists, np.load(self.dir / "t.npz") as tsne:
            self.assertEqual(csr["shape"].tolist(), [40, 40])
            np.testing.assert_array_equal(csr["indices"].reshape(40, 3) + 10, lists["ids"])
            np.testing.assert_array_equal(tsne["ids"] + 10, lists["ids"])

    def test_edges_and_metis_hold_the_same_graph(self):
        self.graph("-k", 4, "--symmetrize", "union", "--weights", "jaccard", "-o", "g.npz")
        self.graph("-k", 4, "--symmetrize", "union", "--weights", "jaccard", "-o", "g.edges")
        self.graph("-k", 4, "--symmetrize", "union", "--weights", "jaccard", "-o", "g.metis")
        weights, stored = dense_of(self.dir / "g.npz")
        edges = np.loadtxt(self.dir / "g.edges")
        self.assertEqual(len(edges), np.triu(stored).sum())
        for row, col, weight in edges:
            self.assertEqual(np.float32(weight), np.float32(weights[int(row), int(col)]))
        lines = (self.dir / "g.metis").read_text().splitlines()
        self.assertEqual(lines[0].split(), ["60", str(stored.sum() // 2), "001"])
        for row, line in enumerate(lines[1:]):
            numbers = np.array(line.split(), int).reshape(-1, 2)
            np.testing.assert_array_equal(numbers[:, 0] - 1, np.flatnonzero(stored[row]))
            np.testing.assert_array_equal(numbers[:, 1], np.maximum(1, np.rint(weights[row, stored[row]] * 1e6)))

    def test_what_does_not_go_together_is_a_usage_error(self):
        for args, says in [(["-o", "g.metis"], "union"), (["-o", "g.xyz"], ".edges"),
                           (["--preset", "umap", "--self", "exclude"], "umap"), (["--preset", "tsne"], "opentsne"),
                           (["--preset", "sklearn", "-m", "ip"], "inner_product"),
                           (["--preset", "umap", "-o", "g.edges"], ".npz"), (["--symmetrize", "both"], "mutual"),
                           (["--weights", "cosine"], "jaccard"), (["--sigma", "1"], "heat"),
                           (["--weights", "heat", "--sigma", "0"], "above 0"), (["--weights", "heat", "-m", "ip"], "heat"),
                           (["--symmetrize", "union", "-o", "a_knn.npz"], "lists"), (["--self", "none"], "exclude")]:
            with self.subTest(args=args):
                self.assertIn(says, self.graph("-k", 3, *args, expect=2).stderr)
        self.graph("-k", 1, "--preset", "scanpy", expect=2)
        self.assertEqual(sorted(p.name for p in self.dir.iterdir()), ["x.npy"])

    def test_rows_without_neighbours_are_isolated(self):
        x = self.x.copy()
        x[7] = np.nan
        np.save(self.dir / "x.npy", x)
        self.graph("-k", 3, expect=3)
        done = self.graph("-k", 3, "--nan", "skip", "--json")
        report = json.loads(done.stdout)
        self.assertEqual(report["graph"]["isolated_rows"], 1)
        self.assertIn("skipped", report["warnings"][0])


if __name__ == "__main__":
    sys.exit(run_tests(SEED))
