#!/usr/bin/env python3
"""Links notes in a spaCy pipeline, prints what was found, and keeps the documents in a DocBin.

    pipeline.py                                   the example notes beside this folder
    pipeline.py --notes 5 --out linked.spacy      five of them, and the documents in a file
    pipeline.py ward/*.txt --processes 2          your notes, in two processes

It needs `pip install pel-linker spacy`. --bundle names another bundle than the default one.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import spacy
from pel_linker import Error
from spacy.tokens import Doc, DocBin

NOTES = Path(__file__).resolve().parent.parent


def pipeline(bundle: str | None, threads: int | None) -> spacy.Language:
    """A pipeline of English tokens and PEL. Any other components can stand before and after it."""
    nlp = spacy.blank("en")
    # Codes of ICD-10-CM and SNOMED CT alone, and three candidates.
    nlp.add_pipe("pel", config={"bundle": bundle, "threads": threads, "k": 3, "codes": ["ICD10CM", "SNOMEDCT"]})
    return nlp


def problems(doc: Doc) -> list[str]:
    """A line for each problem that the note states of the patient now."""
    lines = []
    for ent in doc.ents:
        context = ent._.pel_context
        stated = (
            not context["negated"]
            and context["certainty"] == "certain"
            and context["temporality"] == "current"
            and context["experiencer"] == "patient"
        )
        if ent.label_ == "PROBLEM" and ent.kb_id_ != "NIL" and stated:
            concept = ent._.pel_concept
            codes = ", ".join(f"{code['system']}:{code['code']}" for code in ent._.pel_codes[:2])
            lines.append(f"{ent.text:28.28} {ent.kb_id_:16} {concept['name']:32.32} {codes}")
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, help="notes in UTF-8 [the example notes]")
    parser.add_argument("--notes", type=int, help="no more notes than this")
    parser.add_argument("--bundle", help="bundle [the default one]")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--out", type=Path, help="file for the documents")
    chosen = parser.parse_args(arguments)
    for name in ("notes", "processes"):
        value = getattr(chosen, name)
        if value is not None and value < 1:
            parser.error(f"expected --{name} of 1 or more, found {value}")
    if chosen.out is not None:
        chosen.out.parent.mkdir(parents=True, exist_ok=True)

    files = (chosen.files or sorted(NOTES.glob("*.txt")))[: chosen.notes]
    nlp = pipeline(chosen.bundle, None if chosen.processes == 1 else 1)
    # Names and texts go through the pipeline together.
    notes = ((file.read_text("utf-8"), file.name) for file in files)
    docs = []
    for doc, name in nlp.pipe(notes, as_tuples=True, n_process=chosen.processes, batch_size=64):
        print(f"{name}: {len(doc.spans['pel'])} mentions")
        for line in problems(doc):
            print(f"  {line}")
        docs.append(doc)

    # The concepts, the context and the candidates are user data of a document.
    packed = DocBin(docs=docs, store_user_data=True)
    if chosen.out is not None:
        packed.to_disk(chosen.out)
    for doc, read in zip(docs, packed.get_docs(nlp.vocab), strict=True):
        if [ent._.pel_concept for ent in read.ents] != [ent._.pel_concept for ent in doc.ents]:
            print("error: a document was read otherwise than it was written", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (Error, OSError, UnicodeDecodeError) as error:
        sys.exit(f"{type(error).__name__}: {error}")
