#!/usr/bin/env python3
"""Builds the default knowledge base, default.jsonl.xz, from open vocabularies. Needs only Python 3.9
or later.

    build.py --check default.jsonl.xz    counts the violations of the rules of README.md
    build.py --sources DIR               builds the table from the files of sources.tsv in DIR
    build.py --KEY FILE ...              the same, with single files named

sources.tsv lists the inputs: where each comes from, its release, licence and digest. `fetch` gets
those that registries have. The output depends only on the inputs: no clock, no randomness, no set
order. The licence of the Human Phenotype Ontology forbids changes, so nothing is taken from it.
"""

import argparse
import collections
import json
import lzma
import pathlib
import re
import sys

import actions
import compiled
import drugs
import everyday
import findings
import identifiers
import laboratory
import readers
import reviewed
import short_forms
from compiled import DISEASES, is_disease, without_hpo
from merging import Names, apply_clinical, attach, merge_same_names
from names import EITHER_OR, is_classified, is_small_acronym, key, shorter

HERE = pathlib.Path(__file__).resolve().parent
LEXICON = HERE.parent / "shared/text/src/detect/lexicon"

# Sources whose licences allow redistribution with changes; see LICENSES.md. HPO is not among them.
OPEN = {"MONDO", "ORDO", "NCIT", "NIFSTD", "UBERON", "DOID", "DOID2016", "SYMP", "CHEBI", "GO", "CL",
        "PATO", "MPATH", "NBO", "PR", "BIOMAPPINGS", "MESH", "MEDMENTIONS", "PEL", "UNII", "DRUGSFDA",
        "DRUGBANK", "CDISC", "MAXO", "SNOMEDGPS"}
INPUTS = ("kb", "extra", "doid", "symp", "mentions", "documents", "unii", "products", "drugbank", "cdisc",
          "maxo", "gps", "english", "webster", "notes")
# Synonyms of a concept from the vocabularies of diseases and anatomy, and in all.
MOST_SYNONYMS, MOST_IN_ALL = 8, 12


def clinical_rows():
    """The rows of clinical.tsv: (type, name, synonyms)."""
    with open(HERE / "clinical.tsv", encoding="utf-8") as file:
        next(file)
        rows = [line.rstrip("\n").split("\t") for line in file]
    return [(kind, name, [s for s in synonyms.split("|") if s]) for kind, name, synonyms in rows]


# ---- check

def faults_of(concept, ours=frozenset()):
    """The violations of a row, as (rule, name). Names in `ours` were chosen by hand and are not checked."""
    name, kind = concept["name"], concept["types"][0] if concept["types"] else None
    sources = set(concept["sources"])
    own = {"sources": concept["sources"], "types": concept["types"][1:], "xrefs": concept["xrefs"]}
    if kind == "Anatomy" and is_disease(own):
        yield "a disease typed Anatomy", name
    if kind == "Organism" and sources & DISEASES:
        yield "a disease typed Organism", name
    if not sources or not sources <= OPEN:
        yield "a source without a licence", f"{sorted(sources - OPEN)} ({name})"
    for at, synonym in enumerate([name, *concept["synonyms"]]):
        others = [other for other in [name, *concept["synonyms"]] if other != synonym]
        if synonym.lower() in ours:
            continue
        if at and is_classified(synonym):
            yield "a place on an unnamed scale", f"{synonym} ({name})"
        if is_small_acronym(synonym, others):
            yield "an acronym in small letters", f"{synonym} ({others[0]})"
        if at and synonym.lower() in everyday.EVERYDAY:
            yield "an everyday word", f"{synonym} ({name})"
        if EITHER_OR.search(synonym):
            yield "one of two names", f"{synonym} ({name})"


def check(path):
    """Prints the number of violations of each rule, with examples; returns whether there are none."""
    faults = collections.defaultdict(list)
    table = readers.read_jsonl(readers.content(path))
    ours = {one.lower() for _, name, synonyms in clinical_rows() for one in (name, *synonyms)}
    ours |= {one.lower() for _, _, wordings in reviewed.wordings() for one in wordings}
    ours |= {one.lower() for row in short_forms.rows() for one in (row["short_form"], row["sense"])}
    for concept in table:
        for rule, what in faults_of(concept, ours):
            faults[rule].append(f"{concept['id']} {what}")
    ids = collections.Counter(concept["id"] for concept in table)
    faults["an identifier used twice"] += [id for id, count in ids.items() if count > 1]
    faults["identifiers of earlier releases"] += identifiers.faults(
        identifiers.read_released(), identifiers.read_redirects(), table)
    for rule, rows in sorted(faults.items()):
        if rows:
            print(f"{len(rows)} x {rule}: " + "; ".join(rows[:5]) + (" ..." if len(rows) > 5 else ""))
    count = sum(map(len, faults.values()))
    print(f"{path}: {count} faults")
    return not count


