#!/usr/bin/env python3
"""Counts wordings that are linked to the opposite of what they say, or to another number of the same kind.

    bench/opposites.py PEL BUNDLE [PEL BUNDLE ...] --kb kb/default.jsonl.xz [--each 60] [--seed 1] [--show]

Takes preferred names of the table with a word, a prefix or a number that has an opposite ("internal carotid artery stenosis",
"hyperbilirubinemia", "Usher syndrome type 2"), and puts the opposite in its place, where the table has no name for that ("external
carotid artery stenosis"). Each wording stands alone in a short note. It is wrong to link it, or a part of it, to the concept of
the name that it was made from; a broader concept, another one, and NIL are not counted. Needs Python 3.9 and no packages.
"""

import argparse
import collections
import json
import lzma
import pathlib
import random
import re
import subprocess
import sys
import tempfile

WORDS = """acute|chronic anterior|posterior benign|malignant central|peripheral congenital|acquired dominant|recessive internal|external
left|right medial|lateral open|closed proximal|distal superior|inferior systolic|diastolic unilateral|bilateral upper|lower with|without""".split()
PREFIXES = "hyper|hypo tachy|brady intra|extra micro|macro".split()


def swapped(name):
    """(kind, wording) of each opposite of a name, in small letters."""
    for pair in WORDS:
        for here, there in (pair.split("|"), pair.split("|")[::-1]):
            changed = re.sub(rf"\b{here}\b", there, name, count=1)
            if changed != name and not re.search(rf"\b{there}\b", name):
                yield pair, changed
    for pair in PREFIXES:
        for here, there in (pair.split("|"), pair.split("|")[::-1]):
            changed = re.sub(rf"\b{here}(?=[a-z]{{4}})", there, name, count=1)
            if changed != name and not re.search(rf"\b{there}[a-z]", name):
                yield f"{pair.replace('|', '-|')}-", changed
    found = re.findall(r"\b[a-z]{5,}(?:ic|al|ive|ous|oid)\b", name)
    if found and not name.startswith("non"):
        yield "non", name.replace(found[0], f"non{found[0]}", 1)
    if len(re.findall(r"\d+", name)) == 1 and re.search(r"\b\d{1,2}\b", name):
        yield "number", re.sub(r"\d+", lambda number: str(int(number.group()) + 1), name)


def wordings(kb, each, seed):
    """(kind, wording, name, id), at most `each` of a kind."""
    with lzma.open(kb, "rt", encoding="utf-8") if kb.suffix == ".xz" else open(kb, encoding="utf-8") as lines:
        concepts = [json.loads(line) for line in lines]
    plain = lambda text: re.sub(r"[^a-z0-9]+", " ", text.lower()).strip()
    names = {plain(name) for concept in concepts for name in (concept["name"], *concept.get("synonyms", []))}
    of_kind = collections.defaultdict(dict)
    for concept in concepts:
        name = concept["name"].lower()
        if len(name.split()) <= 6:
            for kind, wording in swapped(name):
                if plain(wording) not in names:
                    of_kind[kind].setdefault(wording, (kind, wording, name, concept["id"]))
    draw = random.Random(seed)
    return [row for kind in sorted(of_kind) for row in draw.sample(sorted(of_kind[kind].values()), min(each, len(of_kind[kind])))]


def links(pel, bundle, rows):
    """The identifiers that are linked in the note of each wording."""
    with tempfile.TemporaryDirectory() as folder:
        for at, (_, wording, _, _) in enumerate(rows):
            (pathlib.Path(folder) / f"{at:06}.txt").write_text(f"Assessment: {wording}.\n", encoding="utf-8")
        done = subprocess.run([str(pel), "link", "--bundle", str(bundle), folder, "--format", "jsonl"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"pel link: exit code {done.returncode}: {done.stderr.strip()}")
    found = [set() for _ in rows]
    for line in done.stdout.splitlines():
        link = json.loads(line)
        if link["decision"] == "linked":
            found[int(link["doc"])].add(link["concept"]["id"])
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", type=pathlib.Path, nargs="+", metavar="PEL BUNDLE", help="programs, each with its bundle")
    parser.add_argument("--kb", type=pathlib.Path, required=True, help="the table of the bundle")
    parser.add_argument("--each", type=int, default=60, help="wordings of a kind, at most (default 60)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="also print the wordings that the last program links wrongly")
    options = parser.parse_args()
    if len(options.programs) % 2:
        parser.error("expected a bundle behind each program")
    rows = wordings(options.kb, options.each, options.seed)
    pairs = list(zip(options.programs[::2], options.programs[1::2]))
    found = [links(pel, bundle, rows) for pel, bundle in pairs]
    wrong = [[row[3] in ids for row, ids in zip(rows, of_program)] for of_program in found]
    kinds = collections.Counter(row[0] for row in rows)
    print("| opposite | wordings | " + " | ".join(f"{pel.name}: linked to the opposite" for pel, _ in pairs) + " |")
    print("| --- |" + " --- |" * (1 + len(pairs)))
    for kind in [*sorted(kinds), None]:
        of_kind = [at for at, row in enumerate(rows) if kind in (row[0], None)]
        cells = [f"{sum(of_program[at] for at in of_kind)}" for of_program in wrong]
        shown = (kind or "all").replace("|", ", ")
        print(f"| {shown} | {len(of_kind)} | " + " | ".join(cells) + " |")
    if options.show:
        for (_, wording, name, _), is_wrong in zip(rows, wrong[-1]):
            if is_wrong:
                print(f"{wording}: linked to {name}")


if __name__ == "__main__":
    main()
