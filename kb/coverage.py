#!/usr/bin/env python3
"""Measures what the default knowledge base covers.

    coverage.py                                    shares of the phrases of phrases.tsv that have a concept
    coverage.py --generics-brands FILE             shares of generics and brands of a MedlinePlus list
    coverage.py --annotated FILE [--redirects F]   share of annotated mentions that have a concept
    coverage.py --texts FILE [--before TABLE]      names found in texts, by exact match
    coverage.py --codes FILE --annotated FILE      share of annotated mentions whose concept has a standard code, by system

A phrase has a concept if one has it as a name, compared without case, hyphens and punctuation. No
name is taken from a list that it is measured with.
"""

import argparse
import collections
import json
import pathlib
import re
import sys

import readers
from identifiers import REDIRECTS, read_redirects

HERE = pathlib.Path(__file__).resolve().parent


def form(name):
    """A name as the program compares it: without case, hyphens, slashes, apostrophes and a final stop."""
    name = re.sub(r"['\u2019]s\b", "", name.lower()).replace("'", "").replace("\u2019", "")
    return " ".join(re.sub(r"[-/_\u2010-\u2015\u00ae\u2122]", " ", name).split()).strip(".,;: ")


class Table:
    """Concepts by the forms of their names."""

    def __init__(self, path):
        self.concepts = {c["id"]: c for c in readers.read_jsonl(readers.content(path))}
        self.by_form = collections.defaultdict(list)
        for concept in self.concepts.values():
            for name in dict.fromkeys(map(form, [concept["name"], *concept["synonyms"]])):
                self.by_form[name].append(concept["id"])

    def find(self, phrase):
        """The identifiers of the concepts of a phrase, in the singular or plural."""
        name = form(phrase)
        forms = [name, name + "s", name[:-1] if name.endswith("s") else name]
        return next((self.by_form[one] for one in forms if one in self.by_form), [])


def share(found, count):
    return f"{found} of {count} ({100 * found / max(count, 1):.1f} %)"


def phrases(table, path=HERE / "phrases.tsv"):
    """Prints the share of each group of phrases, and the phrases without a concept."""
    groups, missing = collections.defaultdict(list), collections.defaultdict(list)
    for line in path.read_text(encoding="utf-8").splitlines()[1:]:
        group, phrase = line.split("\t")
        groups[group].append(bool(table.find(phrase)))
        if not groups[group][-1]:
            missing[group].append(phrase)
    for group, found in groups.items():
        rest = f"; without: {', '.join(missing[group])}" if missing[group] else ""
        print(f"{group}: {share(sum(found), len(found))}{rest}")
    every = [one for found in groups.values() for one in found]
    print(f"all phrases: {share(sum(every), len(every))}")


# What MedlinePlus adds to a drug's name: how it is given.
GIVEN = re.compile(
    r"\b(injection|topical|ophthalmic|oral inhalation|nasal spray|nasal inhalation|nasal|vaginal|rectal|otic|buccal|"
    r"transdermal( patch)?|implants?|intravenous|subcutaneous|sublingual|oral|systemic|patch|inhalation|foam|"
    r"powder|intrauterine|extended-release|long-acting|mucosal|enema|intravitreal|intrathecal|gel|"
    r"and|for|use|system|dermal|periodontal|vaginal cream|suppository|solution|spray|liquid)$", re.I)


def generics_brands(table, path):
    """Prints the shares of single generics and of brands. A row with a comma or "and" in its name is
    a combination; how a drug is given does not belong to its name. Brands are the synonyms."""
    generics, brands = {}, {}
    for row in readers.read_csv(readers.content(path)):
        name = re.sub(r"\s*\([^)]*\)", "", row["Common name"]).strip()
        while GIVEN.search(name) and len(name.split()) > 1:
            name = GIVEN.sub("", name).strip(" ,")
        if not re.search(r",| and |/", name):
            generics[form(name)] = name
        for brand in row["Synonyms"].split("|"):
            # "Norco (as a combination product containing ...)"
            brand = re.sub(r"\s*\(as .*", "", brand).strip()
            if brand:
                brands[form(brand)] = brand
    for what, names in (("generics", generics), ("brands", brands)):
        found = [bool(table.find(name)) for name in names.values()]
        print(f"{what}: {share(sum(found), len(found))}")
    return ([name for name in generics.values() if not table.find(name)],
            [name for name in brands.values() if not table.find(name)])


