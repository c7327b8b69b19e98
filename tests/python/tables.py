#!/usr/bin/env python3
"""Tests `pel link` over tables as other programs write them, and its manifest when it is killed. scripts/test/tables calls it.

    tables.py PEL      PEL: a program with the cargo feature `parquet`

Parquet files with every compression are written by pyarrow and read by pel; Parquet output is read by pyarrow. A run over many
tables is killed at random times and started again, until it is complete. Each note must be linked once, as by one undisturbed run.
"""

import csv
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import time

import pyarrow
import pyarrow.parquet

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TINY = ROOT / "shared/tests/fixtures/tiny"
CONCEPTS = [
    {"id": "D1", "name": "fever", "types": ["Sign"]},
    {"id": "D2", "name": "chest pain", "types": ["Sign"]},
    {"id": "D3", "name": "diabetes mellitus", "synonyms": ["diabetes"], "types": ["Disease"]},
]
TEXTS = ["Fever.\r\nNo chest pain.", "", "😷 diabetes", "Chest  pain and fèver, fever."]
NOTES = 150
SHARDS = 30
PER_SHARD = 60

PEL = ""
checks = 0


def expect(holds, what):
    global checks
    checks += 1
    if not holds:
        raise SystemExit(f"tables: expected {what}")


def pel(*arguments, code=0):
    done = subprocess.run([PEL, *map(str, arguments)], capture_output=True, text=True, timeout=600)
    words = " ".join(map(str, arguments))
    expect(done.returncode == code, f"exit code {code} of pel {words}, found {done.returncode}: {done.stderr}")
    expect("panicked" not in done.stderr, f"no panic: {done.stderr}")
    return done.stderr if code else done.stdout


def rows(number):
    return [{"note_id": f"n{at}", "text": TEXTS[at % len(TEXTS)], "year": 2000 + at} for at in range(number)]


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


def test_parquet(folder, link):
    notes = rows(NOTES)
    plain = folder / "notes.jsonl"
    plain.write_text("".join(json.dumps(note) + "\n" for note in notes), encoding="utf-8")
    expected = lines(pel(*link, plain, "--format", "jsonl"))
    expect(len(expected) > NOTES, f"links of {NOTES} notes")
    for line in expected:
        text = notes[int(line["doc"][1:])]["text"]
        expect(text[line["start_code_point"] : line["end_code_point"]] == line["text"], "offsets in code points")
    table = pyarrow.Table.from_pylist(notes)
    variants = {"large": table.cast(pyarrow.schema([("note_id", pyarrow.large_string()), ("text", pyarrow.large_string()), ("year", pyarrow.int64())]))}
    variants["dictionary"] = table.set_column(1, "text", table["text"].dictionary_encode())
    options = [(name, one, {}) for name, one in variants.items()]
    options += [(name, table, {"compression": name}) for name in ["none", "snappy", "gzip", "brotli", "lz4", "zstd"]]
    options += [("pages-2", table, {"data_page_version": "2.0", "row_group_size": 7}), ("plain", table, {"use_dictionary": False, "data_page_size": 64})]
    for name, one, how in options:
        path = folder / f"{name}.parquet"
        pyarrow.parquet.write_table(one, path, **how)
        expect(lines(pel(*link, path, "--format", "jsonl")) == expected, f"the same links from Parquet: {name}")
    # Whole numbers as identifiers; null as text.
    numbers = pyarrow.table({"id": pyarrow.array([7, 8], pyarrow.int32()), "note_text": pyarrow.array([None, "fever"])})
    pyarrow.parquet.write_table(numbers, folder / "numbers.parquet")
    found = lines(pel(*link, folder / "numbers.parquet", "--format", "jsonl"))
    expect([line["doc"] for line in found] == ["8"], "a number as name")
    for broken, says in [({"a": [1]}, "expected a column text"), ({"text": [1.5]}, "column text: expected texts")]:
        pyarrow.parquet.write_table(pyarrow.table(broken), folder / "broken.parquet")
        expect(says in pel(*link, folder / "broken.parquet", code=3), says)
    whole = (folder / "snappy.parquet").read_bytes()
    generator = random.Random(1)
    for _ in range(60):
        damaged = bytearray(whole)
        for _ in range(generator.randrange(1, 4)):
            damaged[generator.randrange(len(damaged))] ^= 1 << generator.randrange(8)
        (folder / "damaged.parquet").write_bytes(damaged[: generator.choice([len(damaged), generator.randrange(len(damaged))])])
        done = subprocess.run([PEL, *map(str, link), folder / "damaged.parquet", "--format", "jsonl"], capture_output=True, text=True, timeout=60)
        expect(done.returncode in (0, 3, 6), f"links or an error of damaged Parquet, found {done.returncode}: {done.stderr[-500:]}")
    return expected


