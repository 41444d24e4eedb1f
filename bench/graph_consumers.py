#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Feeds `tessera graph` files to the tools that eat kNN graphs, and compares with the tools' own neighbours.

    build/venv/bin/pip install numpy scipy scikit-learn umap-learn scanpy openTSNE hdbscan
    build/venv/bin/python bench/graph_consumers.py [--tessera PATH]

Each consumer is run on the file, warnings are errors where the consumer has no reason to warn, and its result must be that of the same
tool fed with neighbours it (or scikit-learn) found itself. A consumer that is not installed is named and skipped.
"""
import argparse
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse

ROOT = Path(__file__).resolve().parent.parent
ROWS, COLS, K = 600, 10, 15


def blobs():
    """Five Gaussian clusters, near enough to touch: one connected graph. float32, so that exact answers differ from none by ties."""
    rng = np.random.default_rng(7)
    labels = rng.integers(0, 5, ROWS)
    return (rng.normal(size=(5, COLS))[labels] * 2 + rng.normal(size=(ROWS, COLS))).astype(np.float32), labels


class Consumers:
    def __init__(self, tessera, folder):
        self.tessera, self.folder = tessera, folder
        self.x, self.labels = blobs()
        np.save(folder / "x.npy", self.x)

    def graph(self, preset, k=K):
        out = self.folder / f"{preset}.npz"
        subprocess.run([self.tessera, "graph", "-b", self.folder / "x.npy", "-k", str(k), "--preset", preset, "-o", out, "--force", "-q"], check=True)
        return out

    def sklearn(self):
        from sklearn.cluster import DBSCAN
        from sklearn.manifold import TSNE
        from sklearn.neighbors import KNeighborsClassifier, KNeighborsTransformer
        graph = scipy.sparse.load_npz(self.graph("sklearn"))
        own = KNeighborsTransformer(n_neighbors=K, mode="distance").fit_transform(self.x)
        np.testing.assert_array_equal(graph.indptr, own.indptr)
        np.testing.assert_array_equal(graph.indices, own.indices)
        np.testing.assert_allclose(graph.data, own.data, rtol=1e-5, atol=1e-3)  # scikit-learn's float32 expansion
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            classifier = KNeighborsClassifier(n_neighbors=K, metric="precomputed").fit(graph, self.labels)
            got = classifier.predict(graph)
            db = DBSCAN(eps=2.0, min_samples=5, metric="precomputed").fit_predict(graph)
            TSNE(metric="precomputed", init="random", perplexity=4, max_iter=250, method="barnes_hut").fit_transform(graph)
        np.testing.assert_array_equal(got, KNeighborsClassifier(n_neighbors=K).fit(self.x, self.labels).predict(self.x))
        np.testing.assert_array_equal(db, DBSCAN(eps=2.0, min_samples=5, metric="precomputed").fit_predict(own))
        return "KNeighborsTransformer's matrix; classifier, DBSCAN, TSNE without a warning"

    def umap(self):
        import umap
        with np.load(self.graph("umap")) as knn:
            ids, distances = knn["ids"], knn["distances"]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            # Two that UMAP gives whatever it is fed: no search index, and one thread under a seed.
            warnings.filterwarnings("ignore", message=".*transforming new data.*")
            warnings.filterwarnings("ignore", message=".*n_jobs value.*")
            fit = umap.UMAP(n_neighbors=K, precomputed_knn=(ids, distances), random_state=1, n_epochs=50).fit(self.x)
            plain = umap.UMAP(n_neighbors=K, random_state=1, n_epochs=50).fit(self.x)  # below 4,096 rows its own neighbours are exact
        difference = abs(fit.graph_ - plain.graph_)
        assert difference.max() < 1e-3, difference.max()
        assert np.isfinite(fit.embedding_).all()
        return f"fuzzy graph within {difference.max():.1e} of UMAP's own"

    def scanpy(self):
        import anndata
        import scanpy
        path = self.graph("scanpy")

        class Precomputed:
            def get_params(self, deep=True):
                return {"n_neighbors": K}

            def fit_transform(self, x):
                return scipy.sparse.load_npz(path)

        ours, own = anndata.AnnData(self.x), anndata.AnnData(self.x)
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)  # "no constant number of neighbors per row"
            scanpy.pp.neighbors(ours, use_rep="X", transformer=Precomputed())
        scanpy.pp.neighbors(own, n_neighbors=K, use_rep="X")
        a, b = ours.obsp["distances"].toarray(), own.obsp["distances"].toarray()
        np.testing.assert_array_equal(a > 0, b > 0)
        np.testing.assert_allclose(a, b, rtol=1e-4)
        np.testing.assert_allclose(ours.obsp["connectivities"].toarray(), own.obsp["connectivities"].toarray(), atol=1e-3)
        return "obsp distances and connectivities are scanpy's own"

    def opentsne(self):
        from openTSNE import TSNEEmbedding, affinity, initialization, nearest_neighbors
        with np.load(self.graph("opentsne", 30)) as knn:
            index = nearest_neighbors.PrecomputedNeighbors(knn["ids"], knn["distances"])
        ours = affinity.PerplexityBasedNN(knn_index=index, perplexity=10)
        own = affinity.PerplexityBasedNN(self.x, perplexity=10, method="exact")
        assert abs(ours.P - own.P).max() < 1e-6
        embedding = TSNEEmbedding(initialization.pca(self.x, random_state=0), ours, n_jobs=1).optimize(n_iter=50)
        assert np.isfinite(np.asarray(embedding)).all()
        return "affinities are openTSNE's own"

    def hdbscan(self):
        import hdbscan
        samples = 10
        graph = scipy.sparse.load_npz(self.graph("hdbscan", 80)).astype(np.float64)
        assert abs(graph - graph.T).max() == 0
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", category=FutureWarning)
            warnings.filterwarnings("ignore", category=SyntaxWarning)
            warnings.filterwarnings("ignore", category=DeprecationWarning)
            got = hdbscan.HDBSCAN(min_samples=samples, min_cluster_size=20, metric="precomputed").fit(graph)
            dense = np.sqrt(((self.x[:, None].astype(float) - self.x[None]) ** 2).sum(axis=2))
            # On sparse input the row itself is not stored, so hdbscan counts one neighbour more.
            own = hdbscan.HDBSCAN(min_samples=samples + 1, min_cluster_size=20, metric="precomputed").fit(dense)
        pairs_same = (got.labels_[:, None] == got.labels_[None]) == (own.labels_[:, None] == own.labels_[None])
        assert pairs_same.mean() > 0.95, pairs_same.mean()
        return f"{got.labels_.max() + 1} clusters; {pairs_same.mean():.1%} of pairs as on the full matrix"

    def pyg(self):
        from sklearn.neighbors import kneighbors_graph
        with np.load(self.graph("pyg")) as data:
            edge_index, weight, nodes = data["edge_index"], data["edge_weight"], data["num_nodes"]
        # knn_graph's contract, without torch: flow source to target, the centre in row 1, no loops.
        assert edge_index.shape == (2, ROWS * K) and edge_index.dtype == np.int64 and weight.shape == (ROWS * K,) and int(nodes) == ROWS
        assert (edge_index[0] != edge_index[1]).all()
        own = kneighbors_graph(self.x, K, mode="connectivity").toarray().astype(bool)
        got = np.zeros_like(own)
        got[edge_index[1], edge_index[0]] = True
        np.testing.assert_array_equal(got, own)
        distances = np.linalg.norm(self.x[edge_index[0]].astype(float) - self.x[edge_index[1]], axis=1)
        np.testing.assert_allclose(weight, distances, rtol=1e-6)
        return "edges are knn_graph's, source to target"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tessera", default=ROOT / "build/release/tools/tessera")
    parser.add_argument("--only", nargs="*")
    args = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        consumers = Consumers(args.tessera, Path(folder))
        for name in args.only or ["sklearn", "umap", "scanpy", "opentsne", "hdbscan", "pyg"]:
            try:
                print(f"{name:9} ok: {getattr(consumers, name)()}", flush=True)
            except ImportError as error:
                print(f"{name:9} SKIPPED: {error}", flush=True)
            except Exception as error:  # every consumer is tried
                failed += 1
                print(f"{name:9} FAILED: {type(error).__name__}: {error}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
