"""HPO, MeSH, UMLS and Mondo: identifiers that stand beside the standard codes."""

import collections
import re

from coding.drugs import key
from coding.meaning import adds, bag, content, contradicts, extends, share
from coding.problems import PROBLEMS


def mondo_umls(concepts, found, umls):
    of_mondo = {mondo: code.split(":")[1] for mondo, code, _ in umls}
    for id in concepts.table:
        for one in concepts.mondo[id][:1]:
            found.add(id, "MONDO", one, "exact", "table", 10)
        first = concepts.first[id]
        own = [first] if re.fullmatch(r"C\d{7}", first) else concepts.xrefs(id, "UMLS")
        own = own or [of_mondo[one] for one in concepts.mondo[id][:1] if one in of_mondo]
        for code in own[:1]:
            if re.fullmatch(r"C\d{7}", code):
                found.add(id, "UMLS", code, "exact", "table", 10)


def hpo(concepts, found, mondo_hp):
    """HPO by name and by Mondo's cross-references; the identifier alone may be used."""
    by_name, of_cui = collections.defaultdict(dict), collections.defaultdict(list)
    for code, term in concepts.lists.hpo.items():
        if code == term["id"]:
            by_name[bag(term["name"])].setdefault(code, 10)
            for cui in term["cuis"]:
                of_cui[cui].append(code)
            for name in term["synonyms"]:
                # Names for lay people are wider: "abnormal breathing" of dyspnea.
                if (code, name) not in concepts.lists.lay:
                    by_name[bag(name)].setdefault(code, 20)
    of_mondo = collections.defaultdict(list)
    for mondo, code, _ in mondo_hp:
        of_mondo[mondo].append(code)
    for id in concepts.table:
        if concepts.group[id] not in PROBLEMS:
            continue
        label, bags = concepts.names[id][0], {bag(name) for name in concepts.names[id]}
        for code, rank in by_name.get(bag(label), {}).items():
            # HPO's further names are wide; they count if the concept has the term's name or identifier, too.
            if rank == 20 and bag(concepts.lists.hpo[code]["name"]) not in bags and code not in of_cui.get(concepts.first[id], ()):
                continue
            found.add(id, "HPO", code, "exact", "hpo-name", rank)
        for code in [code for mondo in concepts.mondo[id][:1] for code in of_mondo[mondo]]:
            if code in concepts.lists.hpo and any(share(concepts.lists.hpo[code]["name"], name) for name in concepts.names[id]) and not contradicts(concepts.lists.hpo[code]["name"], concepts.names[id]):
                found.add(id, "HPO", code, "exact", "mondo", 15)
        for code in of_cui.get(concepts.first[id], ()):
            term = concepts.lists.hpo[code]["name"]
            if len(of_cui[concepts.first[id]]) == 1 and content(term) <= set().union(*map(content, concepts.names[id])) and not (contradicts(term, concepts.names[id]) or adds(concepts.names[id], term)):
                found.add(id, "HPO", code, "exact", "hpo-umls", 22)
        if not found.of(id, "HPO"):
            for name in concepts.names[id][1:]:
                for code, rank in by_name.get(bag(name), {}).items():
                    term = concepts.lists.hpo[code]["name"]
                    if rank == 10 and not extends(term, label) and not contradicts(term, [label]):
                        found.add(id, "HPO", code, "exact", "hpo-name", 30)
        for one in found.of(id, "HPO")[1:]:
            found.drop(id, "HPO", one.code, "weaker codes beside a better one")


def mesh_labels(rows):
    """key of the label -> MeSH identifiers, of concepts that the vocabularies' tables have from MeSH."""
    labels = collections.defaultdict(set)
    for row in rows:
        own = [xref[5:] for xref in row["xrefs"] if re.fullmatch(r"MESH:[CD]\d{6,9}", xref)]
        if len(own) == 1 and "MESH" in row["sources"]:
            labels[key(row["name"])].update(own)
    return labels


def mesh(concepts, found, maps, mondo_mesh, biomappings, labels):
    """MeSH: as the table has it, of diseases by Mondo, of drugs by RxNorm, ChEBI and the label."""
    of_mondo, of_rxcui, of_chebi = (collections.defaultdict(list) for _ in range(3))
    for mondo, code, _ in mondo_mesh:
        of_mondo[mondo].append(code.split(":")[1])
    for code, rxcuis in maps["mesh"].items():
        for rxcui in rxcuis:
            of_rxcui[rxcui].append(code)
    for a, b, predicate in biomappings:
        if predicate == "skos:exactMatch":
            for one, other in ((a, b), (b, a)):
                if one.startswith("mesh:"):
                    of_chebi[other.upper().replace("CHEBI:CHEBI:", "CHEBI:")].append(one[5:])
    for id in concepts.table:
        sources = concepts.table[id]["sources"]
        for code in concepts.xrefs(id, "MESH"):
            # Of other vocabularies, a wider heading is as likely.
            if concepts.group[id] in PROBLEMS and "MESH" not in sources:
                continue
            if re.fullmatch(r"[CD]\d{6,9}", code):
                found.add(id, "MESH", code, "exact", "table", 12)
        for code in [code for mondo in concepts.mondo[id][:1] for code in of_mondo[mondo]]:
            found.add(id, "MESH", code, "exact", "mondo", 10)
        if concepts.group[id] == "Drug or chemical":
            for code in labels.get(key(concepts.names[id][0]), ()):
                found.add(id, "MESH", code, "exact", "mesh-name", 14)
            for one in found.of(id, "RXNORM")[:1]:
                for code in of_rxcui.get(one.code, ()) if one.match == "exact" else ():
                    found.add(id, "MESH", code, "exact", "rxnorm", 16)
            for chebi in concepts.xrefs(id, "CHEBI"):
                for code in of_chebi.get("CHEBI:" + chebi, ()):
                    found.add(id, "MESH", code, "exact", "biomappings", 18)
    for code, ids in found.owners("MESH").items():
        ranks = {id: found.codes[id, "MESH"][code].rank for id in ids}
        for id in ids:
            if min(ranks.values()) == 10 < ranks[id]:
                found.drop(id, "MESH", code, "a code of another concept by Mondo")
    for id in concepts.table:
        codes = found.of(id, "MESH")
        for one in codes[1:]:
            if one.rank > codes[0].rank:
                found.drop(id, "MESH", one.code, "weaker codes beside a better one")