# ---- build

def pool_of_vocabularies(data, counts):
    """The concepts of the compiled tables, merged, with the terms of clinical.tsv; and the concept
    that a name of clinical.tsv belongs to."""
    doid, symp = readers.read_obo(data["doid"]), readers.read_obo(data["symp"])
    surfaces = collections.defaultdict(collections.Counter)
    for mention in data["mentions"]:
        surfaces[mention["cui"]][mention["text"]] += 1
    pool = []
    for concept in data["kb"]:
        if "HPO" in concept["sources"]:
            concept = without_hpo(concept, doid, symp, surfaces)
            counts["made again without HPO" if concept else "left out: HPO alone"] += 1
            if concept is None:
                continue
        assert set(concept["sources"]) <= OPEN, concept
        pool.append(compiled.prepared(concept, compiled.primary(concept), compiled.choose_cui(concept)))
    for concept in data["extra"]:
        if concept["sources"] == ["HPO"]:
            counts["left out: HPO alone"] += 1
            continue
        assert set(concept["sources"]) <= OPEN, concept
        chosen, kind = compiled.choose_extra(concept)
        pool.append(compiled.prepared(concept, kind, chosen))
    pool = [concept for concept in pool if concept]
    merge_same_names(pool)
    added, owner = apply_clinical(pool, clinical_rows())
    return pool + added, owner


def attach_sources(pool, owner, data, english, counts):
    """Adds the drugs, findings, laboratory tests and medical actions to the pool."""
    attach(pool, owner, drugs.concepts(data["unii"], data["products"], data["drugbank"], english),
           counts, "drugs")
    medicines = {id(concept) for concept in pool if "UNII" in concept["sources"]}
    words = clinical_words(pool)
    gps = list(findings.concepts(data["gps"], english.is_everyday,
                                 lambda word: word in words or english.is_clinical(word)))
    attach(pool, owner, gps, counts, "findings")
    measured = {key(name) for concept in gps if concept["kind"] == "Measurement"
                for name in concept["names"]}
    attach(pool, owner, laboratory.concepts(data["cdisc"], substances(pool, medicines), measured),
           counts, "laboratory tests")
    attach(pool, owner, actions.concepts(readers.read_obo(data["maxo"])), counts, "medical actions")


def clinical_words(pool):
    """Words that make a phrase a clinical one: those of our terms, and the labels of one word of body
    parts, diseases, signs and functions."""
    found = set()
    for kind, name, synonyms in clinical_rows():
        if kind != "Organism":
            found |= {word for one in (name, *synonyms) for word in re.findall(r"[a-z]{4,}", one.lower())}
    for concept in pool:
        label = concept["names"][0].lower()
        if concept["chosen"] and concept["kind"] in ("Anatomy", "Disease", "Sign or symptom") \
                and re.fullmatch("[a-z]{4,}", label):
            found.add(label)
    return found - everyday.EVERYDAY


def substances(pool, medicines):
    """key of a label -> whether the substance is a medicine, for the concepts of substances."""
    found = {}
    for concept in pool:
        if not concept["gone"] and concept["kind"] == "Drug or chemical":
            for name in concept["names"]:
                found[key(name)] = found.get(key(name), False) or id(concept) in medicines
    return found


