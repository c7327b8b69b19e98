#!/usr/bin/env python3
"""Prints the recall of quantised vectors by bits per value: of rows, and of their differences from the means of cells.

    pel index --kb KB --encoder BUNDLE --precision f32 --out rows           a bundle with the views names and template
    pel index --kb QUERIES --view names --encoder BUNDLE --precision f32 --out queries
    recall_by_bits.py --rows rows --queries queries

The rows are mixed as by `pel index --mixed-rows`: half name, half template. A query is a name of the second bundle; take names that
the first one does not have, such as the texts of mentions. The figure is the share of the 64 best concepts of the exact search over
floats that the search over quantised rows finds. Needs numpy and faiss-cpu (for k-means).
"""

import argparse
import json
import pathlib
import struct
import sys

import faiss
import numpy

K = 64


def read_index(folder):
    """Concepts `[rows]` and vectors `[rows, dim]` of a bundle that was indexed with --precision f32."""
    data = (folder / "index.bin").read_bytes()
    length = struct.unpack("<I", data[12:16])[0]
    header = json.loads(data[48:48 + length])
    fields, sections = header["fields"], header["sections"]
    if "values" not in sections:
        sys.exit(f"{folder}: expected an index of --precision f32, found {fields['precision']}")
    part = {name: data[one["at"]:one["at"] + one["bytes"]] for name, one in sections.items()}
    return numpy.frombuffer(part["concepts"], "<u4"), numpy.frombuffer(part["values"], "<f4").reshape(-1, fields["dim"])


def mixed(concepts, vectors):
    """The rows of names, each mixed half and half with the first row of its concept, the template."""
    first = numpy.concatenate([[True], concepts[1:] != concepts[:-1]])
    template = vectors[numpy.maximum.accumulate(numpy.where(first, numpy.arange(len(concepts)), 0))]
    return concepts[~first], (0.5 * vectors + 0.5 * template)[~first].astype("f4")


def best(queries, vectors, concepts):
    """The K best concepts of each query by their best rows."""
    found, rows = [], min(30 * K, len(vectors) - 1)
    for first in range(0, len(queries), 100):
        scores = queries[first:first + 100] @ vectors.T
        nearest = numpy.argpartition(-scores, rows, axis=1)[:, :rows]
        for own, row in zip(scores, nearest):
            row = row[numpy.lexsort((concepts[row], -own[row]))]
            _, places = numpy.unique(concepts[row], return_index=True)
            found.append(concepts[row][numpy.sort(places)][:K])
    return found


def recall(found, exact):
    return float(numpy.mean([len(numpy.intersect1d(one, other)) / len(other) for one, other in zip(found, exact)]))


def quantised(rows, bits):
    """Rows with one scale each, by the largest magnitude."""
    most = 2 ** (bits - 1) - 1
    scale = numpy.maximum(numpy.abs(rows).max(1, keepdims=True), 1e-12) / most
    return (numpy.round(rows / scale) * scale).astype("f4")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=pathlib.Path, required=True)
    parser.add_argument("--queries", type=pathlib.Path, required=True)
    parser.add_argument("--cells", type=int, default=1024)
    parser.add_argument("--count", type=int, default=2000, help="queries (default 2000)")
    options = parser.parse_args()
    concepts, rows = mixed(*read_index(options.rows))
    queries = read_index(options.queries)[1][:options.count]
    exact = best(queries, rows, concepts)
    dim = rows.shape[1]
    rotation = numpy.linalg.qr(numpy.random.default_rng(0).normal(size=(dim, dim)))[0].astype("f4")
    kmeans = faiss.Kmeans(dim, options.cells, niter=10, spherical=True, seed=1)
    kmeans.train(rows)
    cell = numpy.argmax(rows @ kmeans.centroids.T, axis=1)
    counts = numpy.maximum(numpy.bincount(cell, minlength=options.cells), 1)[:, None]
    sums = numpy.zeros((options.cells, dim))
    numpy.add.at(sums, cell, rows)
    mean = (sums / counts).astype("f4")[cell]
    print(f"{len(rows)} rows of {dim} values, {len(queries)} queries, {options.cells} cells: recall@{K}")
    print("| bits per value | row | row, rotated | difference | difference, rotated |\n| --- | --- | --- | --- | --- |")
    for bits in (4, 5, 6, 7, 8):
        forms = [quantised(rows, bits), quantised(rows @ rotation, bits) @ rotation.T,
                 mean + quantised(rows - mean, bits), mean + quantised((rows - mean) @ rotation, bits) @ rotation.T]
        print(f"| {bits} | " + " | ".join(f"{recall(best(queries, form, concepts), exact):.4f}" for form in forms) + " |", flush=True)


if __name__ == "__main__":
    main()
