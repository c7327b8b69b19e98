#!/usr/bin/env python3
"""Gives the concepts of the default knowledge base standard codes, and a hierarchy.

    codes.py --sources DIR [--sources DIR]   writes the four files below from the files of sources.tsv in the folders
    codes.py --identifiers --sources DIR     first merges the pairs of review/doubles.tsv and gives each concept the identifier of the policy

codes.tsv.xz has the codes of each concept, the preferred one of each system first; code_names.tsv.xz the official names of these codes
where the licences let them ship; loinc.tsv.xz those of LOINC, under LOINC's own licence (LOINC_NOTICE.txt); hierarchy.tsv.xz what is a
kind of what. hand_codes.tsv has codes that were chosen by hand; for its concept and system it replaces what the joins found, and "-"
says that no code is right. wrong_codes.tsv has codes and cross-references that were read and found wrong. A code that the supplied list of its system lacks is an error. The same inputs give the same bytes.
"""

import argparse
import collections
import pathlib
import sys

import readers
import reviewed
from coding import analytes, billable, drugs, found, hierarchy, icd, lists, others, policy, problems, rekey, sample
from identifiers import first_ids, read_redirects

HERE = pathlib.Path(__file__).resolve().parent
HAND_HEADER = ["id", "system", "code", "match", "note"]
# Licences that let the names of a system ship with the table. LOINC has a file of its own; ATC and HPO are bare codes.
NAMED = ("SNOMEDCT", "ICD10CM", "RXNORM", "MEDRT", "CVX")


def read_hand(path, ids, redirects):
    """The rows of a list made by hand: (line, id, system, code, match), with the identifiers that the table has now."""
    lines = path.read_text(encoding="utf-8").splitlines()
    if not lines or lines[0].split("\t") != HAND_HEADER:
        raise ValueError(f"{path}:1: expected the columns {', '.join(HAND_HEADER)} between tabs")
    rows, faults, seen = [], [], set()
    for at, line in enumerate(lines[1:], 2):
        columns = line.split("\t") + [""] * (5 - len(line.split("\t")))
        id, system, code, match = (column.strip() for column in columns[:4])
        id = redirects.get(id, (id,))[0] if id not in ids else id
        if id not in ids:
            faults.append(f"{path}:{at}: expected an identifier of the table, found {columns[0]!r}; correct it or take the row out")
        elif system == "SAME":
            continue
        elif system not in lists.SYSTEMS:
            faults.append(f"{path}:{at}: expected a system ({', '.join(lists.SYSTEMS)}), found {system!r}")
        elif code == "-":
            rows.append((at, id, system, code, ""))
        elif match not in found.MATCHES:
            faults.append(f"{path}:{at}: expected a match ({', '.join(found.MATCHES)}), found {match!r}")
        elif (id, system, code) in seen:
            faults.append(f"{path}:{at}: {id} has {system} {code} twice; take one row out")
        else:
            rows.append((at, id, system, code, match))
        seen.add((id, system, code))
    if faults:
        raise ValueError("\n".join(faults))
    return rows


def apply_hand(collected, rows, known, path):
    """Puts the codes chosen by hand in the place of what the joins found for their concept and system."""
    faults = [f"{path}:{at}: {system} {code} is not in the supplied list; choose a code of the list, or \"-\" for none"
              for at, _, system, code, _ in rows if code != "-" and known(system, code) is None]
    if faults:
        raise ValueError("\n".join(faults))
    for id, system in {(id, system) for _, id, system, _, _ in rows}:
        for one in collected.of(id, system):
            collected.drop(id, system, one.code, "replaced by hand")
    for place, (_, id, system, code, match) in enumerate(rows):
        if code != "-":
            collected.add(id, system, code, match, "hand", place)


def read_wrong(path, ids, redirects):
    """(concept, system, code) of the codes and cross-references that were read and found wrong."""
    rows = []
    for at, line in enumerate(path.read_text(encoding="utf-8").splitlines()[1:], 2):
        id, xref = line.split("\t")[:2]
        id = redirects.get(id, (id,))[0] if id not in ids else id
        if id not in ids:
            raise ValueError(f"{path}:{at}: expected an identifier of the table, found {line.split(chr(9))[0]!r}; correct it or take the row out")
        prefix, _, code = xref.partition(":")
        rows.append((id, {"SNOMED": "SNOMEDCT"}.get(prefix, prefix), code))
    return rows


