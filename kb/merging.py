"""Merging of concepts: those of one name and type, and the terms of clinical.tsv."""

import collections
import re

from names import key, preferred


def absorb(kept, other):
    """Merges an equivalent concept into `kept`. Its label stays unless it is an odd one (`names.preferred`)."""
    rows = [(concept["names"][0], concept["names"][1:], concept["sources"]) for concept in (kept, other) if concept["names"]]
    if len(rows) == 2:
        label = preferred(rows, kept["names"][0])
        if label != kept["names"][0]:
            kept["names"] = [label, *kept["names"]]
    kept["names"] += other["names"]
    kept["xrefs"] += other["xrefs"] + ([("UMLS:" if re.fullmatch(r"C\d{7}", other["id"]) else "") + other["id"]])
    kept["sources"] += other["sources"]
    kept["types"] += other["types"]
    kept["type_ids"] += other["type_ids"]
    kept["definition"] = kept["definition"] or other["definition"]
    kept["kind"] = kept["kind"] or other["kind"]
    other["gone"] = True


def rank(concept):
    """The sort key for concepts with the same name: those with a CUI first, then with more sources, a definition, and by id."""
    return not concept["id"].startswith("C"), -len(set(concept["sources"])), concept["definition"] is None, concept["id"]


def merge_same_names(pool):
    """Merges concepts with the same preferred name and type, and an extra concept with the CUI concept that names it."""
    groups = collections.defaultdict(list)
    for concept in pool:
        groups[key(concept["names"][0])].append(concept)
    for group in groups.values():
        group.sort(key=rank)
        for at, kept in enumerate(group):
            for other in group[at + 1:]:
                if not kept["gone"] and not other["gone"] and (kept["kind"] == other["kind"] or not other["id"].startswith("C")):
                    absorb(kept, other)
                    kept["chosen"] |= other["chosen"]
    by_name = collections.defaultdict(list)
    for concept in pool:
        if not concept["gone"] and concept["id"].startswith("C"):
            for name in dict.fromkeys(map(key, concept["names"])):
                by_name[name].append(concept)
    for concept in pool:
        homes = [home for home in by_name[key(concept["names"][0])] if not home["gone"]]
        if not concept["gone"] and not concept["id"].startswith("C") and len(homes) == 1:
            homes[0]["chosen"] |= concept["chosen"]
            absorb(homes[0], concept)


# Types in clinical.tsv that may replace another type: for example, a test that MeSH lists as a chemical.
COMPATIBLE = {
    ("Measurement", "Drug or chemical"), ("Measurement", "Procedure"), ("Measurement", "Sign or symptom"),
    ("Measurement", "Biological process"), ("Procedure", "Measurement"), ("Disease", "Sign or symptom"),
    ("Sign or symptom", "Disease"), ("Sign or symptom", "Biological process"), ("Disease", "Biological process"),
    ("Procedure", "Biological process"), ("Anatomy", "Cell"), ("Device", "Procedure"), ("Procedure", "Device"),
    ("Drug or chemical", "Biological process"), ("Procedure", "Sign or symptom"),
    # MeSH has malformations and scars among body structures.
    ("Disease", "Anatomy"), ("Sign or symptom", "Anatomy"),
}


def apply_clinical(pool, rows):
    """Applies clinical.tsv: selects concepts, sets types and names, and adds concepts for names that no concept of a fitting type has."""
    by_label, by_name = collections.defaultdict(list), collections.defaultdict(list)
    for concept in pool:
        if not concept["gone"]:
            by_label[key(concept["names"][0])].append(concept)
            for name in dict.fromkeys(map(key, concept["names"])):
                by_name[name].append(concept)
    owner, added = {}, []
    for kind, name, synonyms in rows:
        keys = [key(name), *map(key, synonyms)]

        def fitting(found):
            fits = [c for c in found if not c["gone"] and not c.get("listed")
                    and (c["kind"] in (kind, None) or (kind, c["kind"]) in COMPATIBLE)]
            return sorted(fits, key=lambda c: (c["kind"] != kind, rank(c)))

        candidates = fitting(by_label[keys[0]]) or fitting(by_name[keys[0]])
        for other in keys[1:]:
            candidates = candidates or fitting(by_label[other])
        if candidates:
            concept = candidates[0]
        else:
            slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
            concept = {"id": f"PEL:{slug}", "names": [], "kind": kind, "chosen": True, "gone": False, "types": [],
                       "type_ids": [], "definition": None, "xrefs": [], "sources": ["PEL"]}
            added.append(concept)
        for other in dict.fromkeys(keys):
            for same in fitting(by_label[other]):
                if same is not concept and (same["kind"] == kind or same["kind"] is None):
                    absorb(concept, same)
        known = {n.lower() for n in concept["names"]}
        concept.update(kind=kind, chosen=True, listed=True)
        # Our name comes first, because it is the usual form in notes. New names are ours.
        if {n.lower() for n in (name, *synonyms)} - known:
            concept["sources"].append("PEL")
        label = next((n for n in concept["names"] if n.lower() == name.lower()), name)
        concept["names"] = [label, *synonyms, *concept["names"]]
        for one in (name, *synonyms):
            owner[one.lower()] = concept
    return added, owner


