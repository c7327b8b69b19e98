"""A sample of the codes to read one by one against the sources."""

import collections
import random

# How many codes of each system a sample of 300 has.
SHARES = {"SNOMEDCT": 60, "ICD10CM": 80, "RXNORM": 42, "MEDRT": 14, "CVX": 4, "LOINC": 32, "ATC": 12, "HPO": 18, "MESH": 20, "UMLS": 6, "UNII": 6, "MONDO": 6}
HEADER = ("id", "name", "synonyms", "group", "system", "code", "official", "match", "source")


def labels(lists):
    """code of SNOMED CT without a free name -> the terms that Mondo and the Disease Ontology map to it."""
    found = collections.defaultdict(list)
    for mondo, code in [*lists.sctid, *lists.sctid_other]:
        found[code].append("Mondo: " + lists.mondo.get(mondo, {"label": mondo})["label"])
    for doid, xref in lists.doid_maps:
        if xref.startswith("SNOMED:"):
            found[xref[7:]].append("DO: " + lists.doid_labels[doid])
    return {code: "; ".join(dict.fromkeys(terms)) for code, terms in found.items()}


def draw(concepts, rows, seed):
    chooser, terms = random.Random(seed), labels(concepts.lists)
    for system, share in SHARES.items():
        own = [row for row in rows if row[1] == system]
        for id, _, code, match, source in sorted(chooser.sample(own, min(share, len(own)))):
            concept = concepts.table[id]
            if system == "HPO":
                official = concepts.lists.hpo[code]["name"]
            else:
                official = concepts.lists.name(system, code) or terms.get(code, "")
            yield id, concept["name"], "; ".join(concept["synonyms"][:5]), concept["types"][0], system, code, official, match, source