def annotated(table, path, redirects):
    """Prints the share of annotated mentions with a concept, by type and by source.

    A mention has a concept if its annotated identifier is in the table, after redirects, or if its
    text or preferred name is a name. The first number needs the identifier alone.
    """
    by_type, named, sources = collections.Counter(), collections.Counter(), collections.Counter()
    by_id = lost = 0
    for line in path.read_text(encoding="utf-8").splitlines():
        for mention in json.loads(line)["mentions"]:
            ids = [redirects.get(id, (id,))[0] for id in mention["concept"] or []]
            known = [id for id in ids if id in table.concepts]
            lost += bool(ids) and not known
            by_id += bool(known)
            by_type[mention["type"]] += 1
            found = known or table.find(mention["text"]) or table.find(mention["name"])
            if found:
                named[mention["type"]] += 1
                if not known:
                    sources.update(table.concepts[found[0]]["sources"])
    count = sum(by_type.values())
    print(f"annotated mentions with an identifier of the table: {share(by_id, count)}; lost: {lost}")
    print(f"annotated mentions with a concept: {share(sum(named.values()), count)}")
    for kind, number in sorted(by_type.items(), key=lambda item: -item[1]):
        print(f"  {kind}: {share(named[kind], number)}")
    print("sources of the concepts found by name alone: "
          + ", ".join(f"{source} {n}" for source, n in sources.most_common()))


# What a code of each kind of mention is asked for: the column, the systems, whether a broader code counts, and whether it is needed.
ASKED = {
    "problem": (("SNOMEDCT", ("SNOMEDCT",), True, True), ("ICD10CM exact", ("ICD10CM",), False, False), ("ICD10CM exact or broader", ("ICD10CM",), True, True)),
    "drug": (("RXNORM or MEDRT", ("RXNORM", "MEDRT"), True, False), ("with CVX", ("RXNORM", "MEDRT", "CVX"), True, True), ("MESH", ("MESH",), True, False)),
    "measurement": (("LOINC exact", ("LOINC",), False, False), ("LOINC exact or broader", ("LOINC",), True, True), ("SNOMEDCT", ("SNOMEDCT",), True, False)),
    "procedure": (("SNOMEDCT", ("SNOMEDCT",), True, True), ("LOINC", ("LOINC",), True, False)),
    "anatomy": (("SNOMEDCT", ("SNOMEDCT",), True, True),),
    "device": (("SNOMEDCT", ("SNOMEDCT",), True, True),),
}


def read_codes(path):
    """(concept, system) -> the matches of its codes."""
    codes = collections.defaultdict(set)
    for row in readers.read_tsv(readers.content(path)):
        codes[row["id"], row["system"]].add(row["match"])
    return codes


def coded(table, codes, paths, redirects, missing=None):
    """Prints the share of mentions with a concept of the table whose concept has a code, by kind of mention and system. `missing` is a
    file for the concepts without one: what is missing, how many mentions, identifier, group, name, synonyms."""
    count, found, lacks = collections.Counter(), collections.Counter(), collections.Counter()
    for path in paths:
        for note in readers.read_jsonl(readers.content(path)):
            for mention in note["mentions"]:
                ids = [redirects.get(id, (id,))[0] for id in mention["concept"] or []]
                ids = [id for id in ids if id in table.concepts]
                count[mention["type"]] += bool(ids)
                for column, systems, broader, needed in ASKED[mention["type"]] if ids else ():
                    if any(codes.get((id, system), set()) - (set() if broader else {"broader"}) for id in ids for system in systems):
                        found[mention["type"], column] += 1
                    elif needed:
                        lacks[column, mention["type"], ids[0]] += 1
    for kind, columns in ASKED.items():
        print(f"{kind}: " + "; ".join(f"{column} {share(found[kind, column], count[kind])}" for column, *_ in columns))
    if missing:
        rows = [("missing", "kind", "mentions", "id", "group", "name", "synonyms")]
        for (column, kind, id), n in sorted(lacks.items(), key=lambda item: (item[0][:2], -item[1], item[0][2])):
            concept = table.concepts[id]
            rows.append((column, kind, str(n), id, concept["types"][0], concept["name"], "; ".join(concept["synonyms"][:6])))
        missing.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")


