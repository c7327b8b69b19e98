#!/usr/bin/env python3
"""Measures precision and recall of the mentions that `pel link` detects, over all and over unknown terms.

    bench/unknown_terms.py NOTES.jsonl --pel target/release/pel --bundle bundle/default [--show 40] [PEL-LINK-OPTION...]

NOTES.jsonl has one note per line: {"text": ..., "mentions": [{"start": 3, "end": 9}, ...]}, in code points. A mention is strictly
correct if an annotated mention has the same offsets, and correct by overlap if it shares a character with one. For notes without
"mentions" the script only counts mentions per thousand words; --show lists them.
"""
import argparse
import collections
import json
import pathlib
import subprocess
import sys
import tempfile


def read(path):
    notes = []
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                note = json.loads(line)
                mentions = note.get("mentions")
                gold = None if mentions is None else {(mention["start"], mention["end"]) for mention in mentions}
                notes.append((note["text"], gold))
            except (ValueError, KeyError, TypeError) as error:
                sys.exit(f"{path}:{number}: expected a JSON object with text and mentions, found {error!r}")
    if not notes:
        sys.exit(f"{path}: expected one note per line, found none")
    return notes


def link(pel, bundle, texts, options):
    """The mentions that `pel link` detects in each text."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "notes").mkdir()
        for at, text in enumerate(texts):
            (folder / "notes" / f"{at:06}.txt").write_text(text, encoding="utf-8", newline="")
        command = [pel, "link", "--bundle", bundle, folder / "notes", "--format", "jsonl", "--out", f"{folder / 'links'}/", *options]
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            sys.exit(f"pel link failed with exit code {done.returncode}:\n{done.stderr}")
        for at in range(len(texts)):
            links = folder / "links" / f"{at:06}.jsonl"
            rows = links.read_text(encoding="utf-8").splitlines() if links.exists() else []
            yield [json.loads(row) for row in rows]


def share(part, whole):
    return f"{100 * part / whole:5.1f} ({part}/{whole})" if whole else "  n/a (0/0)"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("notes")
    parser.add_argument("--pel", default="pel", help="the binary [default: pel]")
    parser.add_argument("--bundle", required=True)
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print the N most frequent wrong unknown terms (without annotations: of all)")
    args, options = parser.parse_known_args()
    notes = read(args.notes)
    counts, texts, words, gold_count, gold_strict, gold_overlap = collections.defaultdict(collections.Counter), collections.Counter(), 0, 0, 0, 0
    annotated = all(gold is not None for _, gold in notes)
    for (text, gold), found in zip(notes, link(args.pel, args.bundle, [text for text, _ in notes], options)):
        words += len(text.split())
        spans = [(row["start_code_point"], row["end_code_point"], row) for row in found]
        for start, end, row in spans:
            overlaps = any(start < other_end and other_start < end for other_start, other_end in gold or ())
            for kind in ("all", row["origin"]):
                counts[kind]["found"] += 1
                counts[kind]["linked"] += row["decision"] == "linked"
                counts[kind]["strict"] += (start, end) in (gold or ())
                counts[kind]["overlap"] += overlaps
            if row["origin"] == "unknown_term" and not overlaps:
                texts[row["text"].lower()] += 1
        gold_count += len(gold or ())
        gold_strict += sum(any(mention == (start, end) for start, end, _ in spans) for mention in gold or ())
        gold_overlap += sum(any(start < other[1] and other[0] < end for start, end, _ in spans) for other in gold or ())
    print(f"{len(notes)} notes, {words} words" + (f", {gold_count} annotated mentions" if annotated else ""))
    for kind in ("all", "name", "unknown_term"):
        of = counts[kind]
        line = f"{kind:13} {of['found']:6} found, {1000 * of['found'] / max(words, 1):6.2f} in 1,000 words, {of['linked']} linked"
        if annotated:
            line += f", precision strict {share(of['strict'], of['found'])}, by overlap {share(of['overlap'], of['found'])}"
        print(line)
    if annotated:
        print(f"recall        strict {share(gold_strict, gold_count)}, by overlap {share(gold_overlap, gold_count)}")
    if args.show:
        print("unknown terms" + (" that are wrong: " if annotated else ": ") + ", ".join(f"{text} {count}" for text, count in texts.most_common(args.show)))


main()
