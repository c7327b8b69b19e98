"""SNOMED CT, HPO, MeSH, UMLS and Mondo codes by names and by the maps of Mondo and the Disease Ontology."""

import collections
import re

from coding.meaning import (adds, bag, content, contradicts, extends, share, tag_of, untagged)

PROBLEMS = ("Disease", "Sign or symptom")
# The semantic tags of SNOMED CT that a group's concepts may have, the usual first.
TAGS = {
    "Disease": ("disorder", "finding", "event", "situation"),
    "Sign or symptom": ("finding", "disorder", "event", "situation", "observable entity"),
    "Anatomy": ("body structure",), "Cell": ("body structure",), "Device": ("physical object",), "Organism": ("organism",),
    "Procedure": ("procedure", "regime/therapy"), "Measurement": ("procedure", "observable entity", "assessment scale", "tumor staging", "staging scale"),
    "Drug or chemical": ("substance", "medicinal product", "product", "medicinal product form"),
    "Biological process": ("observable entity", "finding"),
}
# Codes of SNOMED CT that came from the Read codes; nearly all were retired, and Mondo maps to them in one case of ten.
LEGACY = re.compile(r"(15[4-7]|18[6-9]|19\d|20[0-5]|26[6-9])\d{6}")
# In SNOMED CT, a disease without complications is another one than the plain disease.
WITHOUT = re.compile(r"\b(without complications?|uncomplicated)\b", re.I)
# What a disease of OMIM or Orphanet is without its name saying so.
INBORN = frozenset(("hereditary", "familial", "congenital", "primary"))
# Names of tumors. Mondo has other growths such as pterygium below them, which ICD-10-CM has not; and the codes of SNOMED CT that the
# Disease Ontology alone gives for them are mostly shapes of tissue.
TUMOR = re.compile(r"(?i)oma\b|omas\b|omatosis|tumou?r|neoplas|cancer|malignan|leuk[ea]*mi|metasta|n[ae]*ev[iu]|polyp|sarcoma|carcin|melano|gammopath|prolifer|"
                   r"macroglobul|polycyth|thrombocyth|mastocyt|histiocyt|mycosis fungoides|s[eé]zary|paget|bowen|waldenstr|hodgkin|cytosis")
# From this rank on, a code has other evidence than the label and Mondo's exact match.
WEAK = 25


class Concepts:
    """The table: concepts by identifier, the identifiers of the ontologies, and names. `first` has the identifiers that concepts had
    before the identifier policy: evidence of their own, which the policy's are not."""

    def __init__(self, table, lists, first=None):
        self.first = {c["id"]: (first or {}).get(c["id"], c["id"]) for c in table}
        self.table, self.lists = {c["id"]: c for c in table}, lists
        self.names = {c["id"]: [c["name"], *c["synonyms"]] for c in table}
        self.group = {c["id"]: c["types"][0] for c in table}
        self.mondo, self.by_mondo = {}, {}
        for concept in table:
            own = [xref for xref in concept["xrefs"] if xref in lists.mondo]
            bags = {bag(name) for name in self.names[concept["id"]]}
            # The term with the concept's label first.
            own.sort(key=lambda id: (bag(lists.mondo[id]["label"]) != bag(concept["name"]), bag(lists.mondo[id]["label"]) not in bags, id))
            self.mondo[concept["id"]] = own
            for id in own:
                self.by_mondo.setdefault(id, concept["id"])
        self.doid = {}

    def read_doid(self, mondo_doid):
        """The current Disease Ontology term of each concept: Mondo's exact match, else the cross-reference with one of the concept's names."""
        of_mondo = collections.defaultdict(list)
        for mondo, doid, _ in mondo_doid:
            of_mondo[mondo].append(doid)
        for id, concept in self.table.items():
            own = [doid for mondo in self.mondo[id][:1] for doid in of_mondo[mondo]]
            if not own:
                bags = {bag(name) for name in self.names[id]}
                own = [xref for xref in concept["xrefs"] if bag(self.lists.doid_labels.get(xref, "")) in bags and xref in self.lists.doid_labels]
            self.doid[id] = own

    def xrefs(self, id, prefix):
        own = [self.first[id]] if self.first[id].startswith(prefix + ":") else []
        return list(dict.fromkeys(x[len(prefix) + 1:] for x in [*own, *self.table[id]["xrefs"]] if x.startswith(prefix + ":")))


# A name with one of these words that the label lacks is of a form of the disease: acute follicular conjunctivitis of conjunctival folliculosis.
FORMS = frozenset("acute subacute chronic severe moderate mild neonatal newborn infantile juvenile childhood adult bilateral unilateral complete partial".split())


def own_names(concepts, id, forms=False):
    """The label, and the synonyms that do not narrow it (exercise-induced asthma of asthma); those of forms of it if `forms`."""
    label, *others = concepts.names[id]
    said = set().union(*map(content, (label, *(concepts.lists.mondo[one]["label"] for one in concepts.mondo[id][:1]))))
    return [label, *(name for name in others if not extends(name, label) and (forms or not content(name) & FORMS - said and not ("tumor" in content(label) and "cancer" in content(name) - said)))]


def by_bag(named):
    index = collections.defaultdict(list)
    for code, name in named:
        index[bag(name)].append(code)
    return index


