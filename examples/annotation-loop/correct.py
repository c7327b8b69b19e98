#!/usr/bin/env python3
"""Applies corrections to annotations, as a person does in BRAT.

Usage: correct.py CORRECTIONS TEXTS ANNOTATIONS

CORRECTIONS is a table with tabs: note, text, nth (its occurrence in the note), concept and attributes. `concept` is an
identifier, several with `|`, NIL, `remove`, or empty to keep it. `attributes` are names with values (Certainty=uncertain),
with blanks between, or `none`; empty keeps them. A mention that is not annotated is added, in place of those that overlap it.
"""
import csv
import pathlib
import re
import sys


def read(path):
    """The mentions of a file of annotations: places and label, concepts and attributes, by name (T1 ...)."""
    mentions = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        name, _, rest = line.partition("\t")
        if name[0] == "T":
            label, places = rest.split("\t")[0].split(" ", 1)
            mentions[name] = {"label": label, "places": places, "text": rest.split("\t")[1], "ids": [], "attributes": []}
        elif name[0] == "N":
            _, mention, reference = rest.split("\t")[0].split(" ")
            mentions[mention]["ids"].append(reference.removeprefix("KB:"))
        elif name[0] == "A":
            attribute, mention, *value = rest.split(" ")
            mentions[mention]["attributes"].append(" ".join([attribute, *value]))
    return list(mentions.values())


def extent(mention):
    numbers = [int(number) for number in re.findall(r"\d+", mention["places"])]
    return numbers[0], numbers[-1]


def place(text, wanted, nth):
    found = [match.start() for match in re.finditer(r"(?<!\w)" + re.escape(wanted) + r"(?!\w)", text)]
    if len(found) < nth:
        sys.exit(f"expected {nth} x {wanted!r}, found {len(found)}")
    return found[nth - 1], found[nth - 1] + len(wanted)


def correct(text, mentions, row):
    start, end = place(text, row["text"], int(row["nth"]))
    own = next((mention for mention in mentions if extent(mention) == (start, end)), None)
    if row["concept"] == "remove":
        return [mention for mention in mentions if mention is not own]
    if own is None:
        mentions = [mention for mention in mentions if extent(mention)[1] <= start or extent(mention)[0] >= end]
        own = {"label": "Concept", "places": f"{start} {end}", "text": text[start:end], "ids": [], "attributes": []}
        mentions.append(own)
    if row["concept"]:
        own["ids"] = [] if row["concept"] == "NIL" else row["concept"].split("|")
        own["label"] = "NIL" if row["concept"] == "NIL" else own["label"].replace("NIL", "Concept")
    if row["attributes"]:
        own["attributes"] = [one.replace("=", " ", 1) for one in row["attributes"].split() if one != "none"]
    return mentions


def written(mentions):
    lines, norms, attributes = [], 0, 0
    for number, mention in enumerate(sorted(mentions, key=extent), 1):
        lines.append(f"T{number}\t{mention['label']} {mention['places']}\t{mention['text']}")
        for one in mention["attributes"]:
            attributes += 1
            name, _, value = one.partition(" ")
            lines.append(f"A{attributes}\t{name} T{number}" + (f" {value}" if value else ""))
        for concept in mention["ids"]:
            norms += 1
            lines.append(f"N{norms}\tReference T{number} KB:{concept}\t{mention['text']}")
    return "".join(line + "\n" for line in lines)


def main():
    table, texts, annotations = map(pathlib.Path, sys.argv[1:])
    with open(table, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    for note in sorted({row["note"] for row in rows}):
        text = (texts / f"{note}.txt").read_text(encoding="utf-8")
        path = annotations / f"{note}.ann"
        mentions = read(path)
        for row in rows:
            if row["note"] == note:
                mentions = correct(text, mentions, row)
        path.write_text(written(mentions), encoding="utf-8")
    print(f"{len(rows)} corrections in {len({row['note'] for row in rows})} notes", file=sys.stderr)


if __name__ == "__main__":
    main()