def table_of(pool, owner, senses, data, english, counts):
    """The rows of the table: each concept with the names that are its own."""
    words = everyday.acronyms_that_are_words(pool, data["documents"])
    other_sense = everyday.words_of_other_sense(pool, data["mentions"], data["documents"])
    other_sense |= everyday.quality_words(pool)
    organisms = everyday.organisms_of(data["kb"])
    # The program finds an acronym that is one of these words in capitals alone.
    bound = {line.strip() for name in ("ordinary.txt", "stopped.txt")
             for line in (LEXICON.parent / name).read_text(encoding="utf-8").splitlines()}
    # A synonym is dropped if it is the label of another concept. The names of the vocabularies of
    # diseases and anatomy do not give way to labels of the sources that were added to them.
    labels, new_labels, old = collections.defaultdict(set), collections.defaultdict(set), set()
    for concept in pool:
        low = concept["names"][0].lower()
        (new_labels if concept.get("new") else labels)[low].add(concept["id"])
        if not concept.get("new"):
            old.update(name.lower() for name in concept["names"])
    table = []
    for concept in pool:
        def own(name, at, added):
            """Why a name is not the concept's; empty if it is."""
            low = name.lower()
            ours = owner.get(low) is concept
            shared = low in concept.get("shared", ())
            # A label that is only an acronym is dropped too; the next name becomes the label.
            others = [other for other in concept["names"] if other != name]
            if low in senses and concept["id"] not in senses[low] and at > 0:
                return "a short form of other concepts"
            if low in owner and not ours and not shared:
                return "ours elsewhere"
            if (low in everyday.EVERYDAY or low in words) and not ours and not shared:
                return "everyday words"
            if not ours and low not in senses and low not in bound and re.fullmatch("[A-Z]{3,5}", name) \
                    and english.is_word(low) and english.is_old_word(low) and not english.is_clinical(low):
                return "acronyms that are English words"
            if not ours and is_small_acronym(name, others):
                return "acronyms in small letters"
            if not ours and at > 0 and (concept["id"], low) in other_sense:
                return "words that texts use in another sense"
            if not ours and at > 0 and concept["kind"] == "Disease" and low in organisms:
                return "the organism, not the disease"
            others = labels[low] | (new_labels[low] if added else set())
            if at > 0 and not ours and not shared and others - {concept["id"]}:
                return "another concept's label"
            if (added or concept.get("new")) and low not in old and concept["kind"] != "Drug or chemical" and (
                    english.is_everyday(low) or re.fullmatch(r"[A-Z]{1,4}s?", name)):
                return "everyday words and codes of further sources"
            return ""

        reviewed = list(dict.fromkeys(concept.get("short_forms", ())))
        names, before = {}, len(concept["names"])
        for at, name in enumerate([*concept["names"], *reviewed, *concept.get("added", ())]):
            why = "" if before <= at < before + len(reviewed) else own(name, at, at >= before)
            if why:
                counts[f"names left out: {why}"] += 1
            else:
                names.setdefault(name.lower(), name)
        if not names:
            counts["left out: no name of its own"] += 1
            continue
        kept = {name.lower() for name in concept["names"]} & names.keys()
        mine = [low for low in names if owner.get(low) is concept]
        first = [low for low in names if low in kept][: max(MOST_SYNONYMS, len(mine)) + 1]
        short = [name.lower() for name in reviewed if name.lower() not in first]
        rest = [low for low in names if low not in first and low not in short and low not in kept]
        most = max(concept.get("most", 0) or MOST_IN_ALL, len(first) + len(short) - 1)
        chosen = [*first[:1], *short, *first[1:], *rest] if first else [*rest[:1], *short, *rest[1:]]
        chosen = [names[low] for low in chosen][: most + 1]
        types = dict.fromkeys([concept["kind"], *concept["types"]])
        table.append({
            "id": concept["id"], "name": chosen[0], "synonyms": chosen[1:], "types": list(types),
            "type_ids": list(dict.fromkeys(concept["type_ids"])), "definition": shorter(concept["definition"]),
            "xrefs": sorted(set(concept["xrefs"])), "sources": sorted(set(concept["sources"])),
        })
    table.sort(key=lambda concept: (not concept["id"].startswith("C"), concept["id"]))
    twice = [id for id, n in collections.Counter(c["id"] for c in table).items() if n > 1]
    if twice:
        raise ValueError(f"expected one concept for each identifier, found several: {twice[:5]}")
    assert all(set(concept["sources"]) <= OPEN for concept in table)
    return table


def packed(table):
    lines = "".join(json.dumps(concept, ensure_ascii=False, separators=(",", ":")) + "\n" for concept in table)
    return lzma.compress(lines.encode(), preset=9 | lzma.PRESET_EXTREME)


def inputs_of(options, parser):
    """key -> path, from the options for single files and the folder of `--sources`."""
    paths = {name: getattr(options, name) for name in INPUTS}
    for name, row in readers.source_rows().items():
        if paths[name] is None and options.sources:
            paths[name] = options.sources / row["file"]
    missing = [name for name in INPUTS if paths[name] is None]
    if missing:
        parser.error("the following arguments are required: " + ", ".join(f"--{name}" for name in missing))
    absent = [str(path) for path in paths.values() if not path.is_file()]
    if absent:
        parser.error("no such file: " + ", ".join(absent) + "; sources.tsv says where each comes from")
    return paths


