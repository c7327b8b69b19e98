"""The lists of codes: what each system has, under which official name, from the files of sources.tsv."""

import csv
import io
import json
import re
import xml.etree.ElementTree

import readers
from coding.meaning import bag

PREFIX = "codes."
# Inputs of the table that the codes need, too.
SHARED = ("gps", "kb", "extra", "doid")
SYSTEMS = ("SNOMEDCT", "ICD10CM", "RXNORM", "MEDRT", "CVX", "LOINC", "ATC", "HPO", "MESH", "UMLS", "UNII", "MONDO")


def read_sssom(data):
    """The rows of a mapping file: (subject, object), without its header of `#` lines."""
    lines = [line for line in readers.lines_of(data) if not line.startswith("#")]
    return [(row["subject_id"], row["object_id"], row.get("predicate_id", "")) for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)]


def read_quoted(data, delimiter):
    """The rows of a table whose cells may stand in quotes, as lists."""
    return list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""), delimiter=delimiter))


class Sources:
    """The contents of the files of sources.tsv in folders, each with the digest written there."""

    def __init__(self, folders, any_release=False):
        self.any_release = any_release
        self.rows = {**readers.source_rows(), **readers.source_rows(codes=True)}
        self.paths = {}
        for name, row in self.rows.items():
            found = [folder / row["file"] for folder in folders if (folder / row["file"]).is_file()]
            if found:
                self.paths[name] = found[0]
            elif name.startswith(PREFIX) or name in SHARED:
                raise ValueError(f"no file {row['file']} in {', '.join(map(str, folders))}; kb/sources.tsv says where it comes from")

    def data(self, name):
        name = name if name in SHARED else PREFIX + name
        return readers.released(name, self.paths[name], self.any_release)

    def tsv(self, name):
        return readers.read_tsv(self.data(name))

    def json(self, name):
        return json.loads(self.data(name))

    def jsonl(self, name):
        return readers.read_jsonl(self.data(name))

    def sssom(self, name):
        return read_sssom(self.data(name))


class Icd10cm:
    """The tabular list: titles, inclusion terms, parents, and what is billable."""

    def __init__(self, tabular, codes):
        self.titles, self.terms, self.parents, self.sections = {}, {}, {}, {}
        root = xml.etree.ElementTree.fromstring(tabular)
        for chapter in root.iter("chapter"):
            number, title = chapter.findtext("name"), chapter.findtext("desc")
            span = re.search(r"\(([A-Z]\w\w-[A-Z]\w\w)\)$", title)
            chapter_id = span.group(1) if span else f"Chapter{number}"
            self.sections[chapter_id] = re.sub(r" \([A-Z]\w\w-[A-Z]\w\w\)$", "", title)
            for section in chapter.findall("section"):
                self.section(section, chapter_id)
        self.billable = {code: row["billable"] for row in codes for code in [row["code"]]}
        self.children = {}
        for code, parent in self.parents.items():
            self.children.setdefault(parent, []).append(code)
        for code in self.titles:
            self.billable.setdefault(code, "0" if code in self.children else "1")
        # category -> its billable code for the plain thing: "Cholera" -> "Cholera, unspecified".
        self.unspecified = {}
        for code, parent in self.parents.items():
            if self.billable.get(code) == "1" and parent in self.titles:
                self.plain_of(code, parent)

    def plain_of(self, code, parent):
        """Notes a code as the plain one of the categories above it with the same title."""
        while parent in self.titles and bag(self.titles[parent]) == bag(self.titles[code]):
            self.unspecified.setdefault(parent, code)
            parent = self.parents[parent]

    def section(self, section, chapter):
        title = section.findtext("desc") or ""
        id = section.get("id")
        id = id if "-" in id else f"{id}-{id}"
        if id not in self.sections:
            self.sections[id] = re.sub(r" \([A-Z]\w\w-[A-Z]\w\w\)$", "", title)
            self.parents[id] = chapter
        for category in section.findall("diag"):
            self.category(category, id)

    def category(self, node, parent):
        code = node.findtext("name")
        self.titles[code], self.parents[code] = node.findtext("desc"), parent
        self.terms[code] = [note.text for kind in ("inclusionTerm", "includes") for note in node.findall(kind + "/note") if note.text]
        for child in node.findall("diag"):
            self.category(child, code)


