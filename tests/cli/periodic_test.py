# SPDX-License-Identifier: Apache-2.0
"""Periodic searches by the command: cells from flags and files, shifts, images, warnings, graph and dump."""
import json
import sys

from cli_case import CliTest, np, run_tests

SEED = 5


def least(points, cell, k):
    """Distances to the k nearest other points over the 27 images around, for mild cells and points inside them."""
    shifts = np.array([(i, j, l) for i in (-1, 0, 1) for j in (-1, 0, 1) for l in (-1, 0, 1)]) @ cell
    d = np.min(np.linalg.norm(points[None, :, None] + shifts[None, None] - points[:, None, None], axis=3), axis=2)
    np.fill_diagonal(d, np.inf)
    return np.sort(d, axis=1)[:, :k]


class Periodic(CliTest):
    def setUp(self):
        super().setUp()
        self.cell = np.array([[5.0, 0, 0], [1, 6, 0], [0.5, -1, 7]])
        self.points = np.random.default_rng(SEED).random((60, 3)) @ self.cell
        np.save(self.dir / "p.npy", self.points)
        self.flag = " ".join(map(repr, self.cell.ravel().tolist()))

    def test_cell_as_text_or_file_gives_the_nearest_images(self):
        (self.dir / "cell.txt").write_text("\n".join(" ".join(map(repr, row)) for row in self.cell.tolist()) + "\n")
        ids, distances, _ = self.topk("-b", "p.npy", "-k", 5, "-m", "periodic", "--cell", self.flag, "--distances", "float64")
        np.testing.assert_allclose(distances, least(self.points, self.cell, 5), atol=1e-12)
        again = self.topk("-b", "p.npy", "-k", 5, "-m", "mic", "--cell", "cell.txt", "--distances", "float64")
        np.testing.assert_array_equal(again[1], distances)
        np.testing.assert_array_equal(again[0], ids)

    def test_shifts_lead_from_rows_to_neighbours(self):
        self.run_tessera("topk", "-b", "p.npy", "-k", 5, "-m", "periodic", "--cell", self.flag, "--distances", "float64", "-o", "nn.npz", "--shifts", "s.npy", "-q")
        with np.load(self.dir / "nn.npz") as lists:
            ids, distances = lists["ids"], lists["distances"]
        shifts = np.load(self.dir / "s.npy")
        self.assertEqual((shifts.dtype, shifts.shape), (np.int32, (60, 5, 3)))
        np.testing.assert_allclose(np.linalg.norm(self.points[ids] - self.points[:, None] + shifts @ self.cell, axis=2), distances, atol=1e-12)

    def test_the_cell_of_a_file_is_taken_and_flags_come_first(self):
        lattice = " ".join(map(repr, self.cell.ravel().tolist()))
        atoms = "".join(f"H {x!r} {y!r} {z!r}\n" for x, y, z in self.points.tolist())
        (self.dir / "p.xyz").write_text(f'60\nLattice="{lattice}" pbc="T T T"\n{atoms}' + f"60\nno cell\n{atoms}")
        want = self.topk("-b", "p.npy", "-k", 5, "-m", "periodic", "--cell", self.flag)
        np.testing.assert_array_equal(self.topk("-b", "p.xyz", "-k", 5, "-m", "periodic")[1], want[1])
        np.testing.assert_array_equal(self.topk("-b", "p.xyz", "-k", 5, "-m", "periodic", "--frame", 1, "--cell", self.flag)[1], want[1])
        plain = self.topk("-b", "p.npy", "-k", 5)
        np.testing.assert_array_equal(self.topk("-b", "p.xyz", "-k", 5, "-m", "periodic", "--pbc", "FFF")[0], plain[0])
        self.assertIn("names no cell", self.run_tessera("topk", "-b", "p.xyz", "-k", 5, "-m", "periodic", "--frame", 1, expect=2).stderr)
        self.assertIn("2 frames", self.run_tessera("topk", "-b", "p.xyz", "-k", 5, "-m", "periodic", "--frame", 2, expect=2).stderr)

    def test_graph_and_dump_agree_with_topk(self):
        ids, distances, _ = self.topk("-b", "p.npy", "-k", 5, "-m", "periodic", "--cell", self.flag)
        self.run_tessera("graph", "-b", "p.npy", "-k", 5, "-m", "periodic", "--cell", self.flag, "-o", "g_knn.npz", "-q")
        with np.load(self.dir / "g_knn.npz") as lists:
            np.testing.assert_array_equal(lists["ids"], ids)
        for name, exact in (("d.npy", []), ("e.npy", ["--exact"])):
            self.run_tessera("dump", "-b", "p.npy", "-m", "periodic", "--cell", self.flag, "-o", name, "-q", *exact)
            matrix = np.load(self.dir / name)
            np.testing.assert_allclose(np.take_along_axis(matrix, ids, axis=1), distances, rtol=0 if exact else 2e-5)
            np.testing.assert_array_equal(matrix, matrix.T)
            self.assertFalse(np.diagonal(matrix).any())

    def test_all_images_and_the_warning(self):
        np.save(self.dir / "two.npy", np.array([[0, 0, 0], [0.6, 0.6, 0.6]]))
        ids, distances, _ = self.topk("-b", "two.npy", "-k", 13, "-m", "periodic", "--cell", "1 1 1", "--images", "all")
        self.assertEqual(ids[0].tolist(), [1] * 7 + [0] * 6)
        self.assertEqual(distances[0, -1], 1)
        done = self.run_tessera("topk", "-b", "two.npy", "-k", 1, "-m", "periodic", "--cell", "1 1 1", "--json")
        self.assertIn("half the shortest lattice vector", json.loads(done.stdout)["warnings"][0])

    def test_usage(self):
        for args in (["-m", "periodic"], ["--cell", "1 1 1"], ["-m", "periodic", "--cell", "1 1 1 1 1"], ["-m", "periodic", "--cell", "1 1 x"], ["--pbc", "TTF"],
                     ["-m", "periodic", "--cell", "1 0 0 2 0 0 0 0 1"], ["-m", "periodic", "--cell", "5 5 5", "--pbc", "TT"], ["--shifts", "s.npy"], ["--images", "all"]):
            with self.subTest(args):
                self.run_tessera("topk", "-b", "p.npy", "-k", 3, *args, expect=2)


if __name__ == "__main__":
    sys.exit(run_tests())
