"""Extracts some semantic types from a corpus and its knowledge base, for the in-domain rows of BLINK's tables 4 and 6.

    python bench/types_corpus.py --corpus data --kb kb.jsonl --types "Finding,Spatial Concept" --out target

The type of a concept is its first type. The output folder has `kb.jsonl`, `mentions.{train,dev,test}.jsonl` with the mentions of
these concepts, and `documents.jsonl` with the documents of these mentions. Input files may be packed (.xz).
"""

import argparse
import json
import lzma
from pathlib import Path


def lines(path: Path):
    """The JSON objects of a file, packed or not."""
    packed = path.with_name(path.name + ".xz")
    path = packed if not path.exists() and packed.exists() else path
    opened = lzma.open(path, "rt", encoding="utf-8") if path.suffix == ".xz" else path.open(encoding="utf-8")
    with opened as file:
        yield from map(json.loads, file)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ["corpus", "kb", "out"]:
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--types", required=True, help="names of types, separated by commas")
    args = parser.parse_args()
    types = set(args.types.split(","))

    concepts = [concept for concept in lines(args.kb) if (concept.get("types") or [None])[0] in types]
    ids = {concept["id"] for concept in concepts}
    args.out.mkdir(parents=True)

    def write(name: str, records) -> int:
        records = list(records)
        with (args.out / name).open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
        return len(records)

    print(write("kb.jsonl", concepts), "concepts")
    documents = set()
    for split in ["train", "dev", "test"]:
        of = [mention for mention in lines(args.corpus / f"mentions.{split}.jsonl") if mention["cui"] in ids]
        documents |= {mention["doc_id"] for mention in of}
        print(write(f"mentions.{split}.jsonl", of), f"mentions of {split}")
    of = (document for document in lines(args.corpus / "documents.jsonl") if document["doc_id"] in documents)
    print(write("documents.jsonl", of), "documents")


if __name__ == "__main__":
    main()
