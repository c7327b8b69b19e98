#!/usr/bin/env python3
"""Makes a corpus of misspelt names of a knowledge base, for `pel evaluate`.

    make_corpus.py --kb kb/default.jsonl.xz --out corpus [--number 200] [--seed 0] [--collected collected.tsv]

The split `generated` has names with an error of typing or of hearing: two letters swapped, one left out, doubled or hit beside its
key, or letters that sound alike ("ph" and "f"). Long names get a second error in one case of four. The split `collected` has the
misspellings of the table, which were collected by hand. All concepts that bear the right name count as right. A misspelling that is
itself a name of the knowledge base is not used. The same table and seed give the same bytes.
"""

import argparse
import json
import lzma
import pathlib
import random
import re
import sys

KEYS = ["qwertyuiop", "asdfghjkl", "zxcvbnm"]
SOUNDS = [("ph", "f"), ("y", "i"), ("i", "y"), ("ae", "e"), ("oe", "e"), ("c", "k"), ("k", "c"), ("s", "c"), ("c", "s"), ("z", "s"),
          ("ei", "ie"), ("ie", "ei"), ("tion", "sion"), ("rh", "r"), ("th", "t"), ("mm", "m"), ("ll", "l"), ("rr", "r"), ("nn", "n"),
          ("ea", "ia"), ("ou", "o"), ("x", "cs"), ("qu", "k"), ("a", "e"), ("e", "a"), ("us", "is"), ("us", "es")]
SHORTEST, LONGEST, SECOND_ERROR_FROM = 6, 40, 12


def beside(letter, chance):
    """A key beside that of a letter."""
    row = next((row for row in KEYS if letter in row), None)
    if row is None:
        return letter
    at = row.index(letter)
    return chance.choice([row[other] for other in (at - 1, at + 1) if 0 <= other < len(row)])


def misspelt(name, chance):
    """The name with an error in one of its longer words; unchanged if the error does not fit."""
    words = [match for match in re.finditer(r"[A-Za-z]+", name) if len(match.group()) >= 5]
    if not words:
        return name
    word = chance.choice(words)
    text, start = word.group(), word.start()
    # The first letter is nearly always right.
    at = chance.randrange(1, len(text) - 1)
    kind = chance.choice(["swap", "omit", "double", "beside", "sound", "sound"])
    if kind == "swap":
        wrong = text[:at] + text[at + 1] + text[at] + text[at + 2:]
    elif kind == "omit":
        wrong = text[:at] + text[at + 1:]
    elif kind == "double":
        wrong = text[:at] + text[at] + text[at:]
    elif kind == "beside":
        wrong = text[:at] + beside(text[at].lower(), chance) + text[at + 1:]
    else:
        fitting = [(old, new) for old, new in SOUNDS if old in text[1:]]
        if not fitting:
            return name
        old, new = chance.choice(fitting)
        where = text.index(old, 1)
        wrong = text[:where] + new + text[where + len(old):]
    return name[:start] + wrong + name[start + len(text):]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kb", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--number", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--collected", type=pathlib.Path, default=pathlib.Path(__file__).with_name("collected.tsv"))
    args = parser.parse_args()
    if args.out.exists():
        sys.exit(f"{args.out}: expected no such folder, found it; nothing is overwritten")

    concepts, spelling = {}, {}
    with (lzma.open if args.kb.suffix == ".xz" else open)(args.kb, "rt", encoding="utf-8") as table:
        for line in table:
            concept = json.loads(line)
            for name in [concept["name"], *concept.get("synonyms", [])]:
                concepts.setdefault(name.lower(), set()).add(concept["id"])
                spelling.setdefault(name.lower(), name)
    plain = [name for name in concepts if SHORTEST <= len(name) <= LONGEST and re.fullmatch(r"[a-z][a-z '-]+", name)]
    chance = random.Random(args.seed)
    pairs = {"generated": [], "collected": []}
    seen = set()
    while len(pairs["generated"]) < args.number:
        name = chance.choice(plain)
        wrong = misspelt(name, chance)
        if len(name) >= SECOND_ERROR_FROM and chance.random() < 0.25:
            wrong = misspelt(wrong, chance)
        if wrong.lower() not in concepts and name not in seen:
            seen.add(name)
            pairs["generated"].append((wrong, name))
    rows = args.collected.read_text(encoding="utf-8").splitlines()[1:]
    pairs["collected"] = [tuple(row.split("\t")) for row in rows]

    args.out.mkdir(parents=True)
    with open(args.out / "documents.jsonl", "w", encoding="utf-8") as documents:
        for split, those in pairs.items():
            with open(args.out / f"mentions.{split}.jsonl", "w", encoding="utf-8") as mentions:
                for number, (wrong, name) in enumerate(those):
                    document = f"{split}-{number}"
                    before = "The note says "
                    ids = sorted(concepts.get(name.lower(), []))
                    if not ids:
                        sys.exit(f"{args.collected}: expected names of {args.kb}, found {name!r}")
                    print(json.dumps({"doc_id": document, "text": f"{before}{wrong}.", "split": split}), file=documents)
                    print(json.dumps({"doc_id": document, "start": len(before), "end": len(before) + len(wrong), "text": wrong,
                                      "id": ids[0], "other_ids": ids[1:]}), file=mentions)


if __name__ == "__main__":
    main()
