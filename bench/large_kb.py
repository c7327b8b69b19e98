#!/usr/bin/env python3
"""Makes a knowledge base as large as UMLS from the names of smaller ones.

    large_kb.py --kb kb/default.jsonl.xz [--kb MORE.jsonl ...] --out large.jsonl [--concepts 2400000] [--seed 0]

UMLS needs a licence, so that its names cannot be in a repository. This table has the size and the kinds of names of UMLS 2025: 2.4
million concepts with about 5 million English names. The concepts of the given tables come first, unchanged. The others are composed
of their names in the ways that clinical terminologies compose names: "left fracture of femur", "warfarin 5 MG Oral Tablet", "acute
pain due to gout", "Excision of lesion of liver". Their synonyms are variants: inverted ("Gout, acute"), British spellings, a tag
("(disorder)"), plurals, and Spanish, German and French words for the words that are in a small dictionary.

The names are not all medically sensible. They serve to measure size, time and memory, and how often a nearer neighbour is missed,
not the accuracy of links. The same tables and seed give the same bytes.
"""

import argparse
import json
import lzma
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

# The clinical group of a concept by its first type. Types of other tables are those of UMLS.
GROUPS = {
    "Disease": "problem",
    "Sign or symptom": "problem",
    "Biologic Function": "problem",
    "Finding": "problem",
    "Anatomy": "anatomy",
    "Anatomical Structure": "anatomy",
    "Cell": "anatomy",
    "Drug or chemical": "drug",
    "Chemical": "drug",
    "Procedure": "procedure",
    "Health Care Activity": "procedure",
    "Organism": "organism",
    "Eukaryote": "organism",
    "Measurement": "measurement",
}

SIDES = ["left", "right", "bilateral", "upper", "lower", "anterior", "posterior", "distal", "proximal", "lateral", "medial"]
COURSES = ["acute", "chronic", "recurrent", "subacute", "congenital", "acquired", "severe", "mild", "moderate", "suspected",
           "secondary", "primary", "drug-induced", "postoperative", "neonatal", "juvenile", "refractory", "resolved", "familial"]
EVENTS = ["fracture", "contusion", "laceration", "neoplasm", "benign tumor", "abscess", "pain", "edema", "infection", "hematoma",
          "stenosis", "ulcer", "burn of second degree", "foreign body", "hemorrhage", "inflammation", "atrophy", "swelling", "cyst"]
ACTIONS = ["excision", "biopsy", "repair", "incision", "drainage", "ultrasonography", "computed tomography", "magnetic resonance imaging",
           "radiography", "endoscopy", "injection", "destruction", "transplantation", "reconstruction", "inspection", "dilation",
           "removal of foreign body", "resection", "needle aspiration", "physical therapy"]
FORMS = ["Oral Tablet", "Oral Capsule", "Injectable Solution", "Oral Solution", "Topical Cream", "Extended Release Oral Tablet",
         "Transdermal System", "Ophthalmic Solution", "Rectal Suppository", "Inhalation Powder", "Oral Suspension", "Topical Ointment"]
STRENGTHS = ["0.5 MG", "1 MG", "2 MG", "2.5 MG", "4 MG", "5 MG", "10 MG", "12.5 MG", "20 MG", "25 MG", "40 MG", "50 MG", "75 MG",
             "80 MG", "100 MG", "150 MG", "200 MG", "250 MG", "300 MG", "400 MG", "500 MG", "600 MG", "750 MG", "1 GM", "5 MG/ML",
             "10 MG/ML", "50 MG/ML", "100 UNT/ML", "0.1 %", "1 %"]
STAGES = ["stage I", "stage II", "stage III", "stage IV", "grade 1", "grade 2", "grade 3", "type 1", "type 2", "type 3", "class II"]
SPECIMENS = ["serum", "plasma", "urine", "cerebrospinal fluid", "whole blood", "saliva", "stool", "pleural fluid", "red blood cells"]
PROPERTIES = ["mass concentration", "presence", "substance concentration", "catalytic activity", "titer", "number fraction", "antibody"]
PEOPLE = ["patient", "mother", "father", "sibling", "child", "caregiver"]

BRITISH = [("edema", "oedema"), ("hemorrhage", "haemorrhage"), ("hematoma", "haematoma"), ("tumor", "tumour"), ("anemia", "anaemia"),
           ("leukemia", "leukaemia"), ("esophag", "oesophag"), ("fetal", "foetal"), ("pediatric", "paediatric"), ("diarrhea", "diarrhoea"),
           ("ischemi", "ischaemi"), ("gynec", "gynaec"), ("orthopedic", "orthopaedic"), ("hypoglycemia", "hypoglycaemia")]

