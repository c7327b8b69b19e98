"""LOINC codes of tests by the analyte, and of imaging by the plain study."""

import collections
import re

import readers
from coding.meaning import BRITISH, SAME

# Property, specimen and method of a long common name.
LONG_NAME = re.compile(r"^(?P<analyte>.+?)(?: \[(?P<property>[^\]]*)\])?(?: (?:in|of|from) (?P<specimen>.+?))?(?: by (?P<method>.+))?$")
# What a test's name says of the specimen, and the specimens of LOINC that this allows; the first is the default.
SPECIMENS = (
    (re.compile(r"\b(urine|urinary|in urine|urinalysis)\b", re.I), ("Urine", "24 hour Urine", "Urine sediment")),
    (re.compile(r"\b(csf|cerebrospinal)\b", re.I), ("Cerebral spinal fluid",)),
    (re.compile(r"\b(stool|fecal|faecal)\b", re.I), ("Stool",)),
    (re.compile(r"", re.I), ("Serum or Plasma", "Serum", "Blood", "Plasma", "Platelet poor plasma", "Serum, Plasma or Blood",
                             "Arterial blood", "Blood or Marrow")),
)
PROPERTIES = ("Mass/volume", "Moles/volume", "Enzymatic activity/volume", "#/volume", "Units/volume", "Volume Fraction", "Ratio", "Titer",
              "Presence", "", "Mass Ratio", "Time Ratio", "Entitic volume", "Time", "#/area", "Identifier", "Interpretation")
# Words of a test's name that are no part of the analyte.
NO_ANALYTE = re.compile(r"\b(measurements?|levels?|tests?|testing|assays?|concentrations?|serum|plasma|blood|urine|urinary|csf|cerebrospinal fluid|stool|fecal|faecal|"
                        r"determination|value|quantitative|total|in|of|the)\b", re.I)
ANALYTES = {
    "leukocyte": "wbc", "leucocyte": "wbc", "white cell": "wbc", "erythrocyte": "rbc", "red cell": "rbc", "alanine transaminase": "alanine aminotransferase",
    "choriogonadotropin": "hcg", "human chorionic gonadotropin": "hcg", "thyrotropin": "tsh", "thyroid stimulating hormone": "tsh", "bun": "urea nitrogen",
}
# Quantities that say nothing of the specimen.
GENERIC = frozenset(("volume", "weight", "mass", "number", "count", "identifier", "cell"))
# A substance with this name is also the test of it.
SUBSTANCE_TEST = re.compile(r" (measurement|level|levels)$", re.I)
IMAGING = re.compile(r"\b(X-ray|CT|MRI|US|Mammogram|DXA|MRA|Fluoroscopic angiogram)\b")
MODALITIES = ((re.compile(r"\b(computed tomography|ct scan|cat scan|ct)\b", re.I), "ct"), (re.compile(r"\b(x-?rays?|radiograph[sy]?|radiography|xr|plain film)\b", re.I), "xray"),
              (re.compile(r"\b(magnetic resonance imaging|mri scan|mri|mr)\b", re.I), "mri"), (re.compile(r"\b(ultrasound|ultrasonography|sonography|sonogram|us)\b", re.I), "us"),
              (re.compile(r"\b(mammogram|mammography)\b", re.I), "mammogram"))


def plain_words(name):
    name = name.lower().replace("'s", "")
    for pattern, by in BRITISH:
        name = pattern.sub(by, name)
    found = []
    for word in re.findall(r"[a-z0-9]+", name):
        if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "is", "us")):
            word = word[:-1]
        found.append(word)
    text = " ".join(found)
    return ANALYTES.get(text, text)


def analyte_key(name, official=False):
    """The analyte that a test's name or an analyte of LOINC means, its words in order of the alphabet. An official one has no specimen:
    plasma cells are no cells."""
    short = name if official else " ".join(NO_ANALYTE.sub(" ", name).split())
    short = " ".join(word for word in short.split() if word.lower() not in ("of", "the", "in"))
    return " ".join(sorted(plain_words(short or name).split()))


def plain_key(name):
    """The key of a name without specimen: all its words but those in brackets and "measurement"."""
    name = re.sub(r"\s*\([^()]*\)", "", name)
    return " ".join(sorted(word for word in plain_words(name).split() if word not in ("measurement", "of", "the")))