def take_out(collected, wrong):
    for id, system, code in wrong:
        known = collected.codes.get((id, system), {}).get(code)
        if known and known.source != ("hand",):
            collected.drop(id, system, code, "found wrong")


def joined(table, sources, hand, wrong=(), first=None):
    """Everything that the joins and the hand lists give: (concepts, codes)."""
    supplied = lists.Lists(sources)
    concepts = problems.Concepts(table, supplied, first)
    concepts.read_doid(sources.sssom("mondo-doid"))
    collected = found.Found()
    problems.snomed(concepts, collected)
    icd.icd10cm(concepts, collected)
    for system in ("SNOMEDCT", "ICD10CM"):
        problems.weak_beside_strong(collected, system)
        problems.one_concept_for_a_code(collected, system)
    maps = drugs.maps_of(sources, supplied)
    drugs.read_unii(concepts, sources.tsv("unii-2014"))
    drugs.rxnorm(concepts, collected, maps)
    problems.one_concept_for_a_code(collected, "RXNORM")
    drugs.classes(concepts, collected)
    drugs.vaccines(concepts, collected)
    drugs.unii(concepts, collected)
    names = supplied.loinc
    analytes.loinc(concepts, collected, analytes.Loinc(names, *analytes.rows_of(sources, names)))
    others.mondo_umls(concepts, collected, sources.sssom("mondo-umls"))
    others.hpo(concepts, collected, sources.sssom("mondo-hp"))
    problems.one_concept_for_a_code(collected, "HPO")
    take_out(collected, wrong)
    for path, rows in hand:
        apply_hand(collected, rows, supplied.name, path)
    icd.inherited_icd(concepts, collected, {(id, system) for _, rows in hand for _, id, system, _, _ in rows})
    billable.defaults(concepts, collected)
    drugs.atc(concepts, collected)
    others.mesh(concepts, collected, maps, sources.sssom("mondo-mesh"), sources.sssom("biomappings"),
                others.mesh_labels(sources.jsonl("kb") + sources.jsonl("extra")))
    take_out(collected, wrong)
    return concepts, collected


def code_rows(concepts, collected):
    """id, system, code, match, source: the concepts in the order of the table, the systems in that of the lists, the preferred code first."""
    for id in concepts.table:
        for system in lists.SYSTEMS:
            for one in collected.of(id, system):
                if concepts.lists.name(system, one.code) is None:
                    raise ValueError(f"codes.tsv: {id} {system} {one.code} ({'+'.join(one.source)}) is not in the supplied list of {system}; "
                                     "the join must leave it out")
                yield id, system, one.code, one.match, "+".join(one.source)


def name_rows(supplied, rows, tree):
    """system, code, display, billable: of the codes used and of what stands above them."""
    wanted = {(system, code) for _, system, code, _, _ in rows}
    wanted |= {tuple(node.split(":", 1)) for edge in tree.edges for node in edge if node.split(":")[0] in ("ICD10CM", "MEDRT")}
    for system, code in sorted(wanted):
        if system in NAMED:
            name = supplied.icd.sections.get(code) if system == "ICD10CM" and code in supplied.icd.sections else supplied.name(system, code)
            if name:
                yield system, code, name, supplied.icd.billable.get(code, "0") if system == "ICD10CM" else ""


def write(path, header, rows):
    path.write_bytes(rekey.packed_rows(header, rows))


def report(concepts, rows, collected, tree, out):
    for system in lists.SYSTEMS:
        own = [row for row in rows if row[1] == system]
        matches = collections.Counter(row[3] for row in own)
        print(f"{system}: {len({row[0] for row in own})} concepts, {len({row[2] for row in own})} codes; "
              + ", ".join(f"{match} {n}" for match, n in matches.most_common()))
    print("hierarchy: " + ", ".join(f"{source} {n}" for source, n in collections.Counter(tree.edges.values()).most_common()))
    for what, n in sorted((collected.counts + tree.counts).items()):
        print(f"{what}: {n}")
    for name in ("codes.tsv.xz", "code_names.tsv.xz", "loinc.tsv.xz", "hierarchy.tsv.xz"):
        print(f"{name}: {(out / name).stat().st_size} bytes")


def codes_of(options, sources):
    """The concepts of the table, and the codes that the sources and the lists beside it give them."""
    table = readers.read_jsonl(readers.content(options.table))
    ids, redirects = {concept["id"] for concept in table}, read_redirects(options.lists / "redirects.tsv")
    hand = [(path.name, read_hand(path, ids, redirects)) for path in options.hand]
    return joined(table, sources, hand, read_wrong(options.lists / "wrong_codes.tsv", ids, redirects), first_ids(redirects))


