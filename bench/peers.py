#!/usr/bin/env python3
"""Measures PyTorch, ONNX Runtime, FAISS and hnswlib on the work of `pel bench`, in the same run, and prints the ratios.

    peers.py --model FOLDER --pel target/release/pel --threads 2
    peers.py --model FOLDER --json pel-bench.json --vectors vectors.f32 --threads 2

With `--pel` the binary is run once per round, between the peers, and writes the vectors that the searches use; with `--json` its
numbers are read from a file (`-` for standard input) and were taken at another time, which the result says. `--model` is the
Hugging Face folder that `pel bench` was given.

Needs requirements.txt. Every engine gets the same number of threads, the same token ids' shapes (full rows, no padding), mean
pooling and normalisation included, and the same vectors and queries. Each round measures every engine once on every
case, so that a slow minute of the machine falls on all; the figure of a case is the median over rounds of the medians within one.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

SHAPES = [(1, 32), (1, 128), (16, 64), (32, 128)]
SEARCH_BATCHES = [1, 64]
# Peer of each of our kinds of index: the same idea elsewhere.
SEARCH_PEERS = {"exact-f32": ["faiss-flat"], "exact-int8": ["faiss-flat", "faiss-sq8"], "hnsw": ["hnswlib", "faiss-flat"]}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ours = parser.add_mutually_exclusive_group()
    ours.add_argument("--pel", type=pathlib.Path, help="the binary: `PEL bench --json ...` runs once per round")
    ours.add_argument("--json", help="output of an earlier `pel bench --json`, or - for standard input")
    parser.add_argument("--pel-args", default="", help="further arguments for `pel bench`, as one string")
    parser.add_argument("--model", type=pathlib.Path, help="encoder folder; without it encoding is not measured")
    parser.add_argument("--vectors", type=pathlib.Path,
                        help="raw little-endian f32 rows, from `pel bench --export-vectors`; without it (and without --pel) "
                             "searching is not measured")
    parser.add_argument("--dim", type=int, default=384, help="length of a row of --vectors (default 384)")
    parser.add_argument("--rows", type=int, help="use the first ROWS rows only")
    parser.add_argument("--k", type=int, default=64, help="neighbours asked for (default 64)")
    parser.add_argument("--queries", type=int, default=256, help="queries per measurement (default 256)")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="for every engine (default: all cores)")
    parser.add_argument("--rounds", type=int, default=5, help="alternating rounds (default 5)")
    parser.add_argument("--seconds", type=float, default=0.5, help="least time per measurement within a round (default 0.5)")
    parser.add_argument("--hnsw", default="16,200,128", help="M,ef_construction,ef of hnswlib (default 16,200,128)")
    parser.add_argument("--cache", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()) / "pel-peers",
                        help="keeps the exported ONNX files")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent / "results",
                        help="folder for the raw JSON (default bench/results)")
    options = parser.parse_args()
    if options.threads < 1 or options.rounds < 1:
        parser.error("--threads and --rounds must be at least 1")
    try:
        options.hnsw = [int(part) for part in options.hnsw.split(",")]
        assert len(options.hnsw) == 3
    except (ValueError, AssertionError):
        parser.error("--hnsw wants three whole numbers with commas, such as 16,200,128")
    return options


def timed(run, seconds):
    """Median seconds of one run: one run to warm up, then at least three, until the time is used."""
    run()
    times, end = [], time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


# ---- encoding

def sentence_encoder(folder):
    """BertModel, masked mean and L2 norm as one module: what our encode step does."""
    import torch
    import transformers
    from transformers import BertModel

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()

    class Encoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.bert = BertModel.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32,
                                                  add_pooling_layer=False)

        def forward(self, input_ids, attention_mask):
            last = self.bert(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
            real = attention_mask.unsqueeze(-1).to(last.dtype)
            return torch.nn.functional.normalize((last * real).sum(1) / real.sum(1), dim=-1)

    return Encoder().eval()


def exported(encoder, folder, cache):
    """Paths of the fp32 and the dynamically quantised int8 ONNX file; written once per model file and versions."""
    import hashlib

    import onnxruntime
    import torch
    from onnxruntime.quantization import QuantType, quantize_dynamic

    stamp = hashlib.sha256((folder / "model.safetensors").read_bytes())
    stamp.update(f"{torch.__version__} {onnxruntime.__version__} 1".encode())
    cache.mkdir(parents=True, exist_ok=True)
    fp32, int8 = (cache / f"{stamp.hexdigest()[:16]}.{kind}.onnx" for kind in ("fp32", "int8"))
    if not fp32.exists():
        example = (torch.ones(2, 8, dtype=torch.long), torch.ones(2, 8, dtype=torch.long))
        axes = {"input_ids": {0: "batch", 1: "seq"}, "attention_mask": {0: "batch", 1: "seq"}, "vector": {0: "batch"}}
        part = fp32.with_suffix(".part")
        with warnings.catch_warnings():
            # The exporter by tracing is the one that needs no further package; encoders() checks what it wrote.
            warnings.simplefilter("ignore")
            torch.onnx.export(encoder, example, str(part), input_names=["input_ids", "attention_mask"],
                              output_names=["vector"], dynamic_axes=axes, opset_version=17, dynamo=False)
        part.rename(fp32)
    if not int8.exists():
        part = int8.with_suffix(".part")
        quantize_dynamic(str(fp32), str(part), weight_type=QuantType.QInt8)
        part.rename(int8)
    return fp32, int8


def encoders(options):
    """Name -> function from (ids, mask) to vectors, and how far each lies from PyTorch (least cosine)."""
    import numpy
    import onnxruntime
    import torch

    torch.set_num_threads(options.threads)
    torch.set_num_interop_threads(1)
    encoder = sentence_encoder(options.model)
    fp32, int8 = exported(encoder, options.model, options.cache)

    def eager(ids, mask):
        with torch.inference_mode():
            return encoder(torch.from_numpy(ids), torch.from_numpy(mask)).numpy()

    def session(path):
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = options.threads
        settings.inter_op_num_threads = 1
        held = onnxruntime.InferenceSession(str(path), settings, providers=["CPUExecutionProvider"])
        return lambda ids, mask: held.run(None, {"input_ids": ids, "attention_mask": mask})[0]

    engines = {"torch": eager, "ort-fp32": session(fp32), "ort-int8": session(int8)}
    ids = numpy.random.default_rng(7).integers(1000 if vocabulary(options) > 2000 else 20, vocabulary(options), (4, 24))
    mask = numpy.ones_like(ids)
    mask[1:, 16:] = 0
    base = eager(ids, mask)
    closeness = {name: float((run(ids, mask) * base).sum(1).min()) for name, run in engines.items()}
    if closeness["ort-fp32"] < 0.9999:
        sys.exit(f"the exported encoder does not agree with PyTorch: cosine {closeness['ort-fp32']:.6f}")
    return engines, closeness


def vocabulary(options):
    return json.loads((options.model / "config.json").read_text())["vocab_size"]


def encode_cases(options):
    import numpy

    random, highest = numpy.random.default_rng(1), vocabulary(options)
    longest = json.loads((options.model / "config.json").read_text())["max_position_embeddings"]
    for batch, seq in SHAPES:
        if seq <= longest:
            ids = random.integers(min(1000, highest // 2), highest, (batch, seq))
            yield (batch, seq), ids, numpy.ones_like(ids)


# ---- searching

def read_vectors(path, dim, rows):
    import numpy

    size = path.stat().st_size
    if size == 0 or size % (4 * dim):
        sys.exit(f"{path}: {size} bytes are no whole number of rows of {dim} f32 values; see --dim")
    return numpy.fromfile(path, dtype="<f4", count=-1 if rows is None else rows * dim).reshape(-1, dim)


def make_queries(vectors, count):
    """Rows with noise: near to something, as a mention's vector is to a name's, but to none exactly."""
    import numpy

    random = numpy.random.default_rng(3)
    chosen = vectors[random.integers(0, len(vectors), count)]
    noise = random.standard_normal(chosen.shape, dtype="float32")
    noise *= 0.5 * numpy.linalg.norm(chosen, axis=1, keepdims=True) / numpy.linalg.norm(noise, axis=1, keepdims=True)
    return numpy.ascontiguousarray(chosen + noise, dtype="float32")


def searchers(options, vectors, queries):
    """Name -> function from (queries, k) to row numbers, and facts about each index."""
    import faiss
    import hnswlib
    import numpy

    faiss.omp_set_num_threads(options.threads)
    dim = vectors.shape[1]
    flat = faiss.IndexFlatIP(dim)
    flat.add(vectors)
    sq8 = faiss.IndexScalarQuantizer(dim, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT)
    sq8.train(vectors)
    sq8.add(vectors)
    m, ef_construction, ef = options.hnsw
    graph = hnswlib.Index(space="ip", dim=dim)
    graph.init_index(max_elements=len(vectors), M=m, ef_construction=ef_construction, random_seed=1)
    start = time.perf_counter()
    graph.add_items(vectors, num_threads=options.threads)
    built = time.perf_counter() - start
    graph.set_ef(max(ef, options.k))
    engines = {
        "faiss-flat": lambda q, k: flat.search(q, k)[1],
        "faiss-sq8": lambda q, k: sq8.search(q, k)[1],
        "hnswlib": lambda q, k: graph.knn_query(q, k=k, num_threads=options.threads)[0],
    }
    # Recall and size, over all queries: the share of the exact k that is found.
    exact = engines["faiss-flat"](queries, options.k)
    facts = {}
    with tempfile.TemporaryDirectory() as folder:
        path = str(pathlib.Path(folder) / "graph")
        graph.save_index(path)
        sizes = {"faiss-flat": vectors.nbytes, "faiss-sq8": len(vectors) * sq8.code_size, "hnswlib": os.path.getsize(path)}
    for name, run in engines.items():
        found = run(queries, options.k).astype("int64")
        hits = [len(numpy.intersect1d(one, other)) for one, other in zip(found, exact)]
        facts[name] = {f"recall_at_{options.k}": sum(hits) / exact.size, "bytes": int(sizes[name])}
    facts["hnswlib"] |= {"build_s": built, "m": m, "ef_construction": ef_construction, "ef": max(ef, options.k)}
    return engines, facts


# ---- ours

def run_pel(options, export):
    command = [str(options.pel), "bench", "--json", *shlex.split(options.pel_args)]
    if export is not None:
        command += ["--export-vectors", str(export)]
    # Our threads are rayon's.
    environment = dict(os.environ, RAYON_NUM_THREADS=str(options.threads))
    done = subprocess.run(command, stdout=subprocess.PIPE, env=environment, text=True)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(command)} ended with {done.returncode}")
    return parse_pel(done.stdout, shlex.join(command))


def parse_pel(text, origin):
    try:
        value = json.loads(text)
        for row in value.get("encode", []):
            row["batch"], row["seq"], row["median_ms"]
        for row in value.get("search", []):
            row["kind"], row["rows"], row["k"], row["batch"], row["queries_per_s"]
        return value
    except (json.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        sys.exit(f"{origin}: not the output of `pel bench --json`: {error!r}")


def merged(runs):
    """(batch, seq) -> ms, (kind, batch) -> ms per query; medians over runs, with what else a search row says."""
    encode, search, rest = {}, {}, {}
    for run in runs:
        for row in run.get("encode", []):
            encode.setdefault((row["batch"], row["seq"]), []).append(row["median_ms"])
        for row in run.get("search", []):
            case = (row["kind"], row["batch"])
            search.setdefault(case, []).append(1000 / row["queries_per_s"])
            rest[case] = {name: row.get(name) for name in ("rows", "k", "bytes", *[n for n in row if n.startswith("recall")])}
    medians = [{case: statistics.median(times) for case, times in found.items()} for found in (encode, search)]
    return *medians, rest


# ---- report

def cpu_model():
    try:
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def versions():
    import importlib.metadata

    found = {"python": platform.python_version()}
    for name in ("torch", "transformers", "onnx", "onnxruntime", "faiss-cpu", "hnswlib", "numpy"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = None
    return found


def table(head, rows):
    widths = [max(len(row[at]) for row in [head, *rows]) for at in range(len(head))]
    for row in [head, ["-" * width for width in widths], *rows]:
        print("  ".join(cell.ljust(width) if at == 0 else cell.rjust(width) for at, (cell, width) in enumerate(zip(row, widths))))
    print()


def ratio(ours, peer):
    return f"{ours / peer:.2f}" if ours is not None and peer else "-"


def figure(value):
    return "-" if value is None else f"{value:.3g}" if value < 100 else f"{value:.0f}"


def report(ours_encode, ours_search, rest, encode, search, facts, options):
    print("Time of pel divided by time of the peer: below 1, pel is faster.\n")
    if encode:
        names = list(next(iter(encode.values())))
        rows = [[f"encode {batch} x {seq}", figure(ours_encode.get((batch, seq))),
                 *[cell for name in names for cell in (figure(times[name]), ratio(ours_encode.get((batch, seq)), times[name]))]]
                for (batch, seq), times in encode.items()]
        table(["ms", "pel", *[cell for name in names for cell in (name, "pel/it")]], rows)
    if search:
        rows = []
        for batch, times in search.items():
            for name, value in times.items():
                fact = facts[name]
                recall = next(v for n, v in fact.items() if n.startswith("recall"))
                rows.append([f"search, batch {batch}: {name}", figure(value), f"{recall:.4f}", f"{fact['bytes'] / 1e6:.1f}", "-", "-"])
            for (kind, size), value in ours_search.items():
                if size == batch:
                    more = rest[(kind, size)]
                    recall = next((v for n, v in more.items() if n.startswith("recall") and v is not None), None)
                    for peer in SEARCH_PEERS.get(kind, ["faiss-flat"]):
                        rows.append([f"search, batch {batch}: pel {kind}", figure(value), "-" if recall is None else f"{recall:.4f}",
                                     "-" if more["bytes"] is None else f"{more['bytes'] / 1e6:.1f}", peer, ratio(value, times[peer])])
        table(["ms per query", "time", f"recall@{options.k}", "MB", "against", "pel/it"], rows)


def main():
    options = arguments()
    # Before any library reads them.
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = str(options.threads)
    os.environ["TOKENIZERS_PARALLELISM"] = "false"

    notes, runs = [], []
    scratch = tempfile.TemporaryDirectory()
    vectors_path = options.vectors
    if options.pel:
        if vectors_path is None:
            vectors_path = pathlib.Path(scratch.name) / "vectors.f32"
            run_pel(options, vectors_path)  # Not counted: it also warms the machine up.
            if not vectors_path.exists():
                vectors_path = None
    elif options.json:
        text = sys.stdin.read() if options.json == "-" else pathlib.Path(options.json).read_text(encoding="utf-8")
        runs.append(parse_pel(text, options.json))
        notes.append("pel's numbers were read from a file: measured at another time than the peers'")

    encode_engines, closeness, cases = {}, {}, []
    if options.model:
        encode_engines, closeness = encoders(options)
        cases = list(encode_cases(options))
    search_engines, facts = {}, {}
    if vectors_path:
        vectors = read_vectors(vectors_path, options.dim, options.rows)
        options.k = min(options.k, len(vectors))
        queries = make_queries(vectors, options.queries)
        search_engines, facts = searchers(options, vectors, queries)
    if not encode_engines and not search_engines and not options.pel:
        sys.exit("nothing to measure: give --model, --vectors or --pel")

    encode, search = {}, {}
    for at in range(options.rounds):
        print(f"round {at + 1} of {options.rounds}", file=sys.stderr)
        if options.pel:
            runs.append(run_pel(options, None))
        for shape, ids, mask in cases:
            for name, run in encode_engines.items():
                took = timed(lambda: run(ids, mask), options.seconds)
                encode.setdefault(shape, {}).setdefault(name, []).append(1000 * took)
        for batch in SEARCH_BATCHES if search_engines else []:
            parts = [queries[start:start + batch] for start in range(0, len(queries) - batch + 1, batch)]
            for name, run in search_engines.items():
                took = timed(lambda: [run(part, options.k) for part in parts], options.seconds)
                search.setdefault(batch, {}).setdefault(name, []).append(1000 * took / (batch * len(parts)))
    scratch.cleanup()

    ours_encode, ours_search, rest = merged(runs)
    for run in runs[:1]:
        if run.get("threads") not in (None, options.threads):
            notes.append(f"pel ran with {run['threads']} threads, the peers with {options.threads}")
        for row in run.get("search", []):
            if search_engines and (row["rows"], row["k"]) != (len(vectors), options.k):
                notes.append(f"pel searched {row['rows']} rows for {row['k']}, the peers {len(vectors)} for {options.k}")
                break
    medians = [{case: {name: statistics.median(times) for name, times in engines.items()} for case, engines in found.items()}
               for found in (encode, search)]
    report(ours_encode, ours_search, rest, *medians, facts, options)
    for note in notes:
        print(f"note: {note}")

    now = datetime.datetime.now(datetime.timezone.utc)
    raw = {
        "date": now.isoformat(timespec="seconds"), "cpu": cpu_model(), "cores": os.cpu_count(), "system": platform.platform(),
        "threads": options.threads, "rounds": options.rounds, "versions": versions(), "notes": notes,
        "model": options.model.name if options.model else None, "cosine_to_torch": closeness,
        "encode_ms": [{"batch": b, "seq": s, "engine": name, "rounds": times}
                      for (b, s), engines in encode.items() for name, times in engines.items()],
        "search_ms_per_query": [{"rows": len(vectors), "dim": options.dim, "k": options.k, "batch": batch, "engine": name,
                                 "rounds": times, **facts[name]}
                                for batch, engines in search.items() for name, times in engines.items()],
        "pel": runs,
    }
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / f"{now.strftime('%Y-%m-%dT%H%M%SZ')}.json"
    path.write_text(json.dumps(raw, indent=1) + "\n", encoding="utf-8")
    print(f"raw figures: {path}")


if __name__ == "__main__":
    main()
