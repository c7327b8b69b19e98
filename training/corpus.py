#!/usr/bin/env python3
"""Writes annotated notes as corpus folders for `pel train`, `pel calibrate` and `pel evaluate`.

    training/corpus.py NOTES.jsonl[.xz] OUT

OUT/train has nine tenths of the notes and OUT/held the rest, chosen by a hash of the note's name.
"""

import hashlib
import json
import lzma
import os
import sys


def read(path):
    opened = lzma.open if path.endswith(".xz") else open
    with opened(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def write(folder, split, notes):
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/documents.jsonl", "w", encoding="utf-8") as out:
        for note in notes:
            document = {"doc_id": note["doc_id"], "text": note["text"], "split": split}
            out.write(json.dumps(document, ensure_ascii=False) + "\n")
    with open(f"{folder}/mentions.{split}.jsonl", "w", encoding="utf-8") as out:
        for note in notes:
            for mention in note["mentions"]:
                line = {"doc_id": note["doc_id"]}
                line |= {key: mention[key] for key in ("start", "end", "text", "type")}
                line |= {"id": None, "kb_ids": mention["concept"] or []}
                out.write(json.dumps(line, ensure_ascii=False) + "\n")


def is_held(note):
    return int(hashlib.md5(note["doc_id"].encode()).hexdigest(), 16) % 10 == 0


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    notes, out = read(sys.argv[1]), sys.argv[2]
    write(f"{out}/train", "train", [note for note in notes if not is_held(note)])
    write(f"{out}/held", "dev", [note for note in notes if is_held(note)])


if __name__ == "__main__":
    main()
