#!/usr/bin/env python3
"""Writes the vectors that sentence-transformers computes from exports of `pel export`, as a golden. Needs requirements.txt.

    exported.py PEL    ../shared/tests/fixtures/tiny -> goldens/exported.json; PEL is the program

The tiny model is bundled and exported in several ways: with and without a linear layer over its vectors, with cosine and dot
product, with one tower and two. `vectors` has a list for each exported folder. transformers reads each folder too: missing and
unknown tensor names are errors.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import tempfile

import numpy
import safetensors.numpy
import sentence_transformers
import transformers

HERE = pathlib.Path(__file__).resolve().parent
GOLDENS, TINY = HERE.parent / "goldens", HERE.parents[1] / "shared" / "tests" / "fixtures" / "tiny"

# The linear layers of the mention and the entity tower, as sizes (0: none), and the options of `pel index`.
WAYS = [
    {"layers": [0], "options": ["--pooling", "mean", "--score", "cosine"]},
    {"layers": [0], "options": ["--pooling", "cls", "--score", "dot"]},
    {"layers": [0.5], "options": ["--pooling", "mention", "--score", "cosine"]},
    {"layers": [0.5, 0.3], "options": ["--pooling", "mean", "--score", "dot"]},
]


def wave(count, size):
    """Values that Python and Rust compute equally."""
    steps = numpy.arange(count) * 37 % 101
    return (size * (steps.astype(numpy.float32) / numpy.float32(50.5) - 1)).astype(numpy.float32)


def encoder(folder, size):
    folder.mkdir()
    for name in ["config.json", "model.safetensors", "tokenizer.json"]:
        shutil.copy(TINY / name, folder)
    if size:
        layer = {"weight": wave(16 * 32, size).reshape(16, 32), "bias": wave(16, size)}
        safetensors.numpy.save_file(layer, folder / "projection.safetensors")
    return folder


def exported(pel, way, scratch):
    """Exports a bundle and returns the written folders."""
    kb = scratch / "kb.jsonl"
    kb.write_text('{"id": "D1", "name": "fever"}\n')
    first, *more = [encoder(scratch / f"encoder{at}", size) for at, size in enumerate(way["layers"])]
    args = ["--device", "cpu", "--kb", kb, "--encoder", first, "--out", scratch / "bundle", *way["options"]]
    for folder in more:
        args += ["--entity-encoder", folder]
    subprocess.run([pel, "index", *args], check=True, capture_output=True)
    out = scratch / "out"
    subprocess.run([pel, "export", scratch / "bundle", "--out", out], check=True, capture_output=True)
    return [out / "mention", out / "entity"] if more else [out]


def vectors(folder, texts):
    _, report = transformers.BertModel.from_pretrained(folder, add_pooling_layer=False, output_loading_info=True)
    assert not any(report[key] for key in ["missing_keys", "unexpected_keys", "mismatched_keys"]), report
    model = sentence_transformers.SentenceTransformer(str(folder), device="cpu")
    # One by one, because padding changes the last digits.
    return [[float(f"{value:.7g}") for value in model.encode(text)] for text in texts]


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("pel")
    pel = pathlib.Path(arguments.parse_args().pel).resolve()
    texts = ["fever", "Pain in the chest", "type 2 diabetes mellitus, without complications"]
    ways = []
    for way in WAYS:
        with tempfile.TemporaryDirectory() as scratch:
            folders = exported(pel, way, pathlib.Path(scratch))
            ways.append({**way, "vectors": [vectors(folder, texts) for folder in folders]})
    (GOLDENS / "exported.json").write_text(json.dumps({"texts": texts, "ways": ways}) + "\n")


if __name__ == "__main__":
    main()