# Words in Spanish, German and French.
TRANSLATIONS = {
    "acute": ("agudo", "akut", "aigu"), "chronic": ("crónico", "chronisch", "chronique"), "severe": ("grave", "schwer", "sévère"),
    "left": ("izquierdo", "links", "gauche"), "right": ("derecho", "rechts", "droit"), "pain": ("dolor", "Schmerz", "douleur"),
    "fracture": ("fractura", "Fraktur", "fracture"), "infection": ("infección", "Infektion", "infection"),
    "disease": ("enfermedad", "Krankheit", "maladie"), "of": ("de", "von", "de"), "and": ("y", "und", "et"), "with": ("con", "mit", "avec"),
    "syndrome": ("síndrome", "Syndrom", "syndrome"), "liver": ("hígado", "Leber", "foie"), "heart": ("corazón", "Herz", "coeur"),
    "lung": ("pulmón", "Lunge", "poumon"), "kidney": ("riñón", "Niere", "rein"), "skin": ("piel", "Haut", "peau"),
    "bone": ("hueso", "Knochen", "os"), "blood": ("sangre", "Blut", "sang"), "carcinoma": ("carcinoma", "Karzinom", "carcinome"),
    "cancer": ("cáncer", "Krebs", "cancer"), "neoplasm": ("neoplasia", "Neubildung", "néoplasme"), "fever": ("fiebre", "Fieber", "fièvre"),
    "congenital": ("congénito", "angeboren", "congénital"), "due": ("debido", "wegen", "dû"), "muscle": ("músculo", "Muskel", "muscle"),
    "artery": ("arteria", "Arterie", "artère"), "vein": ("vena", "Vene", "veine"), "nerve": ("nervio", "Nerv", "nerf"),
    "deficiency": ("deficiencia", "Mangel", "déficit"), "disorder": ("trastorno", "Störung", "trouble"), "eye": ("ojo", "Auge", "oeil"),
    "brain": ("cerebro", "Gehirn", "cerveau"), "hemorrhage": ("hemorragia", "Blutung", "hémorragie"), "edema": ("edema", "Ödem", "oedème"),
}
TAGS = {"problem": "disorder", "anatomy": "body structure", "drug": "substance", "procedure": "procedure", "measurement": "procedure",
        "organism": "organism"}
TYPES = {
    "problem": "Disease or Syndrome",
    "anatomy": "Body Part, Organ, or Organ Component",
    "drug": "Clinical Drug",
    "procedure": "Therapeutic or Preventive Procedure",
    "measurement": "Laboratory Procedure",
    "organism": "Organism",
    "finding": "Finding",
}

Names = dict[str, list[str]]
Make = Callable[[random.Random, Names], str]


def any_of(group: str) -> Make:
    return lambda at, names: at.choice(names[group])


def composed(at: random.Random, names: Names) -> tuple[str, str]:
    """A group and a new name."""
    problem, anatomy, drug, procedure = (any_of(group) for group in ("problem", "anatomy", "drug", "procedure"))
    pick = at.choice
    kinds: list[tuple[float, str, Callable[[], str]]] = [
        (14, "problem", lambda: f"{pick(COURSES)} {problem(at, names)}"),
        (14, "problem", lambda: f"{pick(EVENTS)} of {pick(SIDES)} {anatomy(at, names)}"),
        (6, "problem", lambda: f"{pick(EVENTS)} of {anatomy(at, names)} due to {problem(at, names)}"),
        (5, "problem", lambda: f"{problem(at, names)} with {problem(at, names)}"),
        (5, "problem", lambda: f"{problem(at, names)}, {pick(STAGES)}"),
        (4, "problem", lambda: f"{pick(['poisoning by', 'allergy to', 'adverse reaction to'])} {drug(at, names)}"),
        (3, "finding", lambda: f"family history of {problem(at, names)} in {pick(PEOPLE)}"),
        (16, "drug", lambda: f"{drug(at, names)} {pick(STRENGTHS)} {pick(FORMS)}"),
        (6, "drug", lambda: f"{drug(at, names)} / {drug(at, names)} {pick(FORMS)}"),
        (10, "procedure", lambda: f"{pick(ACTIONS)} of {pick(SIDES)} {anatomy(at, names)}"),
        (4, "procedure", lambda: f"{procedure(at, names)} for {problem(at, names)}"),
        (7, "anatomy", lambda: f"{pick(SIDES)} {pick(['part', 'surface', 'border', 'wall', 'branch'])} of {anatomy(at, names)}"),
        (6, "measurement", lambda: f"{drug(at, names)} [{pick(PROPERTIES)}] in {pick(SPECIMENS)}"),
    ]
    if names["organism"]:
        kinds.append((3, "organism", lambda: f"{pick(names['organism'])} strain {at.randrange(1, 100000)}"))
    _, group, make = at.choices(kinds, weights=[weight for weight, _, _ in kinds])[0]
    return group, make()


