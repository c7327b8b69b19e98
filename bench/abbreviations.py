#!/usr/bin/env python3
"""Measures which definitions of short forms pel finds in annotated corpora.

    cargo build -p pel-text --example short_forms
    bench/abbreviations.py --program target/debug/examples/short_forms Ab3P_bioc_gold.xml.xz bioadi_bioc_gold.xml.xz
    bench/abbreviations.py --program target/debug/examples/short_forms --list notes.jsonl.xz

A corpus is a BioC file, plain or .xz, whose relations connect a LongForm with a ShortForm. A definition is correct if the same
pair of texts is annotated in the same document, ignoring blanks and case. `--list` prints the definitions in unannotated texts
(JSON lines with a field `text`).

The line "brackets" has only definitions in brackets, as the corpora annotate them. In the line "all", definitions without brackets
count as wrong.
"""

import argparse
import json
import lzma
import pathlib
import random
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

RESAMPLES, SEED = 1000, 1


def opened(path):
    return lzma.open(path, "rb") if path.suffix == ".xz" else open(path, "rb")


def documents(path):
    """The id, the text, and the annotated pairs of short and long form of each document."""
    with opened(path) as file:
        for document in ElementTree.parse(file).iter("document"):
            texts, pairs = [], set()
            for passage in document.iter("passage"):
                texts.append(passage.findtext("text") or "")
                forms = {note.get("id"): note.findtext("text") or "" for note in passage.iter("annotation")}
                for relation in passage.iter("relation"):
                    roles = {node.get("role"): forms.get(node.get("refid"), "") for node in relation.iter("node")}
                    if "ShortForm" in roles and "LongForm" in roles:
                        pairs.add((normal(roles["ShortForm"]), normal(roles["LongForm"])))
            yield document.findtext("id"), "\n\n".join(texts), pairs


def normal(form):
    return " ".join(form.lower().split())


def definitions(program, texts):
    """The definitions that pel finds in each text."""
    lines = "".join(json.dumps({"id": at, "text": text}) + "\n" for at, text in enumerate(texts))
    done = subprocess.run([program], input=lines.encode(), stdout=subprocess.PIPE, check=True)
    return [json.loads(line)["definitions"] for line in done.stdout.decode().splitlines()]


def share(counts):
    """Precision, recall and F1 from (right, found, annotated)."""
    right, found, annotated = counts
    precision, recall = right / found if found else 0.0, right / annotated if annotated else 0.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return precision, recall, f1


def interval(each, which):
    """The percentile bootstrap interval over documents, 95 %."""
    draw, values = random.Random(SEED), []
    for _ in range(RESAMPLES):
        drawn = draw.choices(each, k=len(each))
        values.append(share([sum(column) for column in zip(*drawn)])[which])
    values.sort()
    return values[RESAMPLES // 40], values[-RESAMPLES // 40]


def measure(program, path, errors):
    ids, texts, golds = zip(*documents(path))
    found = definitions(program, texts)
    print(f"{path.name}: {len(texts)} documents, {sum(map(len, golds))} annotated definitions")
    for name, takes in (("brackets", lambda one: one["bracketed"]), ("all", lambda one: True)):
        sets = [{(normal(one["short"]), normal(one["long"])) for one in some if takes(one)} for some in found]
        each = [(len(gold & own), len(own), len(gold)) for gold, own in zip(golds, sets)]
        figures = share([sum(column) for column in zip(*each)])
        shown = [f"{label} {100 * value:.1f} [{100 * low:.1f}..{100 * high:.1f}]" for which, (label, value) in
                enumerate(zip(("precision", "recall", "F1"), figures)) for low, high in [interval(each, which)]]
        print(f"  {name:9}{', '.join(shown)}")
    if errors:
        for id, gold, own in zip(ids, golds, sets):
            for kind, pairs in (("missed", gold - own), ("wrong", own - gold)):
                for short, long in sorted(pairs):
                    print(f"  {id}\t{kind}\t{short}\t{long}")


def listed(program, path):
    with opened(path) as file:
        texts = [json.loads(line)["text"] for line in file]
    for at, found in enumerate(definitions(program, texts)):
        for one in found:
            print("\t".join([str(at), "brackets" if one["bracketed"] else "bare", one["short"], normal(one["long"])]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, help="the built example `short_forms` of pel-text")
    parser.add_argument("--errors", action="store_true", help="print missed and wrong definitions")
    parser.add_argument("--list", action="store_true", help="print the definitions in unannotated texts")
    parser.add_argument("files", nargs="+", type=pathlib.Path, help="BioC corpora, or JSON lines with --list")
    options = parser.parse_args()
    for path in options.files:
        if not path.is_file():
            sys.exit(f"{path}: expected a file, found none")
        listed(options.program, path) if options.list else measure(options.program, path, options.errors)


if __name__ == "__main__":
    main()
