#!/usr/bin/env python3
"""Chooses the 10,000 lines of goldens/lines.txt.xz from a JSONL file of abstracts. Needs only Python 3.9 or later.

    lines.py DOCUMENTS.jsonl.xz      DOCUMENTS: {"doc_id", "text", "casing"} per line, MedMentions' abstracts (CC0)

Cuts cased documents at sentence ends and keeps distinct pieces of 30 to 160 characters. Lines with characters beyond ASCII come
first, because errors are most likely in them; then others, spread over the corpus.
"""

import argparse
import hashlib
import json
import lzma
import pathlib
import re

COUNT, SHORTEST, LONGEST = 10_000, 30, 160
END = re.compile(r"(?<=[.!?:;])\s+(?=[^\s])")


def pieces(text):
    for sentence in END.split(text):
        sentence = " ".join(sentence.split())
        if len(sentence) > LONGEST:
            # A long sentence is cut at a space.
            sentence = sentence[:LONGEST].rsplit(" ", 1)[0]
        if len(sentence) >= SHORTEST:
            yield sentence


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("documents", type=pathlib.Path)
    options = parser.parse_args()
    found = {}
    with lzma.open(options.documents, "rt", encoding="utf-8") as file:
        for line in file:
            document = json.loads(line)
            if document["casing"] == "original":
                for piece in pieces(document["text"]):
                    found.setdefault(piece, len(found))
    # The hash of the line spreads the choice evenly over documents, equally on every machine.
    spread = sorted(found, key=lambda piece: hashlib.sha256(piece.encode()).digest())
    chosen = [piece for piece in spread if not piece.isascii()][: COUNT // 3]
    chosen += [piece for piece in spread if piece.isascii()][: COUNT - len(chosen)]
    chosen.sort(key=found.get)
    text = "".join(piece + "\n" for piece in chosen).encode()
    out = pathlib.Path(__file__).resolve().parents[1] / "goldens" / "lines.txt.xz"
    out.write_bytes(lzma.compress(text, preset=9 | lzma.PRESET_EXTREME))
    odd = sum(not piece.isascii() for piece in chosen)
    print(f"{len(chosen)} of {len(found)} lines, {odd} with characters beyond ASCII: {len(text)} bytes, {out.stat().st_size} packed")


if __name__ == "__main__":
    main()
