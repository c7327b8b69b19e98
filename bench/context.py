#!/usr/bin/env python3
"""Measures what `pel link` says of the context of marked mentions: negated, uncertain, hypothetical, historical, ...

    bench/context.py PEL BUNDLE [FILE ...] [--context-rules RULES] [--errors] [--json FILE]

Each line of a file is a short text with marked mentions, `Denies [fever|negated]`; bench/context/README.md describes the
format. Without FILE, all of bench/context/*.txt. All texts are linked in one run, each as a note of its own. An entry is
right if each of its marked mentions has the status that it is marked with. Needs Python 3.9 and no packages.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
NEGATED = "negated"
HYPOTHETICAL = "hypothetical"
CERTAINTIES = ("uncertain", HYPOTHETICAL)
TIMES = ("historical", "future")
PERSONS = ("family", "other")
ALLERGIES = ("allergen", "reaction")
UNASSERTED = "unasserted"
STATUSES = (NEGATED, *CERTAINTIES, *TIMES, *PERSONS, *ALLERGIES)
KIND = re.compile(r"#\s*kind:\s*(.*)")
MARKED = re.compile(r"\[([^\[\]|]*)\|([^\[\]|]*)\]")


def parse_entry(line, where):
    """(text, [(start, end, labels)]) of a line; offsets in code points."""
    text, mentions, at = "", [], 0
    plain = lambda part: part.replace("\\n", "\n").replace("⟦", "[").replace("⟧", "]")
    for found in MARKED.finditer(line):
        text += plain(line[at : found.start()])
        labels = {label for label in re.split(r"[\s,;+]+", found[2]) if label not in ("", "stated")}
        unknown = labels - {UNASSERTED, *STATUSES}
        if unknown or UNASSERTED in labels and len(labels) > 1:
            known = ", ".join(STATUSES)
            sys.exit(f"context.py: expected labels of {known}, or {UNASSERTED} alone, found \"{found[2]}\" ({where})")
        mention = plain(found[1])
        mentions.append((len(text), len(text) + len(mention), labels))
        text += mention
        at = found.end()
    text += plain(line[at:])
    if not mentions:
        sys.exit(f"context.py: expected a marked mention, found \"{line}\" ({where})")
    return text, mentions


def read_entries(path):
    """[(kind, line, text, mentions)] of a file."""
    entries, kind = [], path.stem
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        named = KIND.match(line)
        if named:
            kind = named[1].strip()
        elif line.strip() and not line.startswith("#"):
            line = line.strip()
            entries.append((kind, line, *parse_entry(line, f"{path}:{number}")))
    return entries


def link(pel, bundle, texts, more):
    """The linked mentions of each text."""
    with tempfile.TemporaryDirectory() as folder:
        notes = pathlib.Path(folder, "notes.jsonl")
        rows = (json.dumps({"id": str(at), "text": text}) + "\n" for at, text in enumerate(texts))
        notes.write_text("".join(rows), encoding="utf-8")
        command = [pel, "link", "--bundle", bundle, notes, "--text-column", "text", "--id-column", "id", "--format", "jsonl"]
        command += ["-k", "1", *more]
        done = subprocess.run(list(map(str, command)), capture_output=True, encoding="utf-8")
    if done.returncode:
        sys.exit(f"context.py: {' '.join(map(str, command))}: exit code {done.returncode}: {done.stderr.strip()}")
    mentions = [[] for _ in texts]
    for line in done.stdout.splitlines():
        mention = json.loads(line)
        mentions[int(mention["doc"].rsplit("/")[-1])].append(mention)
    return mentions


def status(mention):
    """The labels that a linked mention has."""
    values = {mention.get(field) for field in ("certainty", "temporality", "experiencer", "allergy")}
    return values & set(STATUSES) | ({NEGATED} if mention["negated"] else set())


def overlapping(start, end, linked):
    """The linked mention that shares most characters with a span; None if none does."""
    shared = lambda other: min(end, other["end_code_point"]) - max(start, other["start_code_point"])
    best = max(linked, key=shared, default=None)
    return best if best and shared(best) > 0 else None


def is_right(labels, found):
    """Whether a linked mention has the labels. The certainty, time and allergy of a denied mention, and the time of a
    hypothetical one and of another person's, count if they are labelled."""
    if labels == {UNASSERTED}:
        return found is None or bool(status(found))
    if found is None:
        return False
    ignored = set()
    if NEGATED in labels:
        ignored |= {*CERTAINTIES, *TIMES, *ALLERGIES}
    if labels & {*PERSONS, HYPOTHETICAL}:
        ignored |= set(TIMES)
    return status(found) - (ignored - labels) == labels


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pel", type=pathlib.Path, help="the program")
    parser.add_argument("bundle", type=pathlib.Path)
    parser.add_argument("files", type=pathlib.Path, nargs="*", metavar="FILE", help="default: bench/context/*.txt")
    parser.add_argument("--context-rules", metavar="RULES", help="as for pel link")
    parser.add_argument("--errors", action="store_true", help="also print the entries that are wrong")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="also write the figures to a file")
    options = parser.parse_args()
    if not options.pel.is_file():
        parser.error(f"expected the program pel, found no file {options.pel}")
    files = options.files or sorted((HERE / "context").glob("*.txt"))
    entries = [entry for path in files for entry in read_entries(path)]
    if not entries:
        parser.error("expected entries, found none in the files")
    more = ["--context-rules", options.context_rules] if options.context_rules else []
    linked = link(options.pel.resolve(), options.bundle, [text for _, _, text, _ in entries], more)
    kinds, wrong = {}, []
    for (kind, line, text, mentions), of_text in zip(entries, linked):
        found = [(labels, text[start:end], overlapping(start, end, of_text)) for start, end, labels in mentions]
        errors = [(name, labels, other) for labels, name, other in found if not is_right(labels, other)]
        counts = kinds.setdefault(kind, [0] * 5)
        missed = sum(other is None for _, _, other in errors)
        for at, more in enumerate((not errors, 1, len(found) - len(errors), len(found), missed)):
            counts[at] += more
        if errors:
            wrong.append((kind, line, errors))
    total = [sum(column) for column in zip(*kinds.values())]
    print("| kind | entries | right | % | mentions | right | % | not found |\n| --- | --- | --- | --- | --- | --- | --- | --- |")
    for kind, (right, of, mentions_right, mentions, missed) in [*kinds.items(), ("all", total)]:
        shares = 100 * right / of, 100 * mentions_right / mentions
        print(f"| {kind} | {of} | {right} | {shares[0]:.1f} | {mentions} | {mentions_right} | {shares[1]:.1f} | {missed} |")
    words = lambda labels: ", ".join(label for label in (UNASSERTED, *STATUSES) if label in labels) or "stated"
    for kind, line, errors in wrong if options.errors else ():
        print(f"\n{kind}: {line}")
        for name, labels, other in errors:
            has = f"\"{other['text']}\" {words(status(other))}" if other else "no mention"
            print(f"    \"{name}\": expected {words(labels)}, found {has}")
    if options.json:
        names = ("right", "of", "mentions_right", "mentions", "mentions_not_found")
        record = {kind: dict(zip(names, counts)) for kind, counts in kinds.items()}
        options.json.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
