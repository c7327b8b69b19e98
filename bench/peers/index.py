"""Encoding the names of a knowledge base: `pel index` from start to exit, PyTorch and ONNX Runtime from names to vectors.

The peers get the same different names, sort them by length, and encode them in batches of 64 with padding to the longest. What else
`pel index` does (reading the table, checking recall, writing the bundle) counts for it; loading counts for no peer.
"""

import json
import lzma
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

from peers import encode
from peers.report import Check, Comparison

KB = pathlib.Path(__file__).resolve().parent.parent.parent / "kb" / "default.jsonl.xz"
BATCH, LONGEST = 64, 32
# Peer -> the precision that it is compared with, and the target.
PEERS = {"torch": ("f32", 1.0), "ort-fp32": ("f32", 1.0), "torch-bf16": ("bf16", 1.0), "ort-int8": ("int8", 1.0)}
# Neighbours of a recall, and the queries of it.
NEAREST, QUERIES = 64, 500


class Names:
    """The names of a sample of the default knowledge base, and the seconds that each engine takes for them."""

    def __init__(self, options, scratch, engines):
        self.options, self.scratch = options, scratch
        self.table = scratch / "names.jsonl"
        with lzma.open(KB, "rt", encoding="utf-8") as file:
            lines = file.readlines()
        step = max(1, len(lines) // options.index_concepts)
        taken = lines[::step][: options.index_concepts]
        self.table.write_text("".join(taken), encoding="utf-8")
        concepts = [json.loads(line) for line in taken]
        self.names = sorted({name for one in concepts for name in [one["name"], *one.get("synonyms", [])]})
        self.engines = {**engines, "torch-bf16": self.in_bf16(engines["torch"])}
        # Precision of ours -> encoder and further options of `pel index`. A bundle with an int8 encoder encodes names in int8.
        self.ours = {"f32": [options.model], "bf16": [options.model, "--bf16"]}
        if options.int8_bundle:
            self.ours["int8"] = [options.int8_bundle]
        self.seconds, self.recalls = {}, {}

    @staticmethod
    def in_bf16(engine):
        import torch

        def run(ids, mask):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                return engine(ids, mask)

        return run

    def tokenized(self):
        """Batches of token ids and masks, the longest first."""
        import numpy
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(self.options.model / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.enable_truncation(LONGEST)
        rows = sorted((one.ids for one in tokenizer.encode_batch(self.names)), key=len, reverse=True)
        for at in range(0, len(rows), BATCH):
            part = rows[at : at + BATCH]
            ids = numpy.zeros((len(part), len(part[0])), dtype=numpy.int64)
            mask = numpy.zeros_like(ids)
            for row, (own, kept) in zip(part, zip(ids, mask)):
                own[: len(row)] = row
                kept[: len(row)] = 1
            yield ids, mask

    def round(self):
        """Measures every engine once."""
        for precision in self.ours if self.options.pel else []:
            self.seconds.setdefault(("pel", precision), []).append(self.indexed(precision))
        if self.options.pel:
            self.recalls = self.compared()
        for name, engine in self.engines.items():
            start = time.perf_counter()
            for ids, mask in self.tokenized():
                engine(ids, mask)
            self.seconds.setdefault((name, PEERS[name][0]), []).append(time.perf_counter() - start)

    def vectors(self, precision):
        """Where the vectors of a precision lie."""
        return self.scratch / f"names-{precision}.f32"

    def indexed(self, precision):
        """The seconds of one `pel index`."""
        out = self.scratch / "names-bundle"
        shutil.rmtree(out, ignore_errors=True)
        self.vectors(precision).unlink(missing_ok=True)
        command = [self.options.pel, "index", "--device", "cpu", "--kb", self.table, "--view", "names", "--name-tokens", LONGEST,
                   "--export-vectors", self.vectors(precision), "--out", out, "--encoder", *self.ours[precision]]
        environment = dict(os.environ, RAYON_NUM_THREADS=str(self.options.threads))
        start = time.perf_counter()
        done = subprocess.run(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment)
        if done.returncode != 0:
            sys.exit(f"pel index failed with exit code {done.returncode}: {done.stderr}")
        return time.perf_counter() - start

    def comparisons(self):
        medians = {case: statistics.median(times) for case, times in self.seconds.items()}
        return [Comparison(f"index, {len(self.names)} names, {precision}", "s", medians.get(("pel", precision)), name,
                           medians[name, precision], target)
                for name, (precision, target) in PEERS.items()]

    def compared(self):
        """What the faster roads lose: recall of the neighbours that the vectors in floats have."""
        import numpy

        dim = encode.config(self.options.model)["hidden_size"]
        read = {one: numpy.fromfile(self.vectors(one), dtype="<f4").reshape(-1, dim) for one in self.ours}
        wanted = self.nearest(read["f32"])
        return {one: self.shared(wanted, self.nearest(read[one])) for one in self.ours if one != "f32"}

    def checks(self):
        return [Check(f"index, {one}: recall@{NEAREST} of names among names, against floats", recall)
                for one, recall in self.recalls.items()]

    @staticmethod
    def nearest(vectors):
        import numpy

        step = max(1, len(vectors) // QUERIES)
        scores = vectors[::step][:QUERIES] @ vectors.T
        return numpy.argpartition(-scores, NEAREST, axis=1)[:, :NEAREST]

    @staticmethod
    def shared(wanted, found):
        return sum(len(set(a) & set(b)) for a, b in zip(wanted.tolist(), found.tolist())) / wanted.size

    def raw(self):
        return [{"engine": name, "precision": precision, "names": len(self.names), "rounds_s": times}
                for (name, precision), times in self.seconds.items()]
