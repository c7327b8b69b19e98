"""Training in half floats with FGSM and mining on a Vulkan device, as scripts/test/vulkan runs it.

usage: half_floats.py PEL ENCODER FOLDER [DEVICE]

Trains a small model four times: on the processor and on the device in f32, on the device in f16, and on the device in f32 with
figures that are read back after each step. The losses of f32 are near those of the processor, those of f16 a little less, and
when figures are read changes none of them.
"""

import json
import math
import subprocess
import sys
from pathlib import Path

STEPS, MINE_EVERY = 12, 4
CONCEPTS = ["fever", "cough", "chest pain", "headache", "heart failure", "renal failure", "nausea", "asthma"]
MENTIONS = [
    ("high fever", "fever"),
    ("a dry cough", "cough"),
    ("pain in the chest", "chest pain"),
    ("kidney failure", "renal failure"),
]
SETTINGS = [
    "model.dropout=0",
    "view.mention_tokens=16",
    "view.entity_tokens=16",
    "negatives.kind=hard",
    "negatives.count=2",
    f"negatives.mine_every={MINE_EVERY}",
    "negatives.mine_top=3",
    "fgsm.lambda=1",
    "optimiser.batch=4",
    "validation.mentions=0",
]


def write_data(folder: Path) -> None:
    lines = {
        "kb": [{"id": name, "name": name, "definition": f"what is called {name}"} for name in CONCEPTS],
        "documents": [
            {"doc_id": str(at), "text": f"since monday {text}", "split": "train"} for at, (text, _) in enumerate(MENTIONS)
        ],
        "mentions.train": [
            {"doc_id": str(at), "start": 13, "end": 13 + len(text), "text": text, "id": name}
            for at, (text, name) in enumerate(MENTIONS)
        ],
    }
    for name, all_lines in lines.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in all_lines))


def train(pel: str, encoder: str, folder: Path, name: str, device: str, more: list[str]) -> list[float]:
    """The losses of a run."""
    settings = [word for setting in SETTINGS + more for word in ("--set", setting)]
    command = [pel, "train", "--encoder", encoder, "--kb", folder / "kb.jsonl", "--corpus", folder, "--steps", str(STEPS)]
    command += ["--device", device, *settings, "--out", folder / name]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    events = [json.loads(line) for line in (folder / name / "metrics.jsonl").read_text().splitlines()]
    steps = [event for event in events if event["event"] == "step"]
    assert [event["step"] for event in steps] == list(range(1, STEPS + 1)), f"{name}: {steps}"
    mined = [event["step"] for event in events if event["event"] == "mining"]
    assert mined == list(range(0, STEPS, MINE_EVERY)), f"{name}: hard negatives were mined after the steps {mined}"
    for event in steps:
        assert "fgsm" in event, f"{name}: a step without FGSM: {event}"
        assert math.isfinite(event["loss"]) and math.isfinite(event["gradient_norm"]), f"{name}: {event}"
    return [event["loss"] for event in steps]


def off(found: list[float], expected: list[float]) -> float:
    return max(abs(a - b) / max(abs(b), 1.0) for a, b in zip(found, expected))


def main() -> None:
    pel, encoder, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    device = sys.argv[4] if len(sys.argv) > 4 else "vulkan"
    write_data(folder)
    processor = train(pel, encoder, folder, "processor", "cpu", [])
    floats = train(pel, encoder, folder, "f32", device, [])
    each = train(pel, encoder, folder, "f32-each", device, ["log.every=1"])
    half = train(pel, encoder, folder, "f16", device, ["model.precision=f16"])
    assert off(floats, processor) < 1e-3, f"f32: {floats}, on the processor {processor}"
    assert off(each, floats) < 1e-5, f"read after each step: {each}, together {floats}"
    assert off(half, floats) < 0.05, f"f16: {half}, f32 {floats}"
    assert half != floats, "nothing was rounded"
    print(f"losses differ by at most {off(floats, processor):.1e} from the processor's in f32, {off(half, floats):.1e} in f16")


if __name__ == "__main__":
    main()