def variants(name: str, group: str, at: random.Random) -> Iterator[str]:
    """Other names of the same concept, most frequent kinds first."""
    words = name.split(" ")
    if at.random() < 0.5 and len(words) > 1 and words[1] not in ("of", "for", "history", "reaction"):
        yield f"{' '.join(words[1:])}, {words[0]}"
    if at.random() < 0.3 and group in TAGS:
        yield f"{name[0].upper()}{name[1:]} ({TAGS[group]})"
    if at.random() < 0.5:
        british = name
        for american, other in BRITISH:
            british = british.replace(american, other)
        if british != name:
            yield british
    if at.random() < 0.25 and " of " in name:
        head, _, rest = name.partition(" of ")
        yield f"{rest} {head}"
    translated = [TRANSLATIONS.get(word.lower()) for word in words]
    if sum(word is not None for word in translated) * 3 >= len(words):
        for language in range(3):
            if at.random() < 0.4:
                yield " ".join(word[language] if word else own for own, word in zip(words, translated))
    if at.random() < 0.08:
        yield f"{name} NOS"


def read(path: Path) -> Iterator[dict]:
    with (lzma.open(path, "rt", encoding="utf-8") if path.suffix == ".xz" else path.open(encoding="utf-8")) as lines:
        for number, line in enumerate(lines, 1):
            try:
                concept = json.loads(line)
                concept["id"], concept["name"]
            except (ValueError, KeyError, TypeError) as error:
                sys.exit(f"{path}:{number}: expected a concept with id and name, found {error!r}")
            yield concept


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kb", type=Path, action="append", required=True, help="a concept table, plain or .xz; several may be given")
    parser.add_argument("--names", type=Path, help="more names of drugs, one a line")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--concepts", type=int, default=2_400_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    own, ids, seen = [], set(), set()
    names: Names = {group: [] for group in set(GROUPS.values())}
    for path in options.kb:
        for concept in read(path):
            # Tables overlap: of equal names the first table's concept stays.
            if concept["id"] in ids or concept["name"].lower() in seen:
                continue
            ids.add(concept["id"])
            own.append(concept)
            group = GROUPS.get((concept.get("types") or [""])[0])
            for name in [concept["name"], *concept.get("synonyms", [])]:
                seen.add(name.lower())
                if group and 3 < len(name) <= 60:
                    names[group].append(name)
    if options.names:
        names["drug"].extend(line.strip() for line in options.names.open(encoding="utf-8") if 3 < len(line.strip()) <= 60)
    for group in ("problem", "anatomy", "drug", "procedure"):
        if not names[group]:
            sys.exit(f"expected concepts of the group {group} in the tables, found none")

    at = random.Random(options.seed)
    concepts = total = 0
    with options.out.open("w", encoding="utf-8") as out:
        for concept in own[: options.concepts]:
            out.write(json.dumps(concept, ensure_ascii=False) + "\n")
            concepts += 1
            total += 1 + len(concept.get("synonyms", []))
        while concepts < options.concepts:
            group, name = composed(at, names)
            if name.lower() in seen:
                continue
            seen.add(name.lower())
            synonyms = []
            for synonym in variants(name, group, at):
                if synonym.lower() not in seen:
                    seen.add(synonym.lower())
                    synonyms.append(synonym)
            concept = {"id": f"L{concepts:07}", "name": name, "synonyms": synonyms, "types": [TYPES[group]], "sources": ["COMPOSED"]}
            out.write(json.dumps(concept, ensure_ascii=False) + "\n")
            concepts += 1
            total += 1 + len(synonyms)
    print(f"{options.out}: {concepts} concepts with {total} names")


if __name__ == "__main__":
    main()
