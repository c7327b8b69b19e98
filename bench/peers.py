#!/usr/bin/env python3
"""Measures pel and other programs (peers) on the same work in the same run, and prints the ratios with their targets.

    peers.py --pel target/release/pel --bundle BUNDLE --int8-bundle BUNDLE --model FOLDER --web-package FOLDER --threads 2
    peers.py --only rank --pel target/release/pel --bundle BUNDLE --ranker rank/model --threads 2
    peers.py --model FOLDER --vectors vectors.f32 --threads 2                          only the peers

    encode   MiniLM with four batch sizes: PyTorch, ONNX Runtime fp32 and int8
    index    `pel index` over the names of a sample of the default knowledge base, in f32, bfloat16 and int8: PyTorch and ONNX Runtime
    rank     a cross-encoder on 16 candidates of a mention, 128 tokens a pair: ONNX Runtime fp32
    train    forward and backward of a batch, and whole steps with the optimiser, in f32 and bfloat16: PyTorch
    search   exact search, f32 and int8: FAISS's IndexFlatIP
    hnsw     at recall@10 = 0.95: hnswlib
    cells    at recall@k = 0.99, differences from the cells' means in bytes: FAISS's IVF
    web      WebAssembly on one thread in Node: ONNX Runtime Web fp32 and int8
    notes    a cold start, and `pel link` over a folder of notes compared with the encoder's throughput

`--model` is the Hugging Face folder of the bundles' encoder, `--ranker` a model of `pel train --stage rank`. Needs
requirements.txt, and Node for `web`.

All engines get the same number of threads, the same shapes of token ids (full rows, no padding; with mean pooling and
normalisation), and the same vectors and queries. Each round measures every engine once on every case, so that a slow minute of
the machine affects all. The figure of a case is the median over rounds of the medians within a round.
"""

import argparse
import datetime
import json
import os
import pathlib
import sys
import tempfile

from peers import encode
from peers.machine import machine
from peers.report import raw, report
from peers.rounds import PARTS, Run


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(PARTS), help=f"parts to measure, with commas (default {','.join(PARTS)})")
    parser.add_argument("--model", type=pathlib.Path, help="encoder folder; without it encoding is not measured")
    parser.add_argument("--ranker", type=pathlib.Path, help="cross-encoder folder; without it ranking is not measured")
    ours = parser.add_argument_group("pel")
    ours.add_argument("--pel", type=pathlib.Path, help="the binary: `PEL bench --json ...` runs once per round")
    ours.add_argument("--bundle", type=pathlib.Path, help="the bundle for --pel")
    ours.add_argument("--int8-bundle", type=pathlib.Path, help="a bundle with an int8 encoder; without it int8 is not measured")
    ours.add_argument("--pel-args", default="", help="arguments for `pel bench`, as one string; they override this script's")
    ours.add_argument("--web-package", type=pathlib.Path, help="folder of the WebAssembly package, with a BenchEncoder")
    ours.add_argument("--int8-model", type=pathlib.Path, help="folder with an int8 encoder for --web-package")
    what = parser.add_argument_group("names, searching and notes")
    what.add_argument("--index-concepts", type=int, default=1500, help="concepts whose names are indexed (default 1500)")
    what.add_argument("--vectors", type=pathlib.Path, help="raw little-endian f32 rows (default: made by pel)")
    what.add_argument("--dim", type=int, default=384, help="length of a row of --vectors (default 384)")
    what.add_argument("--rows", type=int, default=1_000_000, help="vectors to search (default 1000000)")
    what.add_argument("--hnsw-rows", type=int, help="number of vectors in the graphs (default: all)")
    what.add_argument("--hnsw", default="16,200", help="M,ef_construction of hnswlib (default 16,200)")
    what.add_argument("--cells", type=int, default=4096, help="cells of pel and of FAISS (default 4096)")
    what.add_argument("--k", type=int, default=64, help="neighbours of an exact search (default 64)")
    what.add_argument("--queries", type=int, default=256, help="queries, equal for all engines (default 256)")
    what.add_argument("--notes", type=pathlib.Path, help="folder of .txt files (default: made from the example note)")
    what.add_argument("--note-count", type=int, default=1000, help="greatest number of notes (default 1000)")
    how = parser.add_argument_group("measuring")
    how.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="threads of every engine (default: all cores)")
    how.add_argument("--rounds", type=int, default=5, help="alternating rounds (default 5)")
    how.add_argument("--seconds", type=float, default=0.5, help="least time per measurement within a round (default 0.5)")
    how.add_argument("--cache", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()) / "pel-peers",
                     help="folder for exported ONNX files and built graphs")
    how.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent / "results",
                     help="folder for the raw JSON (default bench/results)")
    options = parser.parse_args()
    options.only = options.only.split(",")
    if set(options.only) - set(PARTS):
        parser.error(f"--only: expected parts of {', '.join(PARTS)}")
    if min(options.threads, options.rounds, options.rows, options.queries, options.k, options.note_count,
           options.index_concepts) < 1:
        parser.error("counts must be at least 1")
    if options.pel and not options.bundle:
        parser.error("--pel needs --bundle")
    try:
        options.hnsw = [int(part) for part in options.hnsw.split(",")]
        assert len(options.hnsw) == 2
    except (ValueError, AssertionError):
        parser.error("--hnsw: expected two whole numbers with a comma, such as 16,200")
    return options


def main():
    options = arguments()
    # Before any library reads them.
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = str(options.threads)
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    if options.model and {"encode", "index", "train", "web"} & set(options.only) or options.ranker and "rank" in options.only:
        encode.use_threads(options.threads)
    with tempfile.TemporaryDirectory() as scratch:
        run = Run(options, pathlib.Path(scratch))
        for at in range(options.rounds):
            print(f"round {at + 1} of {options.rounds}", file=sys.stderr)
            run.round()
    comparisons, checks = run.comparisons(), run.all_checks()
    report(comparisons, checks)
    if run.pel_runs and run.pel_runs[0].get("threads") not in (None, options.threads):
        run.notes.append(f"pel ran with {run.pel_runs[0]['threads']} threads, the peers with {options.threads}")
    for note in run.notes:
        print(f"note: {note}")

    now = datetime.datetime.now(datetime.timezone.utc)
    value = {"date": now.isoformat(timespec="seconds"), **machine(), "threads": options.threads, "rounds": options.rounds,
             "model": options.model.name if options.model else None, "notes": run.notes, **raw(comparisons, checks), **run.raw()}
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / f"{now.strftime('%Y-%m-%dT%H%M%SZ')}.json"
    path.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
    print(f"raw figures: {path}")


if __name__ == "__main__":
    main()
