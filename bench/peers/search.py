"""FAISS and hnswlib over the same vectors as pel, and the recall of each.

Recall is measured here for everyone alike: pel writes the rows that it found, and a row counts if its exact f32 score is
at least that of the last neighbour which FAISS's exact search finds among the same vectors.
"""

import hashlib
import itertools
import sys
import time

BATCHES = [1, 64]
# Target ratios of time and memory to FAISS's exact search, and the allowed loss of int8.
INT8_TARGET, INT8_MEMORY_TARGET, INT8_RECALL_TARGET = 0.5, 0.26, 0.995
# Target ratio of time to hnswlib at this recall@10.
HNSW_TARGET, HNSW_RECALL, HNSW_K = 1.0, 0.95, 10
# Target ratio of time to FAISS's cells (IVF) at this recall@k, each with the least number of probes that reaches it.
CELLS_TARGET, CELLS_RECALL = 1.0, 0.99
PROBES = [4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048]
# Values of ef that are tried.
EFS = [10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240, 256, 272, 288, 304, 320, 352, 384, 416, 448, 480, 512, 576, 640, 704, 768, 896, 1024]


def read_vectors(path, dim, rows):
    import numpy

    size = path.stat().st_size
    if size == 0 or size % (4 * dim):
        sys.exit(f"{path}: expected rows of {dim} f32 values (--dim), found {size} bytes")
    return numpy.fromfile(path, dtype="<f4", count=-1 if rows is None else rows * dim).reshape(-1, dim)


def make_queries(vectors, count):
    """Rows with noise and unit length: near to some row but equal to none, like a mention's vector near a name's."""
    import numpy

    random = numpy.random.default_rng(3)
    chosen = vectors[random.integers(0, len(vectors), count)]
    noise = random.standard_normal(chosen.shape, dtype="float32")
    noise *= 0.5 * numpy.linalg.norm(chosen, axis=1, keepdims=True) / numpy.linalg.norm(noise, axis=1, keepdims=True)
    made = chosen + noise
    return numpy.ascontiguousarray(made / numpy.linalg.norm(made, axis=1, keepdims=True), dtype="<f4")


class Exact:
    """FAISS's exact f32 search: the peer of pel's exact searches, and the reference for recall."""

    def __init__(self, vectors, queries, k):
        import faiss

        self.vectors, self.queries = vectors, queries
        self.index = faiss.IndexFlatIP(vectors.shape[1])
        self.index.add(vectors)
        self.bytes = int(vectors.nbytes)
        self.worst = self.scores(self.search(queries, k)).min(1)

    def search(self, queries, k):
        return self.index.search(queries, k)[1]

    def scores(self, found):
        """`[n, k]` row numbers -> exact scores, in the same arithmetic for all engines; a missing row scores minus infinity."""
        import numpy

        known = (found >= 0) & (found < len(self.vectors))
        scores = numpy.einsum("nd,nkd->nk", self.queries, self.vectors[numpy.where(known, found, 0)])
        return numpy.where(known, scores, -numpy.inf)

    def recall(self, found):
        """Recall: the share of the exact neighbours in `found`, `[n, k]`; equal scores count as found."""
        import numpy

        good = self.scores(found) >= self.worst[:, None] - 1e-7
        hits = sum(len(numpy.unique(row[keep])) for row, keep in zip(found, good))
        return hits / found.size


def hnswlib_index(options, vectors):
    """The graph, from the cache or newly built, and the build time in seconds (`None` from the cache)."""
    import hnswlib

    m, ef_construction = options.hnsw
    stamp = hashlib.blake2b(vectors.data, digest_size=8)
    stamp.update(f"hnswlib {m} {ef_construction}".encode())
    path = options.cache / f"{stamp.hexdigest()}.hnswlib"
    graph = hnswlib.Index(space="ip", dim=vectors.shape[1])
    if path.exists():
        graph.load_index(str(path), max_elements=len(vectors))
        return graph, path.stat().st_size, None
    graph.init_index(max_elements=len(vectors), M=m, ef_construction=ef_construction, random_seed=1)
    start = time.perf_counter()
    for first in range(0, len(vectors), 10_000):
        graph.add_items(vectors[first:first + 10_000], num_threads=options.threads)
        print(f"\rhnswlib: {min(first + 10_000, len(vectors))} of {len(vectors)} vectors", end="", file=sys.stderr, flush=True)
    built = time.perf_counter() - start
    print(f", built in {built:.0f} s", file=sys.stderr)
    options.cache.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    graph.save_index(str(part))
    part.rename(path)
    return graph, path.stat().st_size, built


class Graph:
    """hnswlib, with the least ef that reaches the wanted recall."""

    def __init__(self, options, exact):
        self.threads = options.threads
        self.index, size, built = hnswlib_index(options, exact.vectors)
        for self.ef in EFS:
            self.index.set_ef(self.ef)
            recall = exact.recall(self.search(exact.queries, HNSW_K).astype("int64"))
            if recall >= HNSW_RECALL:
                break
        m, ef_construction = options.hnsw
        self.facts = {"rows": len(exact.vectors), "k": HNSW_K, "m": m, "ef_construction": ef_construction, "ef": self.ef,
                      "recall": recall, "bytes": size, "build_s": built}

    def search(self, queries, k):
        return self.index.knn_query(queries, k=k, num_threads=self.threads)[0]


class FaissCells:
    """FAISS's IVF with differences in bytes (IVF, SQ8), with the least number of probes that reaches the wanted recall."""

    def __init__(self, options, exact):
        import faiss

        rows, dim = exact.vectors.shape
        begun = time.perf_counter()
        self.index = faiss.index_factory(dim, f"IVF{options.cells},SQ8", faiss.METRIC_INNER_PRODUCT)
        self.index.train(exact.vectors[:: max(1, rows // (64 * options.cells))])
        self.index.add(exact.vectors)
        built = time.perf_counter() - begun
        for probes in PROBES:
            self.index.nprobe = min(probes, options.cells)
            recall = exact.recall(self.search(exact.queries, options.k))
            if recall >= CELLS_RECALL:
                break
        # A code and an identifier of 8 bytes for each row, and the centroids.
        size = rows * (dim + 8) + options.cells * dim * 4
        self.facts = {"rows": rows, "k": options.k, "cells": options.cells, "probes": self.index.nprobe, "recall": recall,
                      "bytes": size, "build_s": built}

    def search(self, queries, k):
        return self.index.search(queries, k)[1]


def found_by_pel(path, k):
    """The output of `pel bench --export-found`: `[n, k]`, -1 where nothing was found."""
    import numpy

    found = numpy.fromfile(path, dtype="<u4").astype("int64").reshape(-1, k)
    return numpy.where(found == 0xFFFF_FFFF, -1, found)


def in_turn(search, queries, batch, k):
    """A function that searches the next `batch` queries at each call."""
    last = max(len(queries) - batch, 0)
    parts = itertools.cycle([queries[start:start + batch] for start in range(0, last + 1, batch)])
    return lambda: search(next(parts), k)
