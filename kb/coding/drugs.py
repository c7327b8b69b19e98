"""RxNorm, ATC, UNII, MED-RT and CVX codes of drugs, classes and vaccines."""

import collections
import re

from coding.meaning import bag

DRUG = "Drug or chemical"
KINDS = ("IN", "PIN", "MIN")
# Groups of ATC whose codes are combinations, and fifth levels that are.
COMBINED = re.compile(r"(A02BD|A06AG|A10BD|B01AC[3-5]|C02L|C03(A[BX]|[BE])|C07[B-F]|C08G|C09[BD]|C10B|D01AC[25]|D07[BCX]|G03A[AB]|G03F|J01RA|J05AR|J04AM|"
                      r"M03B[ABC][57]|N02AJ|R01AB|R03A[KL]|R05F|R06AB[5-7]|S01C|S02C|S03C|V03AF1)|[A-Z]\d\d[A-Z]{2}[5-7]\d$|[A-Z]\d\d[A-Z]{2}2\d$")
SALTS = frozenset("acetate besylate bromide calcium chloride citrate fumarate gluconate hydrobromide hydrochloride maleate malate mesylate nitrate phosphate "
                  "potassium sodium succinate sulfate tartrate tosylate hydrate monohydrate dihydrate anhydrous".split())


def key(name):
    """A name of a drug for comparing: without case, hyphens and a plural s of its last word."""
    return " ".join(re.findall(r"[a-z0-9.,+']+", name.lower().replace("sulph", "sulf").replace("oestr", "estr")))


def rxnorm(concepts, found, maps):
    """Ingredients, salts and combinations by name, then by UNII and MeSH, and the parts of a combination."""
    lists = concepts.lists
    by_name, labels = collections.defaultdict(list), collections.defaultdict(list)
    for rxcui, (kind, name) in lists.rxnorm.items():
        by_name[key(name)].append((KINDS.index(kind), rxcui))
    drugs = [id for id in concepts.table if concepts.group[id] == DRUG]
    for id in drugs:
        labels[key(concepts.names[id][0])].append(id)
    for id in drugs:
        label, *others = concepts.names[id]
        for place, rxcui in sorted(by_name.get(key(label), ()))[:1]:
            found.add(id, "RXNORM", rxcui, "exact", "rxnorm-name", 10 + place)
        for source, rank, codes in (("unii", 14, maps["unii-2022"]), ("mesh", 16, maps["mesh"]), ("unii-2014", 18, maps["unii-2014"])):
            own = concepts.unii[id][:1] if source.startswith("unii") else concepts.xrefs(id, "MESH")
            for rxcui in sorted({rxcui for one in own for rxcui in codes.get(one, ())}):
                if rxcui in lists.rxnorm and fits(lists.rxnorm[rxcui], label, others):
                    found.add(id, "RXNORM", rxcui, "exact", source, rank)
        for name in others:
            for place, rxcui in sorted(by_name.get(key(name), ()))[:1]:
                if place == 0 and not labels.get(key(name)):
                    found.add(id, "RXNORM", rxcui, "exact", "rxnorm-name", 30)
    for id in drugs:
        strongest(found, id)
    combinations(concepts, found, drugs, labels, by_name)


def fits(row, label, others):
    """Whether a mapped entry may be the drug: a salt only if the concept names one, an ingredient only with a name that shares a word's start."""
    kind, name = row
    said = {word[:4] for text in (label, *others) for word in key(text).split()}
    salt = set(key(name).split()) & SALTS
    return (kind != "PIN" or not salt - set(key(label).split())) and any(word[:4] in said for word in key(name).split())


def strongest(found, id):
    """One exact code: that of the name, else of the identifiers, else of another name."""
    for one in found.of(id, "RXNORM")[1:]:
        found.drop(id, "RXNORM", one.code, "weaker codes beside a better one")


def parts_of(label):
    """The names of the drugs of a combination, or none."""
    parts = [part.strip() for part in re.split(r"\s+and\s+|,\s+(?:and\s+)?|\s*/\s*|\s+with\s+", label) if part.strip()]
    return parts if len(parts) > 1 else []


def combinations(concepts, found, drugs, labels, by_name):
    """A combination has the codes of its drugs, if each of them has one."""
    whole = {tuple(sorted(key(part) for part in name.split(" / "))): rxcui for rxcui, (kind, name) in concepts.lists.rxnorm.items() if kind == "MIN"}
    for id in drugs:
        parts = parts_of(concepts.names[id][0])
        if not parts or any(one.match == "exact" for one in found.of(id, "RXNORM") if one.rank < 20):
            continue
        codes = []
        for part in parts:
            owner = next((one for one in labels.get(key(part), ()) if found.of(one, "RXNORM")), None)
            named = sorted(by_name.get(key(part), ()))
            codes.append(found.of(owner, "RXNORM")[0].code if owner else named[0][1] if named else None)
        if None in codes or len(set(codes)) < 2:
            continue
        for one in found.of(id, "RXNORM"):
            found.drop(id, "RXNORM", one.code, "another code of a combination")
        entry = whole.get(tuple(sorted(key(concepts.lists.rxnorm[code][1]) for code in codes)))
        if entry:
            found.add(id, "RXNORM", entry, "exact", "rxnorm-name", 12)
            continue
        for at, code in enumerate(dict.fromkeys(codes)):
            found.add(id, "RXNORM", code, "parts", "parts", 20 + at)


