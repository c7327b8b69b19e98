#!/usr/bin/env python3
"""Links text files with the package pel-linker and prints a line for each mention that is stated of the patient now.

    python3 examples/python/link_notes.py examples/note.txt [MORE.txt ...]
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from pel_linker import Error, Linker


def main(paths: list[str]) -> int:
    if not paths:
        print(__doc__, file=sys.stderr)
        return 2
    linker = Linker.open()
    texts = [Path(path).read_text(encoding="utf-8") for path in paths]
    groups: Counter[str] = Counter()
    # Several texts in one call are faster than one call for each.
    for path, links in zip(paths, linker.link(texts, asserted=True, xrefs=["ICD10CM", "SNOMED"])):
        for link in links:
            if link.concept is None:
                print(path, link.start, link.end, link.text, "NIL", sep="\t")
                continue
            print(path, link.start, link.end, link.text, link.concept.id, link.concept.name, sep="\t")
            groups[link.group or "other"] += 1
    print(", ".join(f"{count} {group}" for group, count in groups.most_common()), file=sys.stderr)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (Error, OSError, UnicodeDecodeError) as error:
        sys.exit(f"{type(error).__name__}: {error}")
