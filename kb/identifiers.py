"""Identifiers of the concepts of all releases of the table, and where the retired ones went.

    identifiers.py FILE [FILE ...]   writes the identifiers that the table has now in the place of former ones
"""

import argparse
import lzma
import pathlib
import re

HERE = pathlib.Path(__file__).resolve().parent
RELEASED = HERE / "identifiers.txt.xz"
REDIRECTS = HERE / "redirects.tsv"
HEADER = "id\treplaced_by\treason"
# The reason of an identifier that the identifier policy replaced, of the same concept.
RECODED = "recoded"


def read_released(path=RELEASED):
    """The identifiers that a release had, sorted."""
    return lzma.decompress(path.read_bytes()).decode().split()


def write_released(ids, path=RELEASED):
    path.write_bytes(lzma.compress("\n".join([*sorted(ids), ""]).encode(), preset=9 | lzma.PRESET_EXTREME))


def read_redirects(path=REDIRECTS):
    """id -> (replaced_by, reason)."""
    lines = path.read_text(encoding="utf-8").splitlines()
    if lines[:1] != [HEADER]:
        raise ValueError(f"{path}:1: expected the header {HEADER!r}, found {lines[:1]}")
    found = {}
    for at, line in enumerate(lines[1:], 2):
        columns = line.split("\t")
        if len(columns) != 3 or columns[0] in found:
            raise ValueError(f"{path}:{at}: expected 3 columns and a new identifier, found {line!r}")
        found[columns[0]] = (columns[1], columns[2])
    return found


def write_redirects(redirects, path=REDIRECTS):
    lines = [f"{id}\t{to}\t{reason}" for id, (to, reason) in sorted(redirects.items())]
    path.write_text("\n".join([HEADER, *lines, ""]), encoding="utf-8", newline="\n")


def first_ids(redirects):
    """identifier -> the one that its concept had before the identifier policy, which builds of the table give it."""
    return {to: id for id, (to, reason) in redirects.items() if reason == RECODED}


def as_xref(id):
    """An identifier as a cross-reference: those of UMLS have the prefix there."""
    return ("UMLS:" if re.fullmatch(r"C\d{7}", id) else "") + id


def redirects_of(released, table, former_names):
    """id -> (successor, reason) for the released identifiers that the table has no concept of.

    The successor has the identifier among its cross-references (`merged`), or the former concept's
    name (`renamed`). Without one the successor is empty (`retired`).
    """
    ids = {concept["id"] for concept in table}
    by_xref, by_name = {}, {}
    for concept in table:
        for xref in concept["xrefs"]:
            by_xref.setdefault(re.sub(r"^UMLS:(?=C\d{7}$)", "", xref), concept["id"])
    for at in (True, False):
        for concept in table:
            for name in [concept["name"]] if at else concept["synonyms"]:
                by_name.setdefault(name.lower(), concept["id"])
    found = {}
    for id in sorted(set(released) - ids):
        name = former_names.get(id, "").lower()
        if by_xref.get(id):
            found[id] = (by_xref[id], "merged")
        elif by_name.get(name):
            found[id] = (by_name[name], "renamed")
        else:
            found[id] = ("", "retired")
    return found


def faults(released, redirects, table):
    """What is wrong with redirects, one sentence each."""
    ids = {concept["id"] for concept in table}
    for id in sorted(set(released) - ids - set(redirects)):
        yield f"{id} of an earlier release is neither in the table nor redirected"
    for id, (to, reason) in sorted(redirects.items()):
        if id in ids:
            yield f"{id} is redirected but in the table"
        if to and to not in ids:
            yield f"{id} is redirected to {to}, which is not in the table"
        if not reason:
            yield f"{id} is redirected without a reason"


# What stands in texts as an identifier: a CUI alone, or a prefix and what follows it.
IDENTIFIER = re.compile(r"(?<![\w:.-])(?:C\d{7}|[A-Z][A-Za-z]+:[A-Za-z0-9][A-Za-z0-9_.+-]*[A-Za-z0-9])(?![\w:])")


def renamed(text, redirects):
    """A text with the identifiers that redirects lead to, and how many were replaced."""
    count = 0

    def now(found):
        nonlocal count
        to = redirects.get(found.group(0), ("",))[0]
        count += bool(to)
        return to or found.group(0)
    return IDENTIFIER.sub(now, text), count


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=pathlib.Path, nargs="+", metavar="FILE")
    parser.add_argument("--redirects", type=pathlib.Path, default=REDIRECTS, metavar="FILE", help="redirects (default redirects.tsv)")
    options = parser.parse_args()
    redirects = read_redirects(options.redirects)
    for path in options.files:
        text, count = renamed(path.read_text(encoding="utf-8"), redirects)
        path.write_text(text, encoding="utf-8", newline="\n")
        print(f"{path}: {count}")


if __name__ == "__main__":
    main()
