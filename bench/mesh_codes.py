#!/usr/bin/env python3
"""Counts the annotated mentions of a corpus whose linked concept has the annotated MeSH identifier: among its identifier and
cross-references, and among these and its codes.

    bench/mesh_codes.py --pel PEL --bundle BUNDLE DOCUMENTS MENTIONS    both as JSON lines, plain or .xz

A mention counts as linked if a link has the same offsets.
"""

import argparse
import collections
import json
import lzma
import pathlib
import subprocess
import sys
import tempfile


def rows(path):
    opener = lzma.open if path.suffix == ".xz" else open
    with opener(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def mesh(ids):
    return {id.split(":", 1)[1] for id in ids if id.upper().startswith("MESH:")}


def links_of(options, documents):
    """(document, start, end) -> the linked concept."""
    with tempfile.TemporaryDirectory() as folder:
        notes = pathlib.Path(folder) / "notes.jsonl"
        notes.write_text("".join(json.dumps({"note_id": row["doc_id"], "text": row["text"]}) + "\n" for row in documents), encoding="utf-8")
        out = pathlib.Path(folder) / "links.jsonl"
        subprocess.run([options.pel, "link", "--bundle", options.bundle, notes, "--text-column", "text", "--id-column", "note_id",
                        "--format", "jsonl", "-k", "1", "--out", out], check=True, stdout=subprocess.DEVNULL)
        return {(row["doc"], row["start_code_point"], row["end_code_point"]): row["concept"] for row in rows(out) if row["concept"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pel", default="pel")
    parser.add_argument("--bundle", required=True)
    parser.add_argument("documents", type=pathlib.Path)
    parser.add_argument("mentions", type=pathlib.Path)
    options = parser.parse_args()
    mentions = rows(options.mentions)
    wanted = {mention["doc_id"] for mention in mentions}
    links = links_of(options, [row for row in rows(options.documents) if row["doc_id"] in wanted])
    counts = collections.Counter()
    for mention in mentions:
        kind, gold = mention["type"], mesh(mention["gold_ids"])
        concept = links.get((mention["doc_id"], mention["start"], mention["end"]))
        counts[kind, "mentions"] += 1
        if concept:
            before = mesh([concept["id"], *concept.get("xrefs", [])])
            after = before | {code["code"] for code in concept.get("codes", []) if code["system"] == "MESH"}
            counts[kind, "linked"] += 1
            counts[kind, "cross-references"] += bool(before & gold)
            counts[kind, "with codes"] += bool(after & gold)
    for kind in sorted({kind for kind, _ in counts}):
        own = {what: counts[kind, what] for what in ("mentions", "linked", "cross-references", "with codes")}
        shares = "; ".join(f"{what} {n} ({100 * n / own['linked']:.1f} %)" for what, n in own.items() if what not in ("mentions", "linked"))
        print(f"{kind}: {own['linked']} of {own['mentions']} mentions linked; of these with the annotated MeSH identifier: {shares}")


if __name__ == "__main__":
    sys.exit(main())
