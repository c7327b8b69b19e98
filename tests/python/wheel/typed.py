"""Uses the package as typed code does. mypy checks it; nothing runs it."""

from __future__ import annotations

import numpy
import numpy.typing

from pel_linker import Candidate, Code, Concept, Link, Linker, RecordBatch, evaluate, index


def use(linker: Linker) -> None:
    links: list[Link] = linker.link("text", k=3, asserted=True, xrefs=["ICD10CM"], spans=[(0, 4)])
    several: list[list[Link]] = linker.link(["a", "b"], threshold=0.5)
    batch: RecordBatch = linker.link_arrow(["a"], ids=["1"], sets=False)
    streamed: list[list[Link]] = linker.link(text for text in ("a", "b"))
    vectors: numpy.typing.NDArray[numpy.float32] = linker.encode(["a"])
    concept: Concept = linker.concept("SNOMED:13645005")
    near: list[Candidate] = linker.search("fever", 3)
    start: int = links[0].start
    codes: list[Code] = linker.link("text", codes=["SNOMEDCT", "ICD10CM"])[0].codes
    display: str | None = codes[0].display
    name: str | None = links[0].concept.name if links[0].concept else None
    probability: float | None = several[0][0].probability
    written: str = linker.write("text", "brat")
    measures = evaluate(corpus="corpus")["mentions"]
    index("kb.jsonl", "out", encoder="encoder", hnsw=True)
    print(batch.num_rows, vectors.shape, concept.name, near, start, display, name, probability, written, measures, streamed)
