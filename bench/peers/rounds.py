"""Prepares the measurements once, runs them in every round, and computes the ratios."""

import statistics
import sys

from peers import encode, index, pel, rank, search, train, web
from peers.notes import make_notes
from peers.report import Check, Comparison
from peers.timing import timed

PARTS = ["encode", "index", "rank", "train", "search", "hnsw", "cells", "web", "notes"]
SEARCHES = {"search", "hnsw", "cells"}


class Run:
    """The prepared measurements of a run."""

    def __init__(self, options, scratch):
        self.options, self.scratch = options, scratch
        # Case of a peer -> a function that runs it once, the unit of its figure, and the units per call.
        self.peers, self.times = {}, {}
        self.pel_arguments, self.pel_runs, self.first = [], [], None
        self.web_files, self.web_runs = None, []
        self.names = None
        self.notes, self.facts, self.checks = [], {}, []
        if options.model:
            self.ready_encoders()
        if options.ranker and "rank" in options.only:
            self.ready_ranker()
        if SEARCHES & set(options.only) and (options.pel or options.vectors):
            self.ready_search()
        else:
            self.pel_arguments += ["--no-search"]
        if "notes" in options.only and options.pel:
            folder = scratch / "notes"
            self.notes.append(make_notes(folder, options.note_count, options.notes))
            self.pel_arguments += ["--notes", folder]
        elif "encode" not in options.only:
            self.pel_arguments += ["--no-encode"]
        if not self.peers and not options.pel and not self.web_files:
            sys.exit("expected --model, --ranker, --vectors or --pel, found none")

    def ready_encoders(self):
        options = self.options
        if {"encode", "index"} & set(options.only):
            engines, self.facts["cosine_to_torch"] = encode.encoders(options)
        if "index" in options.only:
            self.names = index.Names(options, self.scratch, engines)
        if "encode" in options.only:
            for shape, ids, mask in encode.encode_cases(options):
                for name, engine in engines.items():
                    self.peers["encode", name, *shape] = (lambda engine=engine, ids=ids, mask=mask: engine(ids, mask), 1)
        if "train" in options.only:
            self.pel_arguments += ["--train"]
            for (kind, precision), once in train.training(options).items():
                self.peers["train", "torch", kind, precision] = (once, 1)
            self.notes += [f"training, {kind}: {loss}" for kind, loss in train.LOSSES.items()]
        if "web" in options.only:
            if web.ready():
                self.web_files = encode.exported(options.model, options.cache)
            else:
                self.notes.append("node or npm is missing: WebAssembly was not measured")

    def ready_ranker(self):
        options, path = self.options, self.scratch / "pairs.u32"
        ranker, pairs = rank.ranker(options), rank.pairs(options.ranker)
        ids = pairs[0]
        ids.astype("<u4").tofile(path)
        self.peers["rank", rank.PEER, *ids.shape] = (lambda: ranker(*pairs), 1)
        self.pel_arguments += ["--ranker", options.ranker, "--pairs-from", path]
        self.facts["ranker"] = rank.described(options.ranker) | {"scores": ranker(*pairs).tolist()}

    def ready_search(self):
        import faiss

        options = self.options
        faiss.omp_set_num_threads(options.threads)
        path = options.vectors
        if path is None:
            path = self.scratch / "vectors.f32"
            pel.run_pel(options, "--no-encode", "--no-search", "--rows", options.rows, "--export-vectors", path)
        vectors = search.read_vectors(path, options.dim, options.rows)
        queries = search.make_queries(vectors, options.queries)
        exact = search.Exact(vectors, queries, min(options.k, len(vectors)))
        self.facts |= {"rows": len(vectors), "dim": options.dim, "k": options.k, "queries": options.queries}
        # Graphs with fewer vectors need their own exact search as reference.
        graph_rows = min(options.hnsw_rows or len(vectors), len(vectors))
        near = search.Exact(vectors[:graph_rows], queries, search.HNSW_K) if "hnsw" in options.only else None
        for batch in search.BATCHES if "search" in options.only else []:
            self.peers["search", "faiss-flat", batch] = (search.in_turn(exact.search, queries, batch, options.k), batch)
        if near:
            graph = search.Graph(options, near)
            self.facts["hnswlib"] = graph.facts
            for batch in search.BATCHES:
                self.peers["hnsw", "hnswlib", batch] = (search.in_turn(graph.search, queries, batch, search.HNSW_K), batch)
            if graph_rows < len(vectors):
                self.notes.append(f"HNSW was measured on {graph_rows} vectors, not on {len(vectors)}")
        if "cells" in options.only:
            theirs = search.FaissCells(options, exact)
            self.facts["faiss_cells"] = theirs.facts
            for batch in search.BATCHES:
                self.peers["cells", "faiss-ivf", batch] = (search.in_turn(theirs.search, queries, batch, options.k), batch)
        if not options.pel:
            return
        if options.vectors:
            self.notes.append("the vectors are not pel's own: it searches others of the same number")
        self.ready_our_search(exact, near, graph_rows)

    def ready_our_search(self, exact, near, graph_rows):
        """Runs one search of pel, to read its results and the depths that its graph and its cells need."""
        options, found = self.options, self.scratch / "found"
        queries = self.scratch / "queries.f32"
        exact.queries.tofile(queries)
        same = ["--rows", len(exact.vectors), "--k", options.k, "--queries-from", queries]
        graph = ["--hnsw-rows", graph_rows, "--hnsw-k", search.HNSW_K, "--cache", options.cache]
        sweep = ["--hnsw", ",".join(map(str, search.EFS)), *graph] if near else []
        cells = ["--cells", options.cells, "--cache", options.cache] if "cells" in options.only else []
        probes = ["--probes", ",".join(map(str, search.PROBES))] if cells else []
        if sweep:
            cells = cells[:2]
        # Only the results matter here, not the time.
        once = pel.run_pel(options, "--no-encode", *same, *sweep, *cells, *probes, "--export-found", found, seconds=0)
        self.pel_arguments += same
        judged = []
        for row in once["search"]:
            if row["batch"] != search.BATCHES[0]:
                continue
            judge = near if row["kind"] == "hnsw" else exact
            recall = judge.recall(search.found_by_pel(found / row["found"], row["k"]))
            judged.append(row | {"recall_by_faiss": recall})
        self.facts["pel_found"] = judged
        for row in judged:
            if row["kind"] == "exact-int8":
                self.checks.append(Check(f"recall@{row['k']} of the int8 search", row["recall_by_faiss"],
                                         search.INT8_RECALL_TARGET, least=True))
                self.checks.append(Check("memory of the int8 search by that of FAISS", row["bytes"] / exact.bytes,
                                         search.INT8_MEMORY_TARGET))
        graphs = [row for row in judged if row["kind"] == "hnsw"]
        if graphs:
            enough = [row for row in graphs if row["recall_by_faiss"] >= search.HNSW_RECALL] or graphs[-1:]
            chosen = enough[0]
            self.facts["pel_hnsw"] = chosen
            self.pel_arguments += ["--hnsw", chosen["ef"], *graph]
            self.checks.append(Check(f"recall@{chosen['k']} of our HNSW, ef {chosen['ef']}", chosen["recall_by_faiss"],
                                     search.HNSW_RECALL, least=True))

        ours = [row for row in judged if row["kind"] == "cells"]
        if ours:
            enough = [row for row in ours if row["recall_by_faiss"] >= search.CELLS_RECALL] or ours[-1:]
            chosen = enough[0]
            self.facts["pel_cells"] = chosen
            self.pel_arguments += [*cells, "--probes", chosen["ef"]]
            self.checks.append(Check(f"recall@{chosen['k']} of our cells, {chosen['ef']} of {options.cells} read",
                                     chosen["recall_by_faiss"], search.CELLS_RECALL, least=True))
            self.checks.append(Check("memory of our cells by that of FAISS's exact search", chosen["bytes"] / exact.bytes))

    def round(self):
        options = self.options
        if options.pel:
            self.pel_runs.append(pel.run_pel(options, *self.pel_arguments))
        for case, (once, units) in self.peers.items():
            self.times.setdefault(case, []).append(1000 * timed(once, options.seconds) / units)
        if self.names:
            self.names.round()
        if self.web_files:
            self.web_runs.append(web.run_web(options, *self.web_files))

    def comparisons(self):
        ours_encode, ours_rank, ours_train, ours_search = (
            of(self.pel_runs) for of in (pel.encode_ms, pel.rank_ms, pel.train_ms, pel.search_ms))
        found = []
        for (part, name, *case), times in self.times.items():
            theirs = statistics.median(times)
            if part == "encode":
                precision, target = encode.PEERS[name]
                size = f"{case[0]} x {case[1]}"
                found.append(Comparison(f"encode {precision}, {size}", "ms", ours_encode.get((precision, *case)), name, theirs, target))
            elif part == "rank":
                found.append(Comparison(f"rank f32, {case[0]} x {case[1]}", "ms", ours_rank.get(("f32", *case)), name, theirs, rank.TARGET))
            elif part == "train":
                if tuple(case) in ours_train:
                    found.append(Comparison(f"training, {case[0]}, {case[1]}, {train.SHAPE[0]} x {train.SHAPE[1]}", "ms",
                                            ours_train[tuple(case)], name, theirs, train.TARGETS[case[1]]))
            elif part == "hnsw":
                found.append(Comparison(f"HNSW, {case[0]} at a time", "ms a query", ours_search.get(("hnsw", *case)), name, theirs,
                                        search.HNSW_TARGET))
            elif part == "cells":
                found.append(Comparison(f"cells, {case[0]} at a time", "ms a query", ours_search.get(("cells", *case)), name, theirs,
                                        search.CELLS_TARGET))
            else:
                for kind, target in (("exact-f32", None), ("exact-int8", search.INT8_TARGET)):
                    found.append(Comparison(f"{kind}, {case[0]} at a time", "ms a query", ours_search.get((kind, *case)), name,
                                            theirs, target))
        return found + (self.names.comparisons() if self.names else []) + self.web_comparisons()

    def web_comparisons(self):
        ms = pel.medians(((row["engine"], row["batch"], row["seq"]), row["median_ms"]) for run in self.web_runs for row in run)
        return [Comparison(f"WebAssembly {ours.removeprefix('pel-')}, {batch} x {seq}", "ms", ms[ours, batch, seq], peer,
                           ms[peer, batch, seq], web.TARGET)
                for peer, builds in web.PEERS.items() for ours in builds for batch, seq in web.SHAPES
                if (peer, batch, seq) in ms and (ours, batch, seq) in ms]

    def all_checks(self):
        checks = self.checks + self.ranker_checks() + (self.names.checks() if self.names else [])
        if "hnswlib" in self.facts:
            facts = self.facts["hnswlib"]
            self.notes.append(f"hnswlib: ef {facts['ef']}, recall@{facts['k']} {facts['recall']:.4f}, {facts['bytes'] / 1e6:.0f} MB")
        if "faiss_cells" in self.facts:
            facts = self.facts["faiss_cells"]
            self.notes.append(f"FAISS's cells: {facts['probes']} of {facts['cells']} read, recall@{facts['k']} {facts['recall']:.4f}, "
                              f"{facts['bytes'] / 1e6:.0f} MB, built in {facts['build_s']:.0f} s")
        self.notes += self.training_notes()
        if not self.pel_runs or "notes" not in self.options.only:
            return checks
        checks.append(Check("cold start of `pel link`, ms", statistics.median(run["cold_start_ms"] for run in self.pel_runs), 300))
        rows = [run["notes"] for run in self.pel_runs if run.get("notes")]
        if rows:
            row = sorted(rows, key=lambda row: row["link_ms"])[len(rows) // 2]
            checks.append(Check(f"`pel link` over {row['notes']} notes of {row['note_tokens']} tokens, s", row["link_ms"] / 1000))
            checks.append(Check("one pass of the encoder over these tokens, s", row["pass_ms"] / 1000))
            checks.append(Check("`pel link` in such passes", row["passes"], 1.3))
        return checks

    def ranker_checks(self):
        """The greatest score difference from the peer in any round, and the times without a peer."""
        checks = []
        for (precision, batch, seq), ms in pel.rank_ms(self.pel_runs).items() if "ranker" in self.facts else []:
            scores = [row["scores"] for row in pel.rows(self.pel_runs, "rank") if row["precision"] == precision]
            apart = max(rank.apart(one, self.facts["ranker"]["scores"]) for one in scores)
            like = precision == "f32"
            checks.append(Check(f"rank {precision}, scores from those of {rank.PEER}", apart, rank.CLOSE if like else None))
            if not like:
                checks.append(Check(f"rank {precision}, {batch} x {seq}, ms", ms))
        return checks

    def training_notes(self):
        """Pairs per second, and the share of the processor's peak; both engines do the same operations."""
        notes, ours = [], pel.train_ms(self.pel_runs)
        shares = pel.peak_shares(self.pel_runs)
        for (part, name, *case), times in self.times.items():
            case, theirs = tuple(case), statistics.median(times)
            if part != "train" or case not in ours:
                continue
            said = [f"{who}: {rate}{share}" for who, ms in (("pel", ours[case]), (name, theirs))
                    for rate in [f"{1000 * train.SHAPE[0] / ms:.1f} {'pairs' if case[0] == 'step' else 'texts'}/s"]
                    for share in [f", {100 * shares[case] * ours[case] / ms:.0f} % of the peak in {case[1]}" if case in shares else ""]]
            notes.append(f"training, {case[0]}, {case[1]}: {'; '.join(said)}")
        return notes

    def raw(self):
        return {
            **self.facts,
            "peers_ms": [{"part": part, "engine": name, "case": case, "rounds": times}
                         for (part, name, *case), times in self.times.items()],
            "index": self.names.raw() if self.names else [], "web": self.web_runs, "pel": self.pel_runs,
        }