def test_output(folder, link, expected):
    out = folder / "links.parquet"
    pel(*link, folder / "notes.jsonl", "--format", "parquet", "--out", out)
    table = pyarrow.parquet.read_table(out).to_pylist()
    expect(len(table) == len(expected), "as many rows as lines")
    for row, line in zip(table, expected):
        for name in ["doc", "start", "end", "start_code_point", "end_code_point", "start_utf16", "end_utf16", "text", "negated", "certainty", "decision", "origin"]:
            expect(row[name] == line[name], f"{name} as in JSONL, found {row[name]!r} and {line[name]!r}")
        concept = line["concept"] or {}
        expect((row["id"], row["name"]) == (concept.get("id"), concept.get("name")), "the concept of JSONL")
    with open(folder / "links.csv", "w", encoding="utf-8", newline="") as file:
        file.write(pel(*link, folder / "notes.jsonl", "--format", "csv"))
    with open(folder / "links.csv", encoding="utf-8", newline="") as file:
        expect([row["doc"] for row in csv.DictReader(file)] == [row["doc"] for row in table], "the rows of CSV")


def test_kills(folder, link):
    shards = folder / "shards"
    shards.mkdir()
    for at in range(SHARDS):
        notes = [{"note_id": f"{at}-{note}", "text": "Fever, chest pain and diabetes. " * 20} for note in range(PER_SHARD)]
        (shards / f"part-{at:02}.jsonl").write_text("".join(json.dumps(note) + "\n" for note in notes), encoding="utf-8")
    whole, killed = folder / "whole", folder / "killed"
    began = time.monotonic()
    pel(*link, shards, "--format", "jsonl", "--out", whole)
    takes = time.monotonic() - began
    generator, kills, seen = random.Random(2), 0, set()
    while True:
        run = subprocess.Popen([PEL, *map(str, link), shards, "--format", "jsonl", "--out", killed], stderr=subprocess.PIPE, text=True)
        try:
            _, said = run.communicate(timeout=generator.uniform(0.05, takes / 4))
            expect(run.returncode == 0, f"exit code 0, found {run.returncode}: {said}")
            break
        except subprocess.TimeoutExpired:
            run.kill()
            run.communicate()
            kills += 1
            expect(kills < 200, "an end")
        manifest = killed / "manifest.jsonl"
        done = {line["shard"] for line in lines(manifest.read_text(encoding="utf-8"))} if manifest.exists() else set()
        expect(seen <= done, "finished tables that stay finished")
        seen = done
        for path in killed.glob("part-*.jsonl") if killed.exists() else []:
            expect(path.read_bytes() == (whole / path.name).read_bytes(), f"whole links in {path.name}")
    expect(kills > 2, "several kills")
    outputs = sorted(path.name for path in killed.glob("part-*.jsonl"))
    expect(len(outputs) == SHARDS, f"{SHARDS} outputs")
    docs = set()
    for name in outputs:
        expect((killed / name).read_bytes() == (whole / name).read_bytes(), f"the links of an undisturbed run in {name}")
        docs.update(line["doc"] for line in lines((killed / name).read_text(encoding="utf-8")))
    expect(len(docs) == SHARDS * PER_SHARD, "every note")
    print(f"tables: {kills} kills over {SHARDS} tables")


def test_parts(folder, link):
    parts = folder / "parts"
    runs = [subprocess.Popen([PEL, *map(str, link), folder / "shards", "--format", "jsonl", "--out", parts, "--part", f"{at}/3"]) for at in (1, 2, 3)]
    expect([run.wait(timeout=600) for run in runs] == [0, 0, 0], "three parts that end well")
    expect(len(list(parts.glob("part-*.jsonl"))) == SHARDS and len(list(parts.glob("manifest.*-of-3.jsonl"))) == 3, "outputs of all parts")
    said = subprocess.run([PEL, *map(str, link), folder / "shards", "--format", "jsonl", "--out", parts], capture_output=True, text=True)
    expect(f"{SHARDS} of {SHARDS} tables are linked already" in said.stderr, f"nothing left, found {said.stderr}")


def main():
    global PEL
    PEL = sys.argv[1]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "kb.jsonl").write_text("".join(json.dumps(row) + "\n" for row in CONCEPTS), encoding="utf-8")
        pel("index", "--device", "cpu", "--kb", folder / "kb.jsonl", "--encoder", TINY, "--out", folder / "bundle")
        link = ["link", "--bundle", folder / "bundle", "--device", "cpu"]
        expected = test_parquet(folder, link)
        test_output(folder, link, expected)
        test_kills(folder, link)
        test_parts(folder, link)
    print(f"tables: {checks} checks hold")


main()
