#!/usr/bin/env python3
"""Writes a synthetic Metathesaurus in Rich Release Format: MRCONSO, MRSTY, MRDEF, MRRANK, MRCUI and MRFILES.

Usage: synthetic_rrf.py --rows 5000000 --out META

The proportions follow a release: about 2.2 names a concept in 8 languages, 2 of 3 in English, 1 of 12 suppressed, a
definition for 1 concept of 8, a retired identifier for 1 of 4. Names are made of medical words. The same numbers give
the same files. Only the standard library is needed.
"""
import argparse
import pathlib
import random

WORDS = """acute chronic severe mild recurrent primary secondary congenital acquired idiopathic familial diffuse focal
left right bilateral upper lower anterior posterior proximal distal renal hepatic cardiac pulmonary gastric cerebral
femoral tibial carotid aortic venous arterial lymphatic cutaneous ocular nasal dental spinal pelvic thyroid adrenal
pancreatic splenic intestinal esophageal tracheal muscular neural epithelial fever cough pain edema anemia infection
neoplasm carcinoma adenoma sarcoma fracture stenosis thrombosis embolism ischemia necrosis fibrosis ulcer abscess
hernia cyst lesion syndrome disease disorder injury insufficiency failure hypertrophy atrophy dysplasia inflammation
aspirin insulin heparin morphine digoxin warfarin amoxicillin metformin prednisone lisinopril tablet capsule injection
solution measurement procedure biopsy resection repair replacement examination finding protein receptor antigen
antibody gene kinase oxidase type I II III alpha beta gamma due to with without of the""".split()
SOURCES = [
    ("SNOMEDCT_US", "PT", 40), ("SNOMEDCT_US", "SY", 60), ("MSH", "MH", 15), ("MSH", "ET", 30), ("NCI", "PT", 20),
    ("NCI", "SY", 30), ("MTH", "PN", 10), ("RXNORM", "SCD", 15), ("LNC", "LN", 20), ("ICD10CM", "PT", 12),
]
FOREIGN = [("SPA", "SCTSPA"), ("FRE", "MSHFRE"), ("GER", "MSHGER"), ("POR", "MSHPOR"), ("DUT", "MSHDUT"),
           ("ITA", "MSHITA"), ("JPN", "MDRJPN")]
TYPES = [("T047", "B2.2.1.2.1", "Disease or Syndrome"), ("T184", "A2.2.2", "Sign or Symptom"),
         ("T121", "A1.4.1.1.1", "Pharmacologic Substance"), ("T061", "B1.3.1.3", "Therapeutic or Preventive Procedure"),
         ("T116", "A1.4.1.2.1.7", "Amino Acid, Peptide, or Protein")]
COLUMNS = {
    "MRCONSO.RRF": "CUI,LAT,TS,LUI,STT,SUI,ISPREF,AUI,SAUI,SCUI,SDUI,SAB,TTY,CODE,STR,SRL,SUPPRESS,CVF",
    "MRSTY.RRF": "CUI,TUI,STN,STY,ATUI,CVF",
    "MRDEF.RRF": "CUI,AUI,ATUI,SATUI,SAB,DEF,SUPPRESS,CVF",
    "MRRANK.RRF": "RANK,SAB,TTY,SUPPRESS",
    "MRCUI.RRF": "CUI1,VER,REL,RELA,MAPREASON,CUI2,MAPIN",
}


class Table:
    """A table that counts its rows."""

    def __init__(self, folder, name):
        self.name, self.rows = name, 0
        self.file = open(folder / name, "w", encoding="utf-8", newline="\n")

    def add(self, *fields):
        self.file.write("|".join(fields) + "|\n")
        self.rows += 1

    def close(self):
        self.file.close()


def write(folder, rows, seed):
    chance = random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    names, types, definitions, ranks, retired = tables = [Table(folder, name) for name in COLUMNS]
    weights = [weight for _, _, weight in SOURCES]
    pairs = [(source, kind) for source, kind, _ in SOURCES]
    for at, (source, kind) in enumerate(pairs):
        ranks.add(f"{500 - at:04}", source, kind, "N")

    concept = 0
    while names.rows < rows:
        concept += 1
        cui = f"C{concept:07}"
        base = chance.choices(WORDS, k=chance.randint(1, 6))
        count = min(chance.choice((1, 1, 1, 2, 2, 3, 4, 5)), rows - names.rows)
        chosen = chance.choices(pairs, weights, k=count)
        for at, (source, kind) in enumerate(chosen):
            row = names.rows + 1
            language = "ENG"
            if chance.random() < 0.33:
                language, source = chance.choice(FOREIGN)
            words = base if at == 0 else base + chance.choices(WORDS, k=chance.randint(1, 2))
            name = " ".join(words) + (f" {row % 9973}" if chance.random() < 0.6 else "")
            if at == 0:
                name = name.capitalize()
            suppress = chance.choices("NOYE", (92, 5, 2, 1))[0]
            names.add(cui, language, "P" if at == 0 else "S", f"L{row:07}", "PF" if at == 0 else "VO", f"S{row:07}",
                      "Y" if at == 0 else "N", f"A{row:07}", "", "", "", source, kind, f"{row}", name, "0", suppress, "256")
        for kind in chance.sample(TYPES, 1 if chance.random() < 0.8 else 2):
            types.add(cui, *kind, f"AT{concept:08}", "256")
        if concept % 8 == 0:
            definitions.add(cui, f"A{names.rows:07}", f"AT{concept:08}", "", chosen[0][0],
                            " ".join(chance.choices(WORDS, k=25)), "N", "")
        if concept % 4 == 0:
            old = f"C8{concept:06}"
            if concept % 3:
                retired.add(old, "2020AA", "SY", "", "", cui, "Y")
            else:
                retired.add(old, "2020AA", "DEL", "", "", "", "")
    for table in tables:
        table.close()
    with open(folder / "MRFILES.RRF", "w", encoding="utf-8", newline="\n") as files:
        for table in tables:
            size = (folder / table.name).stat().st_size
            columns = COLUMNS[table.name]
            files.write(f"{table.name}|{table.name}|{columns}|{columns.count(',') + 1}|{table.rows}|{size}|\n")
    return concept


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=5_000_000, help="rows of MRCONSO (default: 5,000,000)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for the tables")
    args = parser.parse_args()
    concepts = write(args.out, args.rows, args.seed)
    print(f"{args.out}: {args.rows:,} names of {concepts:,} concepts")


if __name__ == "__main__":
    main()