def imaging_key(name):
    for pattern, by in MODALITIES:
        name = pattern.sub(by, name)
    return " ".join(sorted({SAME.get(word, word) for word in plain_words(name).split()} - {"view", "of", "the", "scan", "plain"}))


class Loinc:
    """The analytes of the official names, with the rows that hospitals have of each code."""

    def __init__(self, names, rows, labels):
        self.names, self.rows = names, rows
        self.analytes, self.studies, self.plain = (collections.defaultdict(set) for _ in range(3))
        for code, name in names.items():
            if re.search(r"\b(Donor|Blood product unit|Fetus|Cord blood)\b|susceptib", name, re.I):
                continue
            if IMAGING.search(name):
                self.studies[imaging_key(name)].add(code)
            parts = LONG_NAME.match(name)
            if parts["property"] or parts["specimen"]:
                self.analytes[analyte_key(parts["analyte"].replace(".total", ""), official=True)].add((parts["specimen"] or "", parts["property"] or "", parts["method"] or "", code))
            else:
                self.plain[plain_key(name)].add(code)
        # What laboratories call a test: (label, fluid) -> codes.
        for label, fluid, code in labels:
            parts = LONG_NAME.match(names[code])
            self.analytes[analyte_key(label)].add((fluid or parts["specimen"] or "", parts["property"] or "", parts["method"] or "", code))

    def best(self, name):
        """The codes of a test's name, the commonest first, all of the specimens that the name allows, and none of another meaning."""
        allowed = next(allowed for pattern, allowed in SPECIMENS if pattern.search(name))
        options = self.analytes.get(analyte_key(name), set())
        if not any(specimen in allowed for specimen, *_ in options) and allowed == SPECIMENS[-1][1]:
            # Casts and crystals are of the urine alone.
            allowed = SPECIMENS[0][1] if all(specimen in SPECIMENS[0][1] for specimen, *_ in options) else ()
        if analyte_key(name) in GENERIC:
            return []
        found = {}
        for specimen, kind, method, code in options:
            if specimen in allowed and kind in PROPERTIES:
                rank = (-self.rows.get(code, 0), allowed.index(specimen), PROPERTIES.index(kind), bool(method), len(self.names[code]), code)
                found[code] = min(found.get(code, rank), rank)
        return sorted(found, key=found.get)


def rows_of(sources, names):
    """code -> rows of MIMIC-IV; and (label, specimen, code) of its laboratory tests and of labunits."""
    rows, labels = collections.Counter(), []
    for row in readers.read_csv(sources.data("loinc-mimic-labs")):
        code = row["omop_concept_code"]
        if row["omop_vocabulary_id"] == "LOINC" and code in names:
            rows[code] += int(row["labevents_row_count"] or 0)
            if row["fluid"] in ("Blood", "Urine"):
                labels.append((row["label"], row["fluid"], code))
    for code, row in sources.json("loinc-labunits").items():
        if code in names and set(row["specimen"]) & {"serum", "plasma"}:
            labels.append((row["name"], "Serum or Plasma", code))
    return rows, labels


def loinc(concepts, found, tables):
    """Tests: the commonest code of the analyte; one more for another unit of the same specimen. Imaging: the plain study."""
    for id in concepts.table:
        names = concepts.names[id]
        if concepts.group[id] == "Measurement" or any(SUBSTANCE_TEST.search(name) for name in names):
            for at, name in enumerate(names):
                best = tables.best(name)
                for place, code in enumerate(best[:1] + [code for code in best[1:2] if " by " not in tables.names[code]]):
                    found.add(id, "LOINC", code, "exact", "loinc-name", (10 if at == 0 else 30) + place)
                for code in sorted(tables.plain.get(plain_key(name), ())):
                    found.add(id, "LOINC", code, "exact", "loinc-name", (10 if at == 0 else 30) + (5 if best else 0))
        elif concepts.group[id] == "Procedure":
            for at, name in enumerate(names):
                for code in sorted(tables.studies.get(imaging_key(name), ())):
                    found.add(id, "LOINC", code, "exact", "loinc-name", 10 if at == 0 else 30)
        codes = found.of(id, "LOINC")
        for one in codes[2:]:
            found.drop(id, "LOINC", one.code, "more than two codes of a test")
