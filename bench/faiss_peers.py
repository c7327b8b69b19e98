#!/usr/bin/env python3
"""Compares the search of PEL's index with FAISS over the same vectors and queries, in one run.

    bench/faiss_peers.py --pel PEL --bundle BUNDLE --floats FLOATS.f32 --notes FOLDER [--queries 2048] [--threads 2] [--hnsw 64,128,256]
                         [--lists 0] [--rounds 5]

FLOATS are the vectors before quantisation, which `pel index --export-vectors` wrote with the bundle. The queries are the mentions of the
notes. PEL searches its rows as `pel link` does; FAISS has a flat index of floats (the truth), an inverted file over int8 codes and an
HNSW graph over floats (M = 32, efConstruction = 200). Prints recall@64 against the flat index, the milliseconds of a query, alone
and 64 at a time (medians of the rounds), the size, and the time to build. PEL's recall counts concepts, FAISS's vectors.

Needs numpy and faiss-cpu (bench/requirements.txt).
"""

import argparse
import json
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import faiss
import numpy

from peers.search import Exact, read_vectors

K = 64
BATCH = 64
LINKS = 32
CONSTRUCTION = 200
PROBES = (256, 512, 1024, 2048)


def options():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pel", required=True, help="the program")
    parser.add_argument("--bundle", required=True, type=Path, help="the bundle that the vectors belong to")
    parser.add_argument("--floats", required=True, type=Path, help="its vectors before quantisation")
    parser.add_argument("--notes", required=True, type=Path, help="folder of notes, whose mentions are the queries")
    parser.add_argument("--queries", type=int, default=2048, help="at most so many queries")
    parser.add_argument("--threads", type=int, default=2, help="threads of both")
    parser.add_argument("--hnsw", default="64,128,256,512", help="depths of the search in the graph, separated by commas; none builds no graph")
    parser.add_argument("--lists", type=int, default=0, help="lists of the inverted file (default: 4 times the square root)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of a measure")
    return parser.parse_args()


def pel(chosen, queries):
    """What `pel bench` measures of the bundle's own index."""
    line = [chosen.pel, "bench", "--bundle", chosen.bundle, "--no-encode", "--query-notes", chosen.notes]
    line += ["--queries", str(chosen.queries), "--floats", chosen.floats, "--export-queries", queries, "--json"]
    environment = {"RAYON_NUM_THREADS": str(chosen.threads), "PATH": "/usr/bin:/bin"}
    done = subprocess.run([str(word) for word in line], env=environment, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def milliseconds(index, queries, batch, rounds):
    """The median time of a query."""
    taken = []
    for _ in range(rounds):
        some = queries[: min(len(queries), 512)]
        start = time.perf_counter()
        for at in range(0, len(some), batch):
            index.search(some[at : at + batch], K)
        taken.append((time.perf_counter() - start) / len(some) * 1000)
    return statistics.median(taken)


def row(name, share, single, many, size, built):
    """Prints a row of the table."""
    print(f"| {name} | {share:.4f} | {single:.2f} | {many:.2f} | {size / 1e6:,.0f} | {built:,.0f} |", flush=True)


def main():
    """Measures all and prints a table."""
    chosen = options()
    faiss.omp_set_num_threads(chosen.threads)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "queries.f32"
        own = pel(chosen, path)
        dim = own["search"][0]["dim"]
        queries = numpy.fromfile(path, "<f4").reshape(-1, dim)
    vectors = read_vectors(chosen.floats, dim, None)
    print(f"{len(vectors):,} vectors of {dim}, {len(queries):,} queries, {chosen.threads} threads, FAISS {faiss.__version__}\n")
    print("| search | recall@64 | one query, ms | 64 at a time, ms a query | MB | built in, s |")
    print("| --- | --- | --- | --- | --- | --- |")
    by_batch = {measure["batch"]: measure for measure in own["search"]}
    share = by_batch[1]["recall"]
    row("PEL, its own index", share, 1000 / by_batch[1]["queries_per_s"], 1000 / by_batch[BATCH]["queries_per_s"], by_batch[1]["bytes"], 0)

    exact = Exact(vectors, queries, K)
    recall = lambda index: exact.recall(index.search(queries, K)[1])
    times = [milliseconds(exact.index, queries, batch, 1) for batch in (1, BATCH)]
    row("FAISS, flat, floats", 1.0, *times, exact.bytes, 0)

    lists = chosen.lists or int(4 * len(vectors) ** 0.5)
    start = time.perf_counter()
    coded = faiss.IndexIVFScalarQuantizer(
        faiss.IndexFlatIP(dim), dim, lists, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT
    )
    coded.train(vectors[:: max(1, len(vectors) // (lists * 64))])
    coded.add(vectors)
    built = time.perf_counter() - start
    for probes in PROBES:
        coded.nprobe = probes
        times = [milliseconds(coded, queries, batch, chosen.rounds) for batch in (1, BATCH)]
        row(f"FAISS, IVF of {lists:,} lists, int8, {probes} read", recall(coded), *times, len(vectors) * dim, built)

    depths = [int(depth) for depth in chosen.hnsw.split(",") if depth]
    if not depths:
        return
    start = time.perf_counter()
    graph = faiss.IndexHNSWFlat(dim, LINKS, faiss.METRIC_INNER_PRODUCT)
    graph.hnsw.efConstruction = CONSTRUCTION
    graph.add(vectors)
    built = time.perf_counter() - start
    size = vectors.nbytes + len(vectors) * LINKS * 2 * 4
    for depth in depths:
        graph.hnsw.efSearch = depth
        times = [milliseconds(graph, queries, batch, chosen.rounds) for batch in (1, BATCH)]
        row(f"FAISS, HNSW, floats, depth {depth}", recall(graph), *times, size, built)


if __name__ == "__main__":
    main()
