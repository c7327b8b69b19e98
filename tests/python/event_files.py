#!/usr/bin/env python3
"""Reads the event files of a training by TensorBoard, and compares them with metrics.jsonl. scripts/test/tensorboard calls it.

    event_files.py PEL

A small model is trained, loses its last checkpoint, and is resumed: TensorBoard must show each step once, with the numbers of the
resumed run.
"""

import json
import pathlib
import struct
import subprocess
import sys
import tempfile

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TINY = ROOT / "shared/tests/fixtures/tiny"
CONCEPTS = [
    {"id": "D1", "name": "fever", "synonyms": ["pyrexia"]},
    {"id": "D2", "name": "chest pain"},
    {"id": "D3", "name": "diabetes mellitus", "synonyms": ["diabetes"]},
]
TEXT = "fever, chest pain, diabetes"
SPANS = [("fever", "D1"), ("chest pain", "D2"), ("diabetes", "D3")]
STEPS = 5

checks = 0


def expect(holds, what):
    global checks
    checks += 1
    if not holds:
        sys.exit(f"event_files.py: {what}")


def single(number):
    """As a float of 32 bits, which an event has."""
    return struct.unpack("<f", struct.pack("<f", number))[0]


def write_corpus(folder):
    lines = lambda rows: "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "kb.jsonl").write_text(lines(CONCEPTS))
    (folder / "documents.jsonl").write_text(lines([{"doc_id": "1", "text": TEXT}]))
    mentions = [
        {"doc_id": "1", "start": TEXT.index(text), "end": TEXT.index(text) + len(text), "text": text, "id": concept}
        for text, concept in SPANS
    ]
    for split in ("train", "dev"):
        (folder / f"mentions.{split}.jsonl").write_text(lines(mentions))


def train(pel, folder):
    settings = [
        "optimiser.batch=2", "negatives.count=1", "negatives.mine_top=2", "model.tied=true", "view.concepts=names",
        "view.mention=bare", "validation.every=2", "checkpoints.every=1", "log.tensorboard=true",
    ]  # fmt: skip
    command = [pel, "train", "--encoder", TINY, "--kb", folder / "kb.jsonl", "--corpus", folder, "--out", folder / "run"]
    command += ["--steps", str(STEPS), "--device", "cpu"]
    for setting in settings:
        command += ["--set", setting]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    expect(done.returncode == 0, done.stderr)


def events_of(run):
    return sorted(path for path in run.iterdir() if path.name.startswith("events.out.tfevents."))


def main(pel):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        run = folder / "run"
        write_corpus(folder)
        train(pel, folder)
        expect(len(events_of(run)) == 1, "expected one event file of an uninterrupted run")
        # As a run that was killed before its last checkpoint.
        last = run / f"checkpoints/step-{STEPS:07}"
        for path in sorted(last.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        last.rmdir()
        train(pel, folder)
        files = events_of(run)
        expect(len(files) == 2, f"expected an event file of each call, found {files}")
        for path in files:
            # The loader checks every checksum.
            first = next(iter(LegacyEventFileLoader(str(path)).Load()))
            expect(first.file_version == "brain.Event:2", f"{path}: found the version {first.file_version}")

        found = EventAccumulator(str(run), size_guidance={"scalars": 0}, purge_orphaned_data=True)
        found.Reload()
        expected = {}
        for line in (run / "metrics.jsonl").read_text().splitlines():
            event = json.loads(line)
            if event["event"] == "step":
                names = {"train/" + name: event[name] for name in ("loss", "gradient_norm", "learning_rate", "pairs_per_s")}
            elif event["event"] == "validation":
                names = ("recall_1", "recall_16", "recall_64", "zero_shot_1", "zero_shot_64", "nil_aupr")
                names = {"validation/" + name: event[name] for name in names if event[name] is not None}
            else:
                continue
            for name, value in names.items():
                expected.setdefault(name, []).append((event["step"], value))
        expect(len(expected) >= 6, f"metrics.jsonl: expected losses and recalls, found {sorted(expected)}")
        tags = found.Tags()["scalars"]
        expect(sorted(tags) == sorted(expected), f"expected the tags {sorted(expected)}, found {sorted(tags)}")
        for name, values in expected.items():
            shown = [(event.step, event.value) for event in found.Scalars(name)]
            singles = [(step, single(value)) for step, value in values]
            expect(shown == singles, f"{name}: expected {singles}, found {shown}")
    print(f"{checks} checks of event files passed")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