def snomed(concepts, found):
    """SNOMED CT: the Global Patient Set by name, the exact matches of Mondo, then what the Disease Ontology says."""
    lists = concepts.lists
    by_name = by_bag((code, WITHOUT.sub("not complicated", untagged(name))) for code, name in lists.gps.items())
    exact, other, do = (collections.defaultdict(list) for _ in range(3))
    for pairs, index in ((lists.sctid, exact), (lists.sctid_other, other)):
        for mondo, code in pairs:
            index[mondo].append(code)
    for doid, xref in lists.doid_maps:
        if xref.startswith("SNOMED:"):
            do[doid].append(xref[7:])
    for id in concepts.table:
        tags = TAGS.get(concepts.group[id], ())
        names = own_names(concepts, id)
        if concepts.first[id].startswith("SNOMED:") and concepts.first[id][7:] in lists.gps:
            found.add(id, "SNOMEDCT", concepts.first[id][7:], "exact", "gps-id", 5)
        for at, name in enumerate(names):
            for code in by_name.get(bag(name), ()):
                tag = tag_of(lists.gps[code])
                if tag not in tags:
                    continue
                match = "exact" if at == 0 or not adds(names, lists.gps[code]) else "broader"
                found.add(id, "SNOMEDCT", code, match, "gps-name", (10 if at == 0 else 30) + tags.index(tag))
        for code in [code for mondo in concepts.mondo[id][:1] for code in exact[mondo]]:
            add_mapped(found, concepts, id, code, "mondo", 20)
        if found.of(id, "SNOMEDCT"):
            continue
        longer(concepts, found, id, by_name, tags)
        for code in [code for mondo in concepts.mondo[id][:1] for code in other[mondo]]:
            add_mapped(found, concepts, id, code, "mondo", 40)
        if concepts.mondo[id] and (exact[concepts.mondo[id][0]] or other[concepts.mondo[id][0]]):
            continue
        for code in [code for doid in concepts.doid[id][:1] for code in do[doid]]:
            if code not in lists.gps and any(map(TUMOR.search, names)):
                found.counts["SNOMEDCT: of the Disease Ontology, perhaps the shape of a tumor"] += 1
            elif LEGACY.fullmatch(code) and code not in lists.gps:
                found.counts["SNOMEDCT: of the Disease Ontology, retired"] += 1
            elif code in lists.gps and not agrees(lists.gps[code], names):
                found.counts["SNOMEDCT: of the Disease Ontology, another meaning"] += 1
            else:
                add_mapped(found, concepts, id, code, "doid", 50)


def longer(concepts, found, id, by_name, tags):
    """For a concept without a code: names that say more than the label without another meaning, and codes that the table has."""
    gps, names = concepts.lists.gps, concepts.names[id]
    for name in [*(names[1:] if concepts.group[id] not in ("Disease", "Drug or chemical") else ()), *(f"{name} region" for name in names if concepts.group[id] == "Anatomy")]:
        for code in by_name.get(bag(name), ()):
            if tag_of(gps[code]) in tags and not adds([name], names[0]):
                found.add(id, "SNOMEDCT", code, "exact", "gps-name", 35)
    for code in concepts.xrefs(id, "SNOMED"):
        if code in gps and tag_of(gps[code]) in tags and any(bag(gps[code]) == bag(name) for name in names) and not found.of(id, "SNOMEDCT"):
            found.add(id, "SNOMEDCT", code, "exact", "table", 45)


def add_mapped(found, concepts, id, code, source, rank):
    """A mapped code, unless its official name says what no name of the concept says."""
    official, names = concepts.lists.gps.get(code, ""), own_names(concepts, id, forms=True)
    implied = INBORN if concepts.xrefs(id, "OMIM") or concepts.xrefs(id, "Orphanet") else frozenset()
    if official and tag_of(official) not in TAGS.get(concepts.group[id], ()):
        found.counts[f"SNOMEDCT: of {source}, of another hierarchy"] += 1
    elif official and contradicts(untagged(official), names, implied):
        found.counts[f"SNOMEDCT: of {source}, its name says more than the concept"] += 1
    elif official and adds(names, official) and (adds(names, official) & {"cancer"} or all(bag(name) != bag(official) for name in names)):
        found.add(id, "SNOMEDCT", code, "broader", source, rank + 30)
    else:
        found.add(id, "SNOMEDCT", code, "exact", source, rank)


def one_concept_for_a_code(found, system):
    """A code that is exact for several concepts stays with those that have it by their label or by Mondo; what other names and the
    Disease Ontology say stays only where no better one has it, and only if it is one concept."""
    for code, ids in found.owners(system).items():
        if len(ids) < 2:
            continue
        ranks = {id: found.codes[id, system][code].rank for id in ids}
        best = min(ranks.values())
        for id in ids:
            if ranks[id] >= WEAK and (best < WEAK or ranks[id] > best or sum(rank == best for rank in ranks.values()) > 1):
                found.drop(id, system, code, "a code of another concept with better evidence")


def weak_beside_strong(found, system):
    """With an exact code, broader ones go; with one by the label or by Mondo, those by other names and maps go."""
    for id in found.concepts(system):
        codes = found.of(id, system)
        exact = [one.rank for one in codes if one.match == "exact"]
        for one in codes:
            better = system == "SNOMEDCT" and exact and 10 <= min(exact) < one.rank < 20
            if exact and (one.match == "broader" or one.rank >= WEAK > min(exact) or better):
                found.drop(id, system, one.code, "weaker codes beside one by the label or Mondo")


def agrees(official, names):
    """Whether an official name and a concept's names share a word, and neither adds a qualifier."""
    return any(share(official, name) for name in names) and not contradicts(untagged(official), names) and not adds(names, official)
