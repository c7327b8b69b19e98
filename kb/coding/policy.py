"""The primary identifier of each concept, by the order of systems of its group (README.md, "Identifier policy")."""

import collections
import re

from coding.meaning import bag

PROBLEM = ("SNOMEDCT", "UMLS", "MONDO", "DOID", "MESH", "NCIT", "HPO", "ICD10CM")
PLACE = ("SNOMEDCT", "UMLS", "UBERON", "MAXO", "CL", "MESH", "NCIT", "LOINC")
PROCESS = ("UMLS", "GO", "NBO", "MESH", "SNOMEDCT")
ORDER = {
    "Disease": PROBLEM, "Sign or symptom": PROBLEM,
    "Drug or chemical": ("RXNORM", "UNII", "MESH", "UMLS", "MEDRT", "CVX", "PARTS"),
    "Measurement": ("LOINC", "SNOMEDCT", "NCIT", "MESH", "UMLS", "MAXO"),
    "Procedure": PLACE, "Anatomy": PLACE, "Cell": PLACE, "Device": PLACE,
    "Biological process": PROCESS, "Organism": PROCESS,
}
# How a code is written as an identifier; those of UMLS, Mondo and HPO stand alone.
WRITTEN = {"SNOMEDCT": "SNOMED:", "UMLS": "", "MONDO": "", "HPO": "", **{one: one + ":" for one in ("RXNORM", "LOINC", "UNII", "MESH", "MEDRT", "CVX", "ICD10CM")}}
# Systems that codes.tsv.xz lacks: the table's own identifiers and cross-references say which code a concept has.
BY_XREF = {"DOID": r"DOID:\d+", "NCIT": r"NCIT:C\d+", "UBERON": r"UBERON:\d+", "MAXO": r"MAXO:\d+", "CL": r"CL:\d+", "GO": r"GO:\d+", "NBO": r"NBO:\d+"}
OWN = "PEL:"
# What says that a code is the concept's own, the best evidence first; with a name of the code as the label comes before all.
EVIDENCE = ("gps-id", "hand", "mondo", "rxnorm-name", "loinc-name", "gps-name", "table", "unii", "mesh", "medrt-name", "cvx-name", "hpo-name", "icd-title")


class Option:
    """An identifier that a concept may have. A lower strength is better evidence."""

    def __init__(self, id, strength):
        self.id, self.strength = id, strength


def strength_of(names, display, source):
    """Evidence of a code, for two concepts that have the same: the label, another name, then the joins in the order of EVIDENCE."""
    if display and bag(display) == bag(names[0]):
        return (0, 0)
    sources = source.split("+")
    return (1, min((EVIDENCE.index(one) for one in sources if one in EVIDENCE), default=len(EVIDENCE)))


class Policy:
    """Chooses the primary identifiers of a table. `rows` are those of codes.tsv, `display` (system, code) -> official name, `first`
    identifier -> the one that the concept had before the policy, `owner` a released identifier -> the concept that it means now."""

    def __init__(self, table, rows, display, first, owner):
        self.table, self.first, self.owner, self.display = table, first, owner, display
        self.codes = collections.defaultdict(list)
        for id, system, code, match, source in rows:
            self.codes[id, system].append((code, match, source))
        self.xrefs, self.owners = collections.defaultdict(list), collections.Counter()
        for concept in table:
            own = dict.fromkeys([self.first_id(concept), *concept["xrefs"]])
            for system, pattern in BY_XREF.items():
                found = [one for one in own if re.fullmatch(pattern, one)]
                self.xrefs[concept["id"], system] = found
                self.owners.update(found)

    def first_id(self, concept):
        return self.first.get(concept["id"], concept["id"])

    def of_system(self, concept, system):
        """The identifiers of a concept in a system: exact codes alone."""
        id, names = concept["id"], [concept["name"], *concept["synonyms"]]
        if system == "PARTS":
            parts = [code for code, match, _ in self.codes.get((id, "RXNORM"), ()) if match == "parts"]
            return [Option(f"RXNORM:{'+'.join(sorted(parts, key=lambda code: (int(code), code)))}", (0, 0))] if len(parts) > 1 else []
        if system in BY_XREF:
            first, found = self.first_id(concept), self.xrefs[id, system]
            if first in found:
                return [Option(first, (0, 0))]
            # Of several, or of one that several concepts have, none is sure to be this concept.
            return [Option(one, (2, 0)) for one in found if len(found) == 1 and self.owners[one] == 1]
        found = [Option(WRITTEN[system] + code, strength_of(names, self.display.get((system, code), ""), source))
                 for code, match, source in self.codes.get((id, system), ()) if match == "exact" and not self.rest(system, code)][:1]
        # A heading of MeSH is itself, although Mondo may map it to another concept.
        first = self.first_id(concept)
        return found or [Option(first, (0, 0))] * bool(WRITTEN[system] and first.startswith(WRITTEN[system]))

    def rest(self, system, code):
        """Whether a code is of a rest class, which is nothing's own."""
        return system == "ICD10CM" and bool(re.search(r"\bother\b", self.display.get((system, code), ""), re.I))

    def options(self, concept):
        """The identifiers that a concept may have, the wished ones first: those of its systems, then the one that it had. An identifier
        that a release had for another concept is none."""
        found = [one for system in ORDER[concept["types"][0]] for one in self.of_system(concept, system)
                 if self.owner.get(one.id, concept["id"]) == concept["id"]]
        return [*found, Option(self.first_id(concept), (-1, 0))]

    def choose(self):
        """identifier now -> the primary one. Each identifier stays with the concept of the best evidence for it, and the others take their next one."""
        options = {concept["id"]: self.options(concept) for concept in self.table}
        place = {concept["id"]: at for at, concept in enumerate(self.table)}
        holder, queue, next_one = {}, collections.deque(options), collections.Counter()
        while queue:
            id = queue.popleft()
            wish = options[id][next_one[id]]
            rival = holder.get(wish.id)
            if rival is not None:
                other = options[rival][next_one[rival]]
                if (other.strength, place[rival]) < (wish.strength, place[id]):
                    id, rival = rival, id
                next_one[rival] += 1
                queue.append(rival)
            holder[wish.id] = id
        return {id: options[id][next_one[id]].id for id in options}
