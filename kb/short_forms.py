"""Clinical short forms with their senses, from abbreviations.tsv, which was written and reviewed by
hand.

A row is one sense of a short form. `concept` is an identifier, or empty: then the concept is the
one that has the sense as a name, or a new one. Rows of the group `Context` are no mentions: `s/p`
says something of a mention; they are for readers of the table and never names of concepts.
"""

import csv
import pathlib
import re

HERE = pathlib.Path(__file__).resolve().parent
CONTEXT = "Context"


def rows(path=HERE / "abbreviations.tsv"):
    with open(path, encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    for at, row in enumerate(found, 2):
        if None in row or None in row.values():
            raise ValueError(f"{path}:{at}: expected 5 columns")
        row["line"] = at
    return found


def apply(pool, known, table):
    """Gives each short form to the concepts of its senses. Returns the reviewed short forms, in
    lower case, with the identifiers of their concepts."""
    by_id = {concept["id"]: concept for concept in pool if not concept["gone"]}
    senses = {}
    for row in table:
        if row["group"] == CONTEXT:
            continue
        short, sense, group = row["short_form"], row["sense"], row["group"]
        if row["concept"]:
            concept = by_id.get(row["concept"])
            if concept is None:
                raise ValueError(f"abbreviations.tsv:{row['line']}: no concept {row['concept']}")
        else:
            concept = known.home([sense], group)
        if concept is None:
            slug = re.sub(r"[^a-z0-9]+", "-", sense.lower()).strip("-")
            if f"PEL:{slug}" in by_id:
                raise ValueError(f"abbreviations.tsv:{row['line']}: expected the group "
                                 f"{by_id[f'PEL:{slug}']['kind']} of {sense!r}, found {group}")
            concept = {"id": f"PEL:{slug}", "names": [sense], "added": [], "kind": group, "gone": False,
                       "types": [], "type_ids": [], "definition": None, "xrefs": [], "sources": ["PEL"]}
            pool.append(concept)
            by_id[concept["id"]] = concept
            known.add(concept)
        concept["chosen"] = True
        concept["kind"] = concept["kind"] or group
        if "PEL" not in concept["sources"]:
            concept["sources"].append("PEL")
        concept.setdefault("short_forms", []).append(short)
        if sense.lower() not in {name.lower() for name in concept["names"]}:
            concept.setdefault("added", []).insert(0, sense)
        senses.setdefault(short.lower(), set()).add(concept["id"])
    return senses