def loinc_names(sources):
    """code -> (official name, rank of its source, rows that MIMIC-IV has of it)."""
    found = {}
    for code, name, *_ in read_quoted(sources.data("loinc-orders"), ",")[1:]:
        found[code] = name
    for row in sources.tsv("loinc-fhir"):
        found.setdefault(row["loinc"], row["display"])
    for key in ("loinc-mimic-labs", "loinc-mimic-charts", "loinc-mimic-outputs"):
        for row in readers.read_csv(sources.data(key)):
            if row["omop_vocabulary_id"] == "LOINC" and row["omop_concept_code"]:
                found.setdefault(row["omop_concept_code"], row["omop_concept_name"])
    for row in [row for key in ("loinc-srdc", "loinc-srdc-tests") for row in readers.read_csv(sources.data(key))]:
        if re.fullmatch(r"\d+-\d", row["target_code"]):
            found.setdefault(row["target_code"], row["target_display"])
    for row in sorted(sources.tsv("synthea"), key=lambda row: -len(row["display"])):
        if row["system"] == "LOINC":
            # The last choice: not all of its displays are the official names, and the longest one is most often.
            found.setdefault(row["code"], row["display"])
    return {code: " ".join(name.split()) for code, name in found.items() if name.strip() and re.fullmatch(r"\d{1,6}-\d", code)}


def lay_names(data):
    """(term, name) of the names that HPO gives for lay people."""
    found, id = set(), ""
    for line in readers.lines_of(data):
        if line.startswith("id: "):
            id = line[4:]
        elif line.startswith("synonym: ") and " layperson " in line:
            found.add((id, readers.quoted(line[9:])))
    return found


class Lists:
    """Every supplied code with its official name; the lists of codes alone give an empty name."""

    def __init__(self, sources):
        gps = sources.json("gps")
        self.gps = {row["code"]: row["display"] for part in gps["compose"]["include"] for row in part.get("concept", [])}
        self.icd = Icd10cm(sources.data("icd10cm-tabular"), sources.tsv("icd10cm-codes"))
        self.mondo = {id: term for id, term in sources.json("mondo").items() if not term["deprecated"]}
        self.rxnorm = {row["rxcui"]: (row["tty"], row["name"]) for row in sources.tsv("rxnorm")}
        self.medrt = {row["class_id"]: (row["class_type"], row["name"]) for row in sources.tsv("medrt")}
        self.cvx = {row["cvx"]: row["display"] for row in sources.tsv("cvx")}
        self.loinc = loinc_names(sources)
        hpo = sources.data("hpo")
        self.hpo, self.lay = readers.read_obo(hpo), lay_names(hpo)
        self.doid_labels, self.doid_maps = {}, []
        for id, label, xref in read_quoted(sources.data("doid-xrefs"), "\t")[1:]:
            self.doid_labels[id] = label
            self.doid_maps.append((id, re.sub(r"^SNOMEDCT_US_[\d_]+:", "SNOMED:", xref)))
        self.sctid = [(m, code.split(":")[1]) for m, code, _ in sources.sssom("mondo-sctid-exact")]
        self.sctid_other = [(m, code.split(":")[1]) for m, code, _ in sources.sssom("mondo-sctid-xref")]
        self.mondo_icd = [(m, code.split(":")[1]) for m, code, _ in sources.sssom("mondo-icd10cm-exact")]
        self.mondo_icd_other = [(m, code.split(":")[1]) for m, code, _ in sources.sssom("mondo-icd10cm-xref")]
        self.snomed_published = ({code for _, code in self.sctid} | {code for _, code in self.sctid_other}
                                 | {xref[7:] for _, xref in self.doid_maps if xref.startswith("SNOMED:")})
        self.atc, self.atc_maps = set(), []
        self.read_atc(sources)

    def read_atc(self, sources):
        rows = [(row["source_code"], row["target_code"]) for row in readers.read_csv(sources.data("atc"))]
        for row in sources.tsv("cpic"):
            rows += [(row["rxnorm"], code) for code in row["atc"].split(",") if code]
        self.atc_maps = sorted({(rxcui, code) for rxcui, code in rows if re.fullmatch(r"[A-Z]\d\d[A-Z]{2}\d\d", code)})
        self.atc = {code for _, code in self.atc_maps}

    def name(self, system, code):
        """The official name of a code where the licence lets it ship, "" where only the code may, None where the list lacks it."""
        if system == "SNOMEDCT":
            return self.gps.get(code, "" if code in self.snomed_published else None)
        if system == "ICD10CM":
            return self.icd.titles.get(code)
        if system in ("RXNORM", "MEDRT"):
            row = (self.rxnorm if system == "RXNORM" else self.medrt).get(code)
            return row and row[1]
        if system in ("CVX", "LOINC"):
            return (self.cvx if system == "CVX" else self.loinc).get(code)
        if system == "ATC":
            return "" if code in self.atc else None
        if system == "HPO":
            return "" if code in self.hpo else None
        if system == "MONDO":
            return self.mondo[code]["label"] if code in self.mondo else None
        pattern = {"UMLS": r"C\d{7}", "UNII": r"[A-Z0-9]{10}", "MESH": r"[CD]\d{6,9}|Q\d{6}"}[system]
        return "" if re.fullmatch(pattern, code) else None
