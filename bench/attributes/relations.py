#!/usr/bin/env python3
"""Scores the relations between mentions that `pel link` gives on the lines of relations.jsonl.

    relations.py PEL BUNDLE [relations.jsonl] [--errors]

A relation is right if its name is the same and its source and its target each overlap the annotated words. A line says everything that is
related in it, so other relations are wrong. Recall is also given for the relations of which both ends were found as mentions of their own.
"""
import argparse, collections, json, pathlib, subprocess, tempfile


def link(pel, bundle, lines):
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "lines.jsonl")
        source.write_text("".join(json.dumps({"doc_id": f"{i}", "text": line["text"]}) + "\n" for i, line in enumerate(lines)), "utf-8")
        command = [pel, "link", "--bundle", bundle, str(source), "--format", "jsonl"]
        out = subprocess.run(command, check=True, capture_output=True).stdout.decode()
    mentions = collections.defaultdict(list)
    for row in out.splitlines():
        mention = json.loads(row)
        mentions[int(mention["doc"])].append(mention)
    return mentions


def overlaps(a, b):
    return a[0] < b[1] and b[0] < a[1]


def place(thing):
    return thing["start_code_point"], thing["end_code_point"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pel")
    parser.add_argument("bundle")
    parser.add_argument("lines", nargs="?", default=str(pathlib.Path(__file__).parent / "relations.jsonl"))
    parser.add_argument("--errors", action="store_true", help="list what was missed and what was spurious")
    args = parser.parse_args()
    lines = [json.loads(line) for line in open(args.lines, encoding="utf-8")]
    mentions = link(args.pel, args.bundle, lines)
    counts = collections.defaultdict(collections.Counter)
    for i, line in enumerate(lines):
        text = line["text"]
        gold = [(name, *((text.index(words), text.index(words) + len(words)) for words in (source, target))) for source, name, target in line["relations"]]
        found = {(r["name"], place(m), place(r)) for m in mentions[i] for r in m.get("relations", [])}
        used = set()
        for name, source, target in gold:
            of_source = [m for m in mentions[i] if overlaps(place(m), source)]
            of_target = [m for m in mentions[i] if overlaps(place(m), target)]
            apart = any(a is not b for a in of_source for b in of_target)
            hit = next((f for f in sorted(found - used) if f[0] == name and overlaps(f[1], source) and overlaps(f[2], target)), None)
            used.add(hit)
            for c in (counts[name], counts["all"]):
                c.update(annotated=1, apart=int(apart), right=hit is not None)
            if hit is None and args.errors:
                print(f"missed{'' if apart else ' (one mention, or none)'}\t{text[slice(*source)]} | {name} | {text[slice(*target)]}\t{text!r}")
        for f in sorted(found):
            for c in (counts[f[0]], counts["all"]):
                c["found"] += 1
            if f not in used and args.errors:
                print(f"spurious\t{text[slice(*f[1])]} | {f[0]} | {text[slice(*f[2])]}\t{text!r}")
    print("| relation | annotated | both ends found | found | precision | recall | recall where both ends were found |\n|" + " --- |" * 7)
    for name, c in sorted(counts.items(), key=lambda item: (item[0] == "all", item[0])):
        shares = (100 * c["right"] / c[n] if c[n] else 0 for n in ("found", "annotated", "apart"))
        print(f"| {name} | {c['annotated']} | {c['apart']} | {c['found']} | " + " | ".join(f"{s:.1f}" for s in shares) + " |")


if __name__ == "__main__":
    main()
