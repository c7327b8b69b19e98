"""Laboratory tests, vital signs, scores and procedures: CDISC's SDTM terminology, which the NCI
Thesaurus publishes."""

import re

from names import key

# The code list, and the clinical group of its terms.
LISTS = {
    "Laboratory Test Name": "Measurement",
    "Vital Signs Test Name": "Measurement",
    "ECG Test Name": "Measurement",
    "Respiratory Test Name": "Measurement",
    "Category of Clinical Classification": "Measurement",
    "Procedure": "Procedure",
}
MOST_WORDS = 5
# Statistics of a test, research questionnaires and forms that only a data set has.
NOT_CLINICAL = re.compile(r"\b(version|percentile|z-score|interpretation|indicator|other|comment|"
                          r"comparison|for-age|category|form|item|diary|adult|pediatric|child|"
                          r"aggregate|individual|single|mean|median|minimum|maximum|baseline|research|"
                          r"clinical trial|study|studies)\b", re.I)
# Codes of a data set, and short forms that short_forms.tsv has if they are used in notes.
CODES = re.compile(r"^[A-Z0-9]{1,3}$|^[A-Z]{2,6}\d+$|^[A-Z0-9]{2,5}-[A-Z0-9]$")


def plain(name):
    """A term in capitals as it is written: BRACHYTHERAPY, INTRACAVITARY -> intracavitary brachytherapy."""
    if not name.isupper() or not re.search("[ ,]", name) or re.search(r"\d", name):
        return name
    parts = name.split(", ")
    name = f"{parts[1]} {parts[0]}" if len(parts) == 2 else name
    return name.lower()


def usable(name):
    return (2 < len(name) <= 60 and len(name.split()) <= MOST_WORDS and not NOT_CLINICAL.search(name)
            and not re.search(r"[();\[\]<>=,]|/(?!.*\bratio\b)", name, re.I) and bool(re.search(r"[A-Za-z]{2}", name)))


def concepts(rows, substances, measured):
    """The terms of the code lists as concepts; one with the same NCIt code in two lists is one.

    `substances` has the key of each substance's name, and whether it is a medicine. A test that is
    named like a substance which is no medicine is the same concept (`troponin`). The level of a
    medicine is a concept only if `measured`, the keys of measurements of other sources, has it; and
    it shares the plain name with the medicine if that is also made by the body or eaten (`glucose`),
    which a definition cannot tell, so the international name decides.
    """
    found = {}
    for row in rows:
        kind = LISTS.get(row["Codelist Name"])
        if kind is None or not row["Codelist Code"]:
            continue
        preferred = row["NCI Preferred Term"]
        submitted = row["CDISC Submission Value"]
        synonyms = [part.strip() for part in row["CDISC Synonym(s)"].split(";")]
        names = [plain(name) for name in (submitted, *synonyms) if name and not CODES.match(name)]
        definition = row["CDISC Definition"] or None
        if kind == "Procedure":
            names = [preferred, *names]
        elif row["Codelist Name"].startswith("Category"):
            # The definition is a citation.
            definition = None
            names = [re.sub(r" Clinical Classification$", "", preferred)]
            names += [submitted] if re.fullmatch(r"[A-Z][A-Z-]{3,}", submitted) else []
        else:
            names.append(preferred)
        names = [name for name in dict.fromkeys(names) if usable(name)]
        if not names:
            continue
        concept = found.setdefault(row["Code"], {
            "id": f"NCIT:{row['Code']}", "names": [], "kind": kind, "types": [], "type_ids": [],
            "definition": definition, "xrefs": [f"NCIT:{row['Code']}"], "sources": ["CDISC"],
            "only_identifier": False, "shared": set(),
        })
        concept["names"] += [name for name in names if name not in concept["names"]]
    for concept in found.values():
        names = concept["names"]
        medicines = [name for name in names if substances.get(key(name))]
        if medicines:
            # The label says that it is a test.
            names.sort(key=lambda name: name in medicines)
            concept["only_identifier"] = names[0] in medicines or not any(
                key(name) in measured for name in names)
            concept["shared"] = {name.lower() for name in medicines}
        elif key(names[0]) in substances:
            concept["kind"] = "Drug or chemical"
    return list(found.values())