def texts(table, path, before, most):
    """Prints how many names are found in texts by exact match, longest first, and the names that
    only this table has, the most frequent first."""
    def hits(table):
        found = collections.Counter()
        length = max(len(name.split()) for name in table.by_form)
        for text in documents:
            words = re.findall(r"[\w'%.+]+", form_text(text))
            at = 0
            while at < len(words):
                for size in range(min(length, len(words) - at, 12), 0, -1):
                    name = " ".join(words[at:at + size]).strip(".,;: ")
                    if len(name) > 2 and name in table.by_form:
                        found[name] += 1
                        at += size - 1
                        break
                at += 1
        return found

    def form_text(text):
        return re.sub(r"['\u2019]s\b", "", re.sub(r"[-/_\u2010-\u2015]", " ", text.lower()))

    documents = [row["text"] for row in readers.read_jsonl(readers.content(path))]
    now = hits(table)
    print(f"{sum(now.values())} names found in {len(documents)} texts: {sum(now.values()) / len(documents):.1f} a text")
    if before:
        then = hits(before)
        print(f"{sum(then.values())} with the table before: {sum(then.values()) / len(documents):.1f} a text")
        new = [(n - then[name], name) for name, n in now.items() if n > then[name] and name not in before.by_form]
        for n, name in sorted(new, key=lambda item: (-item[0], item[1]))[:most]:
            concept = table.concepts[table.by_form[name][0]]
            print(f"{n}\t{name}\t{concept['id']}\t{concept['name']}\t{concept['types'][0]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", type=pathlib.Path, default=HERE / "default.jsonl.xz", help="the table to measure")
    parser.add_argument("--generics-brands", type=pathlib.Path, metavar="FILE", help="CSV of MedlinePlus: Common name, Synonyms")
    parser.add_argument("--annotated", type=pathlib.Path, metavar="FILE", action="append", help="annotated notes, JSON lines; may be given again")
    parser.add_argument("--codes", type=pathlib.Path, metavar="FILE", help="codes.tsv.xz: measure its codes on the annotated notes")
    parser.add_argument("--without-codes", type=pathlib.Path, metavar="FILE", help="with --codes: write the concepts without a code, the commonest first")
    parser.add_argument("--redirects", type=pathlib.Path, default=REDIRECTS, help="redirects of retired identifiers")
    parser.add_argument("--texts", type=pathlib.Path, metavar="FILE", help="texts, JSON lines")
    parser.add_argument("--before", type=pathlib.Path, metavar="TABLE", help="an earlier table to compare names found with")
    parser.add_argument("--most", type=int, default=200, help="how many new names found to print (default 200)")
    parser.add_argument("--missing", action="store_true", help="print the generics and brands without a concept")
    options = parser.parse_args()
    table = Table(options.table)
    if options.generics_brands:
        missing = generics_brands(table, options.generics_brands)
        if options.missing:
            print("\n".join("; ".join(names) for names in missing))
    redirects = read_redirects(options.redirects) if options.redirects.exists() else {}
    if options.codes:
        coded(table, read_codes(options.codes), options.annotated or [], redirects, options.without_codes)
    for path in options.annotated or [] if not options.codes else []:
        annotated(table, path, redirects)
    if options.texts:
        texts(table, options.texts, Table(options.before) if options.before else None, options.most)
    if not (options.generics_brands or options.annotated or options.texts):
        phrases(table)


if __name__ == "__main__":
    sys.exit(main())
