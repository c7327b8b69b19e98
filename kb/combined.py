#!/usr/bin/env python3
"""Writes the table of combined codes that the program has built in, from combined.tsv and the titles of ICD-10-CM.

    combined.py --sources DIR [--sources DIR]      with the files of sources.tsv in the folders

A row is a code of a concept, what the text must say beside it, and the code that means both. combined.tsv has the rows that were chosen by
hand; sides and the stages of pressure ulcers follow from titles that differ in nothing else. A code that is not in the list, or cannot be
billed, fails with its file and line. The same inputs give the same bytes.
"""

import argparse
import pathlib
import sys

import readers
from coding import combined, lists

HERE = pathlib.Path(__file__).resolve().parent
OUT = HERE.parent / "shared" / "output" / "src" / "combined" / "table.tsv"


def source(name, folders):
    """The content of an input of sources.tsv."""
    file = readers.source_rows(codes=True)[name]["file"]
    for folder in folders:
        if (folder / file).is_file():
            return readers.released(name, folder / file)
    raise ValueError(f"no file {file} in {', '.join(map(str, folders))}; kb/sources.tsv says where it comes from")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sources", type=pathlib.Path, metavar="DIR", action="append", required=True, help="folder with files of sources.tsv; may be given again")
    parser.add_argument("--out", type=pathlib.Path, default=OUT, metavar="FILE", help="the file to write")
    options = parser.parse_args()
    try:
        tabular, codes = (source(f"codes.icd10cm-{name}", options.sources) for name in ("tabular", "codes"))
        icd = lists.Icd10cm(tabular, readers.read_tsv(codes))
        coded = {row["code"] for row in readers.read_tsv(readers.content(HERE / "codes.tsv.xz")) if row["system"] == "ICD10CM"}
        rows = combined.build(icd, combined.read(HERE / "combined.tsv", icd), coded & set(icd.titles))
        lines = ["\t".join(row) + "\n" for row in [("from", "when", "code", "display"), *rows]]
        options.out.write_text("".join(lines), encoding="utf-8", newline="\n")
        print(f"{options.out.name}: {len(rows)} rows, {len({row[2] for row in rows})} codes")
    except (OSError, ValueError) as error:
        sys.exit(f"combined.py: {error}")


if __name__ == "__main__":
    main()
