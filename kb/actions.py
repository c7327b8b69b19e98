"""Medical actions: procedures, therapies and tests of the Medical Action Ontology (MAxO)."""

import re

MOST_WORDS, MOST_SYNONYMS = 4, 6
# Treatment with a class of drugs is the class; headings by organ system, and what to eat, are not
# written in notes with these names.
NOT_CLINICAL = re.compile(
    r"\b(avoidance|avoid|supplementation|supplement|intake|consumption|diagnostic procedure|"
    r"therapeutic procedure|surgical procedure|surgical removal|specialist|biomarker|restriction|reduction|"
    r"physician|examination by|evaluation|assay|agent|usage|specialst|drug therapy|drug treatment|"
    r"medication|treatment with|precaution|preventative|behaviou?r modification|"
    r"inhibitor|antagonist|agonist|modulator|blocker|counselling|lifestyle|exposure|diet)\b", re.I)
MEASUREMENT = re.compile(r"\b(measurement|count|level|levels|titer|titre|test|rate|ratio calculation)$", re.I)
XREFS = {"NCIT": "NCIT", "MESH": "MESH", "MSH": "MESH", "SNOMED": None}


def below(terms, root):
    """The identifiers of a term and of all terms below it."""
    children = {}
    for term in terms.values():
        for parent in term["parents"]:
            children.setdefault(parent, []).append(term["id"])
    found, todo = set(), [root]
    while todo:
        id = todo.pop()
        if id not in found:
            found.add(id)
            todo += children.get(id, [])
    return found


def usable(name):
    return (3 < len(name) <= 50 and len(name.split()) <= MOST_WORDS and not NOT_CLINICAL.search(name)
            and not re.search(r"[(),/;\[\]]", name))


def concepts(terms):
    """The terms of MAxO itself as concepts. Terms of other ontologies in the file are left out, and
    so is treatment with drugs (`pharmacotherapy`), whose terms are named after their drugs."""
    roots = [id for id, term in terms.items() if term.get("name") in ("pharmacotherapy", "agent therapy")]
    drugs = set().union(*(below(terms, root) for root in roots))
    for id in sorted(terms):
        term = terms[id]
        if not id.startswith("MAXO:") or id != term["id"] or id in drugs or not usable(term.get("name", "")):
            continue
        name = term["name"]
        short = re.sub(r" procedure$", "", name)
        synonyms = [s for s in term["synonyms"] if usable(s) and not re.search(r"\bprocedure\b", s)]
        xrefs = [f"{XREFS[prefix.upper()]}:{code}" for prefix, _, code in
                 (xref.partition(":") for xref in term["xrefs"]) if XREFS.get(prefix.upper())]
        yield {
            "id": id, "names": [short, *synonyms[:MOST_SYNONYMS]],
            "kind": "Measurement" if MEASUREMENT.search(name) else "Procedure", "types": [],
            "type_ids": [], "definition": term.get("definition"), "xrefs": [id, *xrefs],
            "sources": ["MAXO"], "only_identifier": False,
        }
