"""Merging of reviewed doubles, and new identifiers, in the table and in all lists beside it that name identifiers."""

import json
import lzma

import identifiers
import readers
import reviewed
from coding import lists

# The lists with identifiers, and their columns of it.
LISTS = {"hand_codes.tsv": 0, "wrong_codes.tsv": 0, "wordings.tsv": 0, "abbreviations.tsv": 3, "doubles.tsv": 1, "hand_xrefs.tsv": 0, "wrong_names.tsv": 0}
CODES = ("id", "system", "code", "match", "source")
EDGES = ("child", "parent", "source")


def packed_rows(header, rows):
    text = "".join("\t".join(row) + "\n" for row in [header, *rows])
    return lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME)


def read_rows(path):
    return [tuple(row.values()) for row in readers.read_tsv(readers.content(path))]


def read_lines(path):
    return [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]


def write_lines(path, rows):
    path.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8", newline="\n")


def taken_over(rows, gone, coded):
    """The rows (id, system, code, match, ...) without those of merged concepts that are no exact ones, and without those of systems of
    which the concept that stays has codes (`coded`), or has them from another concept merged into it."""
    owner = {(id, system): id for id, system in coded}
    return [row for row in rows if row[0] not in gone
            or row[3] == "exact" and owner.setdefault((gone[row[0]], row[1]), row[0]) == row[0]]


