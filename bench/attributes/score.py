#!/usr/bin/env python3
"""Scores the attributes that `pel link` gives against annotated notes.

    score.py PEL BUNDLE NOTES.jsonl [--errors] [--json FILE]

The notes are in the form of notes.jsonl. An attribute is right if its mention overlaps the annotated mention, the name is the same, and the
spans overlap (lenient) or are equal (strict); each counts once. Attributes of mentions that were not found are missed. `normal` is the
share of attributes found (lenient) that have the annotated normal form, of those that have one.
"""
import argparse, collections, json, pathlib, subprocess, tempfile

from normal import comparable


def link(pel, bundle, notes):
    """The mentions of each note, by one run of `pel link`."""
    with tempfile.TemporaryDirectory() as folder:
        texts, out = pathlib.Path(folder, "texts"), pathlib.Path(folder, "out")
        texts.mkdir()
        for i, note in enumerate(notes):
            texts.joinpath(f"{i:05}.txt").write_bytes(note["text"].encode())
        command = [pel, "link", "--bundle", bundle, str(texts), "--format", "jsonl", "--out", f"{out}/"]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        files = (out / f"{i:05}.jsonl" for i in range(len(notes)))
        return [[json.loads(line) for line in f.read_text("utf-8").splitlines()] if f.exists() else [] for f in files]


def common(a, b):
    """Characters that two spans share."""
    return min(a[1], b[1]) - max(a[0], b[0])


def gold_items(note):
    return [(k, a["name"], (a["start"], a["end"]), a["normal"]) for k, fact in enumerate(note["facts"]) for a in fact["attributes"]]


def found_items(note, mentions, names):
    """(mentions of the annotation that are meant, name, span, normal form), each once."""
    anchors = [(f["anchor"]["start"], f["anchor"]["end"]) for f in note["facts"]]
    items = {}
    for m in mentions:
        span = (m["start_code_point"], m["end_code_point"])
        of = tuple(k for k, anchor in enumerate(anchors) if common(span, anchor) > 0)
        for a in m.get("attributes", []):
            if a["name"] in names:
                place = (a["start_code_point"], a["end_code_point"])
                items.setdefault((of or span, a["name"], place), (set(of), a["name"], place, a.get("value"), span))
    return list(items.values())


def pairs(gold, found, strict, with_mention=True):
    """Pairs (index of gold, index of found): those that share most characters first, each in one pair."""
    candidates = []
    for i, (k, name, span, _) in enumerate(gold):
        for j, (of, other, place, *_) in enumerate(found):
            if name == other and common(span, place) > 0 and (k in of or not with_mention) and (span == place or not strict):
                candidates.append((span != place, -common(span, place), i, j))
    used_gold, used_found, out = set(), set(), []
    for *_, i, j in sorted(candidates):
        if i not in used_gold and j not in used_found:
            used_gold.add(i), used_found.add(j), out.append((i, j))
    return out


class Counts(collections.Counter):
    def share(self, a, b):
        return 100 * self[a] / self[b] if self[b] else 0.0

    def f1(self, right):
        return 200 * self[right] / (self["gold"] + self["found"]) if self["gold"] + self["found"] else 0.0


def score(notes, linked):
    """Counts of each name and of all ("all"), and the errors as (kind, note, item, found normal form)."""
    names = {a["name"] for note in notes for f in note["facts"] for a in f["attributes"]} | {"comparator", "range"}
    counts, errors = collections.defaultdict(Counts), []
    for note, mentions in zip(notes, linked):
        gold, found = gold_items(note), found_items(note, mentions, names)
        spans = [(m["start_code_point"], m["end_code_point"]) for m in mentions]
        for f in note["facts"]:
            counts["all"]["anchors"] += 1
            counts["all"]["anchors found"] += any(common((f["anchor"]["start"], f["anchor"]["end"]), s) > 0 for s in spans)

        def add(name, what, n=1):
            counts[name][what] += n
            counts["all"][what] += n

        for _, name, *_ in gold:
            add(name, "gold")
        for _, name, *_ in found:
            add(name, "found")
        lenient = pairs(gold, found, False)
        for i, j in lenient:
            name, normal = gold[i][1], gold[i][3]
            add(name, "lenient")
            if normal is not None:
                add(name, "with normal")
                if comparable(name, normal) == comparable(name, found[j][3]):
                    add(name, "normal")
                else:
                    errors.append(("normal", note, gold[i], found[j][3]))
        for i, _ in pairs(gold, found, True):
            add(gold[i][1], "strict")
        # Whatever the mention: an attribute of several mentions counts once
        places = [list({(name, span): (set(), name, span, None) for _, name, span, *_ in items}.values()) for items in (gold, found)]
        for what, n in zip(("places", "places found", "places right"), (*map(len, places), len(pairs(*places, False, with_mention=False)))):
            counts["all"][what] += n
        right = {i for i, _ in lenient}, {j for _, j in lenient}
        for i, item in enumerate(gold):
            if i not in right[0]:
                anchor = note["facts"][item[0]]["anchor"]
                known = any(common((anchor["start"], anchor["end"]), s) > 0 for s in spans)
                errors.append(("missed" if known else "missed with its mention", note, item, anchor["text"]))
        errors += [("spurious", note, item[:4], note["text"][slice(*item[4])]) for j, item in enumerate(found) if j not in right[1]]
    return counts, errors


def table(counts):
    lines = ["| attribute | annotated | found | precision | recall | F1 | F1 strict | normal forms right |", "| --- | --- | --- | --- | --- | --- | --- | --- |"]
    for name, c in sorted(counts.items(), key=lambda item: (item[0] == "all", -item[1]["gold"])):
        figures = [c.share("lenient", "found"), c.share("lenient", "gold"), c.f1("lenient"), c.f1("strict"), c.share("normal", "with normal")]
        lines.append(f"| {name} | {c['gold']} | {c['found']} | " + " | ".join(f"{x:.1f}" for x in figures) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pel")
    parser.add_argument("bundle")
    parser.add_argument("notes")
    parser.add_argument("--errors", action="store_true", help="list what was missed, spurious or of another normal form")
    parser.add_argument("--json", metavar="FILE", help="write the counts")
    args = parser.parse_args()
    notes = [json.loads(line) for line in open(args.notes, encoding="utf-8")]
    counts, errors = score(notes, link(args.pel, args.bundle, notes))
    if args.errors:
        for kind, note, (_, name, (start, end), normal), other in sorted(errors, key=lambda e: (e[0], e[2][1])):
            text = note["text"]
            around = f"{text[max(0, start - 40):start]}⟦{text[start:end]}⟧{text[end:end + 25]}".replace("\n", "⏎")
            print(f"{kind}\t{name}\t{normal}\t{other}\t{note['doc_id']}\t{around}")
    print(table(counts))
    c = counts["all"]
    print(f"\nmentions with attributes that were found: {c.share('anchors found', 'anchors'):.1f} %; "
          f"F1 whatever the mention {200 * c['places right'] / (c['places'] + c['places found']):.1f}")
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(counts, indent=1) + "\n")


if __name__ == "__main__":
    main()
