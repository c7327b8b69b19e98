#!/usr/bin/env python3
"""Writes the concepts of a corpus as a small concept table, with every 500th other one.

Usage: concepts.py KB.jsonl.xz CORPUS OUT.jsonl
"""
import json
import lzma
import pathlib
import sys


def main():
    kb, corpus, out = map(pathlib.Path, sys.argv[1:])
    wanted = set()
    for file in corpus.glob("mentions.*.jsonl"):
        for line in file.read_text(encoding="utf-8").splitlines():
            mention = json.loads(line)
            wanted.update([mention["id"], *mention.get("other_ids", [])])
    with lzma.open(kb, "rt", encoding="utf-8") as lines, open(out, "w", encoding="utf-8") as table:
        for number, line in enumerate(lines):
            if json.loads(line)["id"] in wanted or number % 500 == 0:
                table.write(line)


if __name__ == "__main__":
    main()
