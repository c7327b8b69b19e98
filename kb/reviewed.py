"""Concepts that are the same thing, from doubles.tsv, and further wordings of concepts, from
wordings.tsv. Both were written and reviewed by hand, from clinical usage.

They are applied to the finished rows, so an identifier in them is one of the table.
"""

import pathlib

import names

HERE = pathlib.Path(__file__).resolve().parent
DOUBLES, WORDINGS = HERE / "doubles.tsv", HERE / "wordings.tsv"
# Pairs that wait for the next table, and the columns of this list.
PAIRS, PAIRS_HEADER = "review/doubles.tsv", ["id", "stays", "note"]


def read(path, header):
    """The rows of a table with this header, each with its line."""
    lines = path.read_text(encoding="utf-8").splitlines()
    if lines[:1] != ["\t".join(header)]:
        raise ValueError(f"{path.name}:1: expected the header {header}, found {lines[:1]}")
    for at, line in enumerate(lines[1:], 2):
        columns = line.split("\t")
        if len(columns) != len(header):
            raise ValueError(f"{path.name}:{at}: expected {len(header)} columns, found {len(columns)}")
        yield at, columns


def doubles(path=DOUBLES):
    """(line, identifier, identifier of the same concept that stays, its usual name or nothing)."""
    return [(at, *columns) for at, columns in read(path, ["id", "same_as", "name"])]


def wordings(path=WORDINGS):
    """(line, identifier, wordings)."""
    header = ["id", "name", "wordings"]
    return [(at, id, found.split("|")) for at, (id, _, found) in read(path, header)]


def apply(table, same, further, counts):
    """The table with the concepts of `same` merged and the names of `further` added. A wording that
    is a name of another concept is left out."""
    rows = {concept["id"]: concept for concept in table}
    for line, id, same_as, name in same:
        for one in (id, same_as):
            if one not in rows:
                raise ValueError(f"{DOUBLES.name}:{line}: expected an identifier of the table, found {one}")
        merge(rows[same_as], rows.pop(id), name)
        counts["reviewed: merged concepts"] += 1
    owners = {}
    for concept in rows.values():
        for name in (concept["name"], *concept["synonyms"]):
            owners.setdefault(name.lower(), set()).add(concept["id"])
    for line, id, found in further:
        if id not in rows:
            raise ValueError(f"{WORDINGS.name}:{line}: expected an identifier of the table, found {id}")
        concept, added = rows[id], False
        for name in found:
            if owners.setdefault(name.lower(), {id}) != {id}:
                counts["reviewed: wordings that are names of another concept"] += 1
            elif name.lower() not in {own.lower() for own in (concept["name"], *concept["synonyms"])}:
                concept["synonyms"].append(name)
                added = True
                counts["reviewed: wordings"] += 1
        if added and "PEL" not in concept["sources"]:
            concept["sources"] = sorted([*concept["sources"], "PEL"])
    return list(rows.values())


def merge(kept, other, usual):
    """Merges a row into one of the same concept. Its name is the usual one, unless that is empty or odd (`names.preferred`)."""
    rows = [(row["name"], row["synonyms"], row["sources"]) for row in (kept, other)]
    unique = {}
    for row in ({"name": names.preferred(rows, usual), "synonyms": []}, kept, other):
        for name in (row["name"], *row["synonyms"]):
            unique.setdefault(name.lower(), name)
    if usual:
        unique.setdefault(usual.lower(), usual)
    kept["name"], *kept["synonyms"] = unique.values()
    for field in ("types", "type_ids"):
        kept[field] = list(dict.fromkeys([*kept[field], *other[field]]))
    xref = ("UMLS:" if other["id"].startswith("C") and ":" not in other["id"] else "") + other["id"]
    kept["xrefs"] = sorted({*kept["xrefs"], *other["xrefs"], xref})
    kept["sources"] = sorted({*kept["sources"], *other["sources"]})
    kept["definition"] = kept["definition"] or other["definition"]