class Folder:
    """The table and the lists of a folder such as kb/. Nothing is written before `save`."""

    def __init__(self, path):
        self.path = path
        self.table = readers.read_jsonl(readers.content(path / "default.jsonl.xz"))
        self.redirects = identifiers.read_redirects(path / "redirects.tsv")
        self.released = set(identifiers.read_released(path / "identifiers.txt.xz"))
        self.lists = {name: read_lines(path / name) for name in LISTS}
        self.codes, self.edges = read_rows(path / "codes.tsv.xz"), read_rows(path / "hierarchy.tsv.xz")
        self.changed = False
        self.correct()

    def concepts_of(self, name):
        """(concept, second column) of the rows of a list."""
        rows, owner = {concept["id"]: concept for concept in self.table}, self.owner()
        for at, (id, what, *_) in enumerate(self.lists[name][1:], 2):
            if id not in owner:
                raise ValueError(f"{name}:{at}: expected an identifier of a release, found {id}")
            yield rows[owner[id]], what

    def correct(self):
        """Adds the cross-references of hand_xrefs.tsv, and takes out those of wrong_codes.tsv and the names of wrong_names.tsv."""
        before = json.dumps(self.table)
        for concept, xref in self.concepts_of("hand_xrefs.tsv"):
            concept["xrefs"] = sorted({*concept["xrefs"], xref})
        for concept, xref in self.concepts_of("wrong_codes.tsv"):
            # An identifier that a release had of the concept stays: redirects lead from it.
            if xref not in self.released and xref in concept["xrefs"]:
                concept["xrefs"].remove(xref)
        for concept, name in self.concepts_of("wrong_names.tsv"):
            if name == concept["name"]:
                raise ValueError(f"wrong_names.tsv: expected another name than the preferred one of {concept['id']}, found {name!r}")
            concept["synonyms"] = [one for one in concept["synonyms"] if one != name]
        self.changed = json.dumps(self.table) != before

    def first(self):
        return identifiers.first_ids(self.redirects)

    def owner(self):
        """released identifier -> the concept that it means now."""
        return {**{id: to for id, (to, _) in self.redirects.items() if to}, **{concept["id"]: concept["id"] for concept in self.table}}

    def display(self):
        """(system, code) -> official name, of the codes used."""
        found = {(system, code): name for system, code, name, *_ in read_rows(self.path / "code_names.tsv.xz")}
        return {**found, **{("LOINC", code): name for code, name in read_rows(self.path / "loinc.tsv.xz")}}

    def merge(self, pairs):
        """Merges (line, id, concept that stays) of the reviewed pairs, unless that was done. Returns how many were merged now."""
        rows, owner = {concept["id"]: concept for concept in self.table}, self.owner()
        gone = {}
        for line, id, stays in pairs:
            other, kept = owner.get(id), owner.get(stays)
            while kept in gone:
                kept = gone[kept]
            if other is None or kept is None:
                raise ValueError(f"review/doubles.tsv:{line}: expected identifiers of a release, found {id if other is None else stays}")
            if other == kept or other in gone:
                continue
            reviewed.merge(rows[kept], rows.pop(other), rows[kept]["name"])
            gone = {**{one: kept if to == other else to for one, to in gone.items()}, other: kept}
        if gone:
            self.take_over(gone, rows)
        return len(gone)

    def take_over(self, gone, rows):
        """What the lists say of merged concepts goes to those that stay: exact codes only where they have none of the system."""
        first, self.changed = self.first(), True
        self.table = list(rows.values())
        self.redirects = {id: (gone.get(to, to), "merged" if to in gone else why) for id, (to, why) in self.redirects.items()}
        self.redirects.update({id: (to, "merged") for id, to in gone.items()})
        coded = {tuple(row[:2]) for row in [*self.codes, *self.lists["hand_codes.tsv"]] if row[0] not in gone}
        self.lists["hand_codes.tsv"] = taken_over(self.lists["hand_codes.tsv"], gone, coded)
        self.lists["wrong_codes.tsv"] = [row for row in self.lists["wrong_codes.tsv"] if row[0] not in gone]
        self.rename(gone)
        new = [[first.get(id, id), to, rows[to]["name"]] for id, to in gone.items()]
        header, *old = self.lists["doubles.tsv"]
        self.lists["doubles.tsv"] = [header, *sorted([*old, *new])]
        self.codes = [(gone.get(row[0], row[0]), *row[1:]) for row in taken_over(self.codes, gone, coded)]
        self.edges = [row for row in ((gone.get(child, child), gone.get(parent, parent), source) for child, parent, source in self.edges) if row[0] != row[1]]

    def rename(self, new):
        for name, at in LISTS.items():
            self.lists[name] = [[*row[:at], new.get(row[at], row[at]), *row[at + 1:]] if len(row) > at else row for row in self.lists[name]]

    def recode(self, new):
        """Gives each concept its identifier of `new`; the former one becomes a cross-reference and is redirected. Returns how many changed."""
        new = {id: to for id, to in new.items() if id != to}
        if not new:
            return 0
        first, self.changed = self.first(), True
        self.redirects = {id: (new.get(to, to), why) for id, (to, why) in self.redirects.items()}
        for id, to in new.items():
            # A concept has one identifier from before the policy; those that the policy gave and changed are no evidence.
            self.redirects[id] = (to, identifiers.RECODED if first.get(id, id) == id else "superseded")
        for concept in self.table:
            id = concept["id"]
            if id in new:
                concept["id"] = new[id]
                concept["xrefs"] = sorted({*concept["xrefs"], identifiers.as_xref(id)})
        for concept in self.table:
            self.redirects.pop(concept["id"], None)
        self.rename(new)
        self.codes = [(new.get(row[0], row[0]), *row[1:]) for row in self.codes]
        self.edges = [(new.get(child, child), new.get(parent, parent), source) for child, parent, source in self.edges]
        return len(new)

    def save(self):
        """Writes the files. The rows of the codes stand in the order of the table."""
        self.released |= {concept["id"] for concept in self.table}
        text = "".join(json.dumps(concept, ensure_ascii=False, separators=(",", ":")) + "\n" for concept in self.table)
        (self.path / "default.jsonl.xz").write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))
        identifiers.write_redirects(self.redirects, self.path / "redirects.tsv")
        identifiers.write_released(self.released, self.path / "identifiers.txt.xz")
        for name, rows in self.lists.items():
            write_lines(self.path / name, rows)
        place = {concept["id"]: at for at, concept in enumerate(self.table)}
        rows = sorted(dict.fromkeys(self.codes), key=lambda row: (place[row[0]], lists.SYSTEMS.index(row[1])))
        (self.path / "codes.tsv.xz").write_bytes(packed_rows(CODES, rows))
        (self.path / "hierarchy.tsv.xz").write_bytes(packed_rows(EDGES, sorted({row[:2]: row for row in self.edges}.values())))
        self.changed = False
