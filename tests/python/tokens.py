#!/usr/bin/env python3
"""Writes token ids of the pure-Python BertTokenizer, as goldens.

Needs requirements-tokens.txt: transformers 4.57.3, whose `BertTokenizer` (BasicTokenizer and WordpieceTokenizer) is written in
Python. In version 5 that class uses the Rust crate under test.

    tokens.py --minilm FOLDER     ids of sentences.json -> goldens/ids.json
                                  hashes of goldens/lines.txt.xz -> goldens/lines.{tiny,tiny-cased,minilm}.hashes
    tokens.py ... --compare       also counts the lines that the fast tokenizer splits differently

A `.hashes` file has eight bytes per line of lines.txt, in order: the first eight bytes of the BLAKE3 hash of the ids. The ids are
little-endian u32, with special tokens ([CLS] ... [SEP]), untruncated.
"""

import argparse
import json
import lzma
import pathlib
import struct

import blake3
import transformers
from transformers.models.bert.tokenization_bert import BasicTokenizer, BertTokenizer

HERE = pathlib.Path(__file__).resolve().parent
GOLDENS, FIXTURES = HERE.parent / "goldens", HERE.parents[1] / "shared" / "tests" / "fixtures"


def slow(folder, cased):
    tokenizer = BertTokenizer(str(folder / "vocab.txt"), do_lower_case=not cased)
    assert not tokenizer.is_fast and isinstance(tokenizer.basic_tokenizer, BasicTokenizer)
    return lambda text: tokenizer.encode(text, add_special_tokens=True, truncation=False)


def fast(folder):
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return lambda text: tokenizer.encode(text).ids


def eight(ids):
    return blake3.blake3(struct.pack(f"<{len(ids)}I", *ids)).digest()[:8]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minilm", type=pathlib.Path, required=True, help="folder with MiniLM's vocab.txt")
    parser.add_argument("--compare", action="store_true", help="count the lines that tokenizer.json splits differently")
    options = parser.parse_args()
    folders = {"tiny": FIXTURES / "tiny", "tiny-cased": FIXTURES / "tiny-cased", "minilm": options.minilm}
    readers = {name: slow(folder, name == "tiny-cased") for name, folder in folders.items()}

    sentences = json.loads((HERE / "sentences.json").read_text(encoding="utf-8"))
    groups = []
    # Lines with combining accents are only for the uncased models. The Python tokenizer composes accents first, the Rust one and
    # the original BERT do not; the difference shows only in cased models.
    wanted = [("tiny", "tiny"), ("tiny-cased", "tiny"), ("minilm", "tiny"), ("minilm", "minilm")]
    for name, of in wanted + [("tiny", "decomposed"), ("minilm", "decomposed")]:
        rows = [{"text": text, "ids": readers[name](text)} for text in sentences[of]]
        groups.append({"model": name, "sentences": of, "rows": rows})
    made_by = f"transformers {transformers.__version__}, BertTokenizer (Python)"
    lines = [json.dumps({"made_by": made_by})[:-1] + ', "groups": [']
    for at, group in enumerate(groups):
        lines.append(f' {{"model": "{group["model"]}", "sentences": "{group["sentences"]}", "rows": [')
        lines.append(",\n".join("  " + json.dumps(row) for row in group["rows"]))
        lines.append(" ]}" + ("," if at + 1 < len(groups) else ""))
    lines.append("]}")
    (GOLDENS / "ids.json").write_text("\n".join(lines) + "\n", encoding="ascii")

    text = lzma.open(GOLDENS / "lines.txt.xz", "rt", encoding="utf-8", newline="\n").read()
    rows = text.removesuffix("\n").split("\n")
    for name, read in readers.items():
        ids = [read(row) for row in rows]
        (GOLDENS / f"lines.{name}.hashes").write_bytes(b"".join(map(eight, ids)))
        unknown = sum(row.count(11 if name != "minilm" else 100) for row in ids)
        print(f"{name}: {len(rows)} lines, {sum(map(len, ids))} ids, {unknown} unknown")
        if options.compare:
            other = fast(folders[name])
            differing = [row for row, mine in zip(rows, ids) if other(row) != mine]
            print(f"  the fast tokenizer differs on {len(differing)} lines", *differing[:5], sep="\n    ")


if __name__ == "__main__":
    main()