# Clinical groups whose concepts may be the same thing in two sources.
ALIKE = [{"Disease", "Sign or symptom"}, {"Procedure", "Measurement"}, {"Anatomy", "Cell"},
         {"Device"}, {"Drug or chemical"}, {"Organism"}, {"Biological process"}]


def are_alike(kind, other):
    return kind == other or any(kind in group and other in group for group in ALIKE)


class Names:
    """Concepts by their labels and by all their names. `owner` has the concept of each name of
    clinical.tsv, in lower case."""

    def __init__(self, pool, owner):
        self.labels, self.names = collections.defaultdict(list), collections.defaultdict(list)
        self.owner = owner
        for concept in pool:
            if not concept["gone"]:
                self.add(concept)

    def add(self, concept):
        names = [*concept["names"], *concept.get("added", [])]
        self.labels[key(names[0])].append(concept)
        for name in dict.fromkeys(map(key, names)):
            self.names[name].append(concept)

    def home(self, names, kind, over=None):
        """The concept of such a kind that these names are of: the one that clinical.tsv says, one
        with one of the names as its label, or the best one of which the first is a synonym; `None`
        if there is none. A concept of the kind `over` counts by its label."""
        def fitting(found, over=None):
            fits = [c for c in found if not c["gone"]
                    and (c["kind"] in (None, over) or are_alike(kind, c["kind"]))]
            return sorted(fits, key=lambda c: (not c["chosen"], c["kind"] != kind, rank(c)))

        owner = self.owner.get(names[0].lower())
        found = fitting([owner] if owner else [])
        for name in map(key, names):
            found = found or fitting(self.labels[name], over)
        found = found or [c for c in fitting(self.names[key(names[0])]) if c["chosen"]]
        return found[0] if found else None


def attach(pool, owner, concepts, counts, what):
    """Adds the concepts of a further source: to the concept that has their name, else to the pool.

    A concept with `only_identifier` gives its identifier to the concept of its name, and nothing
    else. Names of a source go to `added`, so that they do not displace those before them.
    """
    known = Names(pool, owner)
    for concept in concepts:
        over = concept.get("over")
        home = known.home(concept["names"], concept["kind"], over)
        if home is not None:
            counts[f"{what}: joined to a concept"] += 1
            home["xrefs"] += concept["xrefs"]
            if concept.get("only_identifier"):
                # The identifier alone does not make a concept useful for notes.
                home["sources"] += concept["sources"] if home["chosen"] else []
                continue
            home["sources"] += concept["sources"]
            home["types"] += concept["types"]
            home["type_ids"] += concept["type_ids"]
            home["kind"] = concept["kind"] if home["kind"] in (None, over) else home["kind"]
            home["definition"] = home["definition"] or concept["definition"]
            home["chosen"] = True
            home.setdefault("added", []).extend(concept["names"])
            home["most"] = max(home.get("most", 0), concept.get("most", 0))
            home.setdefault("shared", set()).update(concept.get("shared", ()))
        elif concept.get("only_identifier"):
            counts[f"{what}: left out"] += 1
        else:
            counts[f"{what}: new concept"] += 1
            made = dict(concept, names=concept["names"][:1], added=concept["names"][1:], chosen=True,
                        gone=False, new=True, types=list(concept["types"]), type_ids=list(concept["type_ids"]),
                        xrefs=list(concept["xrefs"]), sources=list(concept["sources"]))
            made["shared"] = set(concept.get("shared", ()))
            pool.append(made)
            known.add(made)