def atc(concepts, found):
    """The bare ATC codes of an ingredient, without those of combinations."""
    of_rxcui, owners = collections.defaultdict(list), collections.defaultdict(set)
    for rxcui, code in concepts.lists.atc_maps:
        of_rxcui[rxcui].append(code)
        owners[code].add(rxcui)
    for id in concepts.table:
        for one in found.of(id, "RXNORM")[:1]:
            for code in of_rxcui.get(one.code, ()) if one.match == "exact" and (one.rank < 30 or "hand" in one.source) else ():
                if len(owners[code]) > 1 or COMBINED.match(code):
                    found.counts["ATC: codes of combinations"] += 1
                else:
                    found.add(id, "ATC", code, "exact", "rxnorm-atc", 10)


def classes(concepts, found):
    """MED-RT classes by name: established pharmacologic classes, then therapeutic ones and mechanisms of action."""
    kinds = {"EPC": 0, "TC": 1, "MOA": 2}
    by_name = collections.defaultdict(list)
    for code, (kind, name) in concepts.lists.medrt.items():
        if kind in kinds:
            by_name[class_key(name)].append((kinds[kind], code))
    for id in concepts.table:
        if concepts.group[id] != DRUG or found.of(id, "RXNORM") or concepts.unii[id]:
            continue
        for at, name in enumerate(concepts.names[id]):
            for place, code in sorted(row for one in class_keys(name) for row in by_name.get(one, ()))[:1]:
                found.add(id, "MEDRT", code, "exact", "medrt-name", 10 * place + (0 if at == 0 else 1))
        for one in found.of(id, "MEDRT")[1:]:
            found.drop(id, "MEDRT", one.code, "weaker codes beside a better one")


def class_key(name):
    """Agents, drugs and medications are one word; "tubulin" is no tubulin agent."""
    return bag(re.sub(r"\b(agents?|drugs?|medications?|medicines?)\b", "agent", name, flags=re.I))


def class_keys(name):
    """The keys of a concept's name: "antifungal drug" may be a class called antifungal."""
    key = class_key(name)
    return [key, " ".join(word for word in key.split() if word != "agent")]


# The short forms of CVX.
VACCINES = {"hep": "hepatitis", "hib": "haemophilus", "im": ""}


def vaccine_key(name):
    name = re.sub(r",? (unspecified formulation|unspecified|vaccine|vaccines)\b", "", " " + name.lower())
    return " ".join(VACCINES.get(word, word) for word in re.findall(r"[a-z0-9]+", name) if word not in ("vaccine", "vaccines"))


def vaccines(concepts, found):
    """CVX by name: the entry without a formulation."""
    by_name = collections.defaultdict(list)
    for code, display in concepts.lists.cvx.items():
        by_name[vaccine_key(display)].append(("unspecified" not in display.lower(), code))
    for id in concepts.table:
        if concepts.group[id] != DRUG or not any("vaccin" in name.lower() for name in concepts.names[id]):
            continue
        for at, name in enumerate(concepts.names[id]):
            if "vaccin" in name.lower():
                for place, code in sorted(by_name.get(vaccine_key(name), ()))[:1]:
                    found.add(id, "CVX", code, "exact", "cvx-name", (10 if at == 0 else 30) + place)
        for one in found.of(id, "CVX")[1:]:
            found.drop(id, "CVX", one.code, "weaker codes beside a better one")


def unii(concepts, found):
    """The identifier of the drug itself, not those of its salts."""
    for id in concepts.table:
        for code in concepts.unii.get(id, ())[:1]:
            found.add(id, "UNII", code, "exact", "table", 10)


def read_unii(concepts, terms):
    """Orders the UNII of each concept: the one whose preferred term is the label, then the identifier itself, then the shortest term."""
    preferred = {row["FDA_UNII"]: row["FDA_PreferredTerm"] for row in terms}
    concepts.unii = {}
    for id in concepts.table:
        label = key(concepts.names[id][0])
        own = concepts.xrefs(id, "UNII")
        concepts.unii[id] = sorted(own, key=lambda one: (key(preferred.get(one, "")) != label, concepts.first[id] != f"UNII:{one}", len(preferred.get(one, "x" * 99)), one))


def maps_of(sources, lists):
    """UNII and MeSH -> RXCUI; the list of 2014 only where RxNorm still has the entry."""
    maps = {name: collections.defaultdict(set) for name in ("unii-2022", "unii-2014", "mesh")}
    for row in sources.tsv("unii-2022"):
        maps["unii-2022"][row["unii"]].add(row["rxcui"])
    for row in sources.tsv("unii-2014"):
        if row["RxNorm_CUI"] in lists.rxnorm:
            maps["unii-2014"][row["FDA_UNII"]].add(row["RxNorm_CUI"])
    for row in sources.tsv("mesh-2022"):
        maps["mesh"][row["mesh"]].add(row["rxcui"])
    return maps
