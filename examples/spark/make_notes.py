#!/usr/bin/env python3
"""Makes notes for trying and measuring: sections of real-style texts, composed by a seed.

    make_notes.py --notes 5000 --out notes/                                       paragraphs of the example notes
    make_notes.py --notes 5000 --texts texts.jsonl.xz --out notes/ --files 8      sections of these texts

--texts is JSON with one object a line that has `text`, packed or not. A note has one to four sections in an order that the seed
chooses, each under a heading. Texts are used evenly. The output is NAME-00000.jsonl and so on, with `id` and `text`; a folder
gets --files of them. The same arguments make the same notes.
"""

import argparse
import json
import lzma
import random
import sys
from collections.abc import Iterator
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent.parent
HEADINGS = (
    "Chief complaint",
    "History of present illness",
    "Past medical history",
    "Medications",
    "Examination",
    "Results",
    "Assessment and plan",
)


def sections(texts: Path | None) -> list[str]:
    """Sections that notes are made of."""
    if texts is None:
        parts = [part for file in sorted(EXAMPLES.glob("*.txt")) for part in file.read_text("utf-8").split("\n\n")]
    else:
        opened = lzma.open(texts, "rt", encoding="utf-8") if texts.suffix == ".xz" else texts.open(encoding="utf-8")
        with opened as lines:
            parts = [json.loads(line)["text"] for line in lines if line.strip()]
    parts = [part.strip() for part in parts if part.strip()]
    if not parts:
        raise ValueError("expected texts, found none")
    return parts


def notes(count: int, seed: int, texts: Path | None) -> Iterator[dict[str, str]]:
    """`count` notes."""
    parts = sections(texts)
    chance = random.Random(seed)
    left: list[str] = []
    for at in range(count):
        chosen = []
        for heading in sorted(chance.sample(range(len(HEADINGS)), chance.randint(1, 4))):
            if not left:
                left = chance.sample(parts, len(parts))
            chosen.append(f"{HEADINGS[heading]}\n{left.pop()}")
        yield {"id": f"note-{at:07}", "text": "\n\n".join(chosen) + "\n"}


def write(made: Iterator[dict[str, str]], path: Path) -> None:
    """Writes notes as JSON lines."""
    with path.open("w", encoding="utf-8", newline="\n") as out:
        for note in made:
            out.write(json.dumps(note, ensure_ascii=False) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notes", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--texts", type=Path, help="texts to take sections from [the example notes]")
    parser.add_argument("--files", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True, help="a folder that is made")
    chosen = parser.parse_args()
    if chosen.notes < 1 or not 1 <= chosen.files <= chosen.notes:
        parser.error("expected 1 or more notes, and no more files than notes")
    if chosen.out.exists():
        parser.error(f"expected a new folder, found {chosen.out}")
    chosen.out.mkdir(parents=True)
    made = list(notes(chosen.notes, chosen.seed, chosen.texts))
    for at in range(chosen.files):
        first, end = (len(made) * edge // chosen.files for edge in (at, at + 1))
        write(iter(made[first:end]), chosen.out / f"notes-{at:05}.jsonl")
    return 0


if __name__ == "__main__":
    sys.exit(main())
