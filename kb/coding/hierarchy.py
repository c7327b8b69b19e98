"""What is a kind of what: concepts by Mondo, the Disease Ontology, Uberon and MeSH, codes by ICD-10-CM and MED-RT."""

import collections
import re

import readers


def nearest(ancestors, owners, above):
    """The concepts of the nearest ancestors that the table has: the direct ones, or those above ones that it lacks."""
    found, seen = set(), set()
    queue = [one for one, step in ancestors.items() if step == 1]
    while queue:
        one = queue.pop()
        if one in seen:
            continue
        seen.add(one)
        if owners.get(one):
            found.add(owners[one])
        else:
            queue += [up for up, step in above(one).items() if step == 1]
    return found


def owners_of(concepts, pattern):
    """identifier of an ontology -> the concept that has it, by its own identifier first."""
    owners = {}
    for id, concept in concepts.table.items():
        for one in [concepts.first[id], *concept["xrefs"]]:
            if re.fullmatch(pattern, one):
                owners.setdefault(one, id)
    return owners


def term_edges(concepts, terms, owners):
    for one, id in sorted(owners.items()):
        term = terms.get(one)
        if term:
            for parent in nearest(term["ancestors"], owners, lambda up: terms.get(up, {"ancestors": {}})["ancestors"]):
                if parent != id:
                    yield id, parent


def obo_edges(terms, owners):
    """Edges of an OBO file by the nearest parents that the table has."""
    steps = {id: {parent: 1 for parent in term["parents"]} for id, term in terms.items()}
    for one, id in sorted(owners.items()):
        for parent in nearest(steps.get(one, {}), owners, lambda up: steps.get(up, {})):
            if parent != id:
                yield id, parent


def mesh_edges(concepts):
    """A tree number's parent is the number without its last part."""
    owners = owners_of(concepts, r"MESH:[A-Z]\d\d(\.\d+)*")
    for one, id in sorted(owners.items()):
        while "." in one:
            one = one.rpartition(".")[0]
            if owners.get(one) not in (None, id):
                yield id, owners[one]
                break


def icd_edges(icd, codes):
    """The chain of each code: category, section, chapter."""
    for code in sorted(codes):
        while code in icd.parents:
            yield f"ICD10CM:{code}", f"ICD10CM:{icd.parents[code]}"
            code = icd.parents[code]


def medrt_edges(lists, members, codes):
    for row in members:
        if row["rxcui"] in codes and row["class_id"] in lists.medrt:
            yield f"RXNORM:{row['rxcui']}", f"MEDRT:{row['class_id']}"


def circle(parents):
    """The members of a circle, or None."""
    state = {}
    for start in sorted(parents):
        path, stack = [], [(start, iter(sorted(parents.get(start, ()))))]
        if start in state:
            continue
        state[start] = "open"
        path.append(start)
        while stack:
            node, rest = stack[-1]
            up = next(rest, None)
            if up is None:
                state[node] = "done"
                stack.pop()
                path.pop()
            elif state.get(up) == "open":
                return path[path.index(up):] + [up]
            elif up not in state:
                state[up] = "open"
                path.append(up)
                stack.append((up, iter(sorted(parents.get(up, ())))))
    return None


class Hierarchy:
    """Edges with their source. An ontology that says the opposite of an earlier one is left out there."""

    def __init__(self):
        self.edges, self.parents, self.counts = {}, collections.defaultdict(set), collections.Counter()

    def above(self, id):
        seen, queue = set(), [id]
        while queue:
            for up in self.parents.get(queue.pop(), ()):
                if up not in seen:
                    seen.add(up)
                    queue.append(up)
        return seen

    def add(self, child, parent, source):
        if (child, parent) in self.edges:
            return
        if child == parent or child in self.above(parent):
            self.counts[f"hierarchy: of {source}, the opposite of another source"] += 1
            return
        self.edges[child, parent] = source
        self.parents[child].add(parent)

    def check(self):
        members = circle(self.parents)
        if members:
            raise ValueError("the hierarchy has a circle: " + " -> ".join(members) + "; take one of these edges out of its source")


def build(concepts, found, sources):
    lists, tree = concepts.lists, Hierarchy()
    mondo = owners_of(concepts, r"MONDO:\d+")
    for child, parent in term_edges(concepts, lists.mondo, mondo):
        tree.add(child, parent, "mondo")
    with_mondo = set(mondo.values())
    doid = owners_of(concepts, r"DOID:\d+")
    for child, parent in obo_edges(readers.read_obo(sources.data("doid")), doid):
        if child not in with_mondo:
            tree.add(child, parent, "doid")
    uberon = {id: term for id, term in sources.json("uberon").items() if not term["deprecated"]}
    for child, parent in term_edges(concepts, uberon, owners_of(concepts, r"UBERON:\d+")):
        if concepts.group[child] == concepts.group[parent]:
            tree.add(child, parent, "uberon")
    for child, parent in mesh_edges(concepts):
        if concepts.group[child] == concepts.group[parent]:
            tree.add(child, parent, "mesh")
    for child, parent in icd_edges(lists.icd, used(found, "ICD10CM")):
        tree.add(child, parent, "icd10cm")
    for child, parent in medrt_edges(lists, sources.tsv("medrt-members"), used(found, "RXNORM")):
        tree.add(child, parent, "medrt")
    tree.check()
    return tree


def used(found, system):
    return {one.code for id in found.concepts(system) for one in found.of(id, system)}