# Rounds after which the identifiers no longer change; new identifiers bring no new evidence, merged concepts do.
ROUNDS = 4


def identify(options):
    """Merges the reviewed pairs and gives each concept the identifier of the policy, in the files of the folder."""
    folder = rekey.Folder(options.lists)
    pairs = [(at, id, stays) for at, (id, stays, _) in reviewed.read(options.lists / reviewed.PAIRS, reviewed.PAIRS_HEADER)]
    merged, recoded = folder.merge(pairs), 0
    sources, display = sources_of(options), folder.display()
    for _ in range(ROUNDS):
        if folder.changed:
            folder.save()
        rows = folder.codes
        if sources:
            concepts, collected = codes_of(options, sources)
            rows = list(code_rows(concepts, collected))
            display = {(system, code): concepts.lists.name(system, code) for _, system, code, *_ in rows}
        new = policy.Policy(folder.table, rows, display, folder.first(), folder.owner()).choose()
        count = folder.recode(new)
        if not count:
            break
        recoded += count
    else:
        raise ValueError(f"the identifiers still change after {ROUNDS} rounds; two rules of the policy contradict each other")
    print(f"{len(folder.table)} concepts; {merged} merged, {recoded} with another identifier")
    return bool(sources)


def sources_of(options):
    """The inputs, or None if one is missing: then the committed codes stand for them."""
    try:
        return lists.Sources(options.sources, options.any_release)
    except ValueError as error:
        print(f"codes.py: {error}; the codes of {options.lists / 'codes.tsv.xz'} are used instead", file=sys.stderr)
        return None


def build(options):
    sources = lists.Sources(options.sources, options.any_release)
    concepts, collected = codes_of(options, sources)
    tree = hierarchy.build(concepts, collected, sources)
    rows = list(code_rows(concepts, collected))
    write(options.out / "codes.tsv.xz", ("id", "system", "code", "match", "source"), rows)
    write(options.out / "code_names.tsv.xz", ("system", "code", "display", "billable"), name_rows(concepts.lists, rows, tree))
    loinc = sorted({row[2] for row in rows if row[1] == "LOINC"}, key=lambda code: (int(code.split("-")[0]), code))
    write(options.out / "loinc.tsv.xz", ("LOINC_NUM", "LONG_COMMON_NAME"), ((code, concepts.lists.loinc[code]) for code in loinc))
    (options.out / "LOINC_NOTICE.txt").write_bytes(sources.data("loinc-notice"))
    write(options.out / "hierarchy.tsv.xz", ("child", "parent", "source"), ((*edge, source) for edge, source in sorted(tree.edges.items())))
    if options.sample:
        lines = ["\t".join(row) + "\n" for row in [sample.HEADER, *sample.draw(concepts, rows, options.seed)]]
        options.sample.write_text("".join(lines), encoding="utf-8", newline="\n")
    report(concepts, rows, collected, tree, options.out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sources", type=pathlib.Path, metavar="DIR", action="append", default=[], help="folder with files of sources.tsv; may be given again")
    parser.add_argument("--identifiers", action="store_true",
                        help="merge the pairs of review/doubles.tsv and give each concept the identifier of the policy, in the table and the lists of --out, first")
    parser.add_argument("--table", type=pathlib.Path, default=HERE / "default.jsonl.xz", help="the table of concepts")
    parser.add_argument("--hand", type=pathlib.Path, action="append", metavar="FILE", help="lists made by hand (default hand_codes.tsv); may be given again")
    parser.add_argument("--out", type=pathlib.Path, default=HERE, metavar="DIR", help="folder to write the files into")
    parser.add_argument("--sample", type=pathlib.Path, metavar="FILE", help="write 300 codes, drawn by system, to read one by one")
    parser.add_argument("--seed", type=int, default=1, help="seed of the sample (default 1)")
    parser.add_argument("--any-release", action="store_true", help="accept inputs of other digests than in sources.tsv")
    options = parser.parse_args()
    if not (options.sources or options.identifiers):
        parser.error("the following arguments are required: --sources")
    options.lists = options.out if options.identifiers else HERE
    options.table = options.lists / "default.jsonl.xz" if options.identifiers else options.table
    options.hand = options.hand or [options.lists / "hand_codes.tsv"]
    try:
        if not options.identifiers or identify(options):
            build(options)
    except (OSError, ValueError) as error:
        sys.exit(f"codes.py: {error}")


if __name__ == "__main__":
    main()
