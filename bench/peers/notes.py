"""A folder of notes for `pel bench --notes`: given texts, or the example note with shuffled lines."""

import pathlib
import random

EXAMPLE = pathlib.Path(__file__).resolve().parent.parent.parent / "examples" / "note.txt"


def make_notes(folder, count, texts=None):
    """Writes at most `count` notes and returns a description of them; `texts` is a folder of .txt files."""
    folder.mkdir(parents=True)
    if texts is None:
        lines = [line for line in EXAMPLE.read_text(encoding="utf-8").splitlines() if line.strip()]
        chance = random.Random(1)
        for at in range(count):
            chance.shuffle(lines)
            (folder / f"{at:05}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
        return f"{count} notes: {EXAMPLE.name} with its lines shuffled, so all have the same mentions"
    given = sorted(texts.rglob("*.txt"))[:count]
    for at, path in enumerate(given):
        (folder / f"{at:05}.txt").write_bytes(path.read_bytes())
    return f"{len(given)} notes from {texts.name}"