READ = {
    "kb": readers.read_jsonl, "extra": readers.read_jsonl, "mentions": readers.read_jsonl,
    "documents": readers.read_jsonl, "notes": readers.read_jsonl, "unii": readers.lines_of,
    "products": readers.read_xlsx, "drugbank": readers.read_csv, "cdisc": readers.read_tsv,
    "gps": json.loads, "webster": readers.read_pickled_words,
    "english": lambda data: everyday.english_counts(readers.lines_of(data)),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", type=pathlib.Path, metavar="TABLE",
                        help="check a table against the rules, without building one")
    parser.add_argument("--sources", type=pathlib.Path, metavar="DIR", help="folder with the files of sources.tsv")
    for name, row in readers.source_rows().items():
        parser.add_argument(f"--{name}", type=pathlib.Path, metavar="FILE", help=row["release"].replace("%", "%%"))
    parser.add_argument("--any-release", action="store_true", help="accept inputs of other digests than in sources.tsv")
    parser.add_argument("--previous", type=pathlib.Path, metavar="TABLE",
                        help="the table that this one replaces; writes redirects.tsv and identifiers.txt.xz")
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "default.jsonl.xz", help="the table to write")
    options = parser.parse_args()
    if options.check:
        sys.exit(0 if check(options.check) else 1)
    try:
        build(options, inputs_of(options, parser))
    except (OSError, ValueError) as error:
        sys.exit(f"build.py: {error}")


def build(options, paths):
    data = {}
    for name, path in paths.items():
        data[name] = READ.get(name, bytes)(readers.released(name, path, options.any_release))
    abstracts = [document["text"] for document in data["documents"] if document["casing"] == "original"]
    notes = [note["text"] for note in data["notes"]]
    given = everyday.unpacked((LEXICON / "given.txt").read_text(encoding="utf-8").splitlines())
    english = everyday.English(data["english"], data["webster"], given, abstracts, notes)

    counts = collections.Counter()
    pool, owner = pool_of_vocabularies(data, counts)
    attach_sources(pool, owner, data, english, counts)
    # The lists beside the table have the identifiers of the policy, which codes.py gives; the pool has those of the sources.
    first = identifiers.first_ids(identifiers.read_redirects()) if identifiers.REDIRECTS.exists() else {}
    senses = short_forms.apply(pool, Names(pool, owner), [{**row, "concept": first.get(row["concept"], row["concept"])} for row in short_forms.rows()])
    pool = [concept for concept in pool if not concept["gone"] and concept["chosen"]]
    table = table_of(pool, owner, senses, data, english, counts)
    doubles = [(at, id, first.get(stays, stays), name) for at, id, stays, name in reviewed.doubles()]
    table = reviewed.apply(table, doubles, [(at, first.get(id, id), names) for at, id, names in reviewed.wordings()], counts)
    options.out.write_bytes(packed(table))
    if options.previous:
        record_identifiers(readers.read_jsonl(readers.content(options.previous)), table)
    report(table, counts, options.out)


def record_identifiers(previous, table):
    """Writes the identifiers of all releases and the redirects of the retired ones."""
    released = {concept["id"] for concept in [*previous, *table]}
    if identifiers.RELEASED.exists():
        released |= set(identifiers.read_released())
    former = {concept["id"]: concept["name"] for concept in previous}
    found = identifiers.redirects_of(released, table, former)
    if identifiers.REDIRECTS.exists():
        for id, (to, reason) in identifiers.read_redirects().items():
            if id in found and not found[id][0] and to:
                # A chain: the former successor was retired, too.
                to = to if to not in found else found[to][0]
                found[id] = (to, reason if to else "retired")
    identifiers.write_released(released)
    identifiers.write_redirects(found)


def report(table, counts, path):
    print(f"{len(table)} concepts, {sum(1 + len(c['synonyms']) for c in table)} names, "
          f"{sum(c['definition'] is not None for c in table)} definitions, {path.stat().st_size} bytes packed")
    for title, of in (("type", lambda c: c["types"][:1]), ("source", lambda c: c["sources"])):
        tally = collections.Counter(value for concept in table for value in of(concept))
        print(f"by {title}: " + ", ".join(f"{name} {n}" for name, n in sorted(tally.items(), key=lambda i: (-i[1], i[0]))))
    for what, n in sorted(counts.items()):
        print(f"{what}: {n}")


if __name__ == "__main__":
    main()
