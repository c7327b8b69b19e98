#!/usr/bin/env python3
"""Tests stores of vectors and rows of OMOP with a real PostgreSQL and pgvector, and Parquet files with pyarrow. scripts/test/stores calls it.

    stores.py PEL      PEL: a program with the cargo feature `stores`

It indexes concepts of the default knowledge base with the tiny model, exports them, links notes with `--vectors` and compares
with links of the bundle alone. It ends the server and connections while pel works, and compares what is left.
"""

import contextlib
import csv
import json
import lzma
import math
import pathlib
import re
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

import pgserver
import pyarrow
import pyarrow.parquet

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TINY = ROOT / "shared/tests/fixtures/tiny"
CONCEPTS = 1500
NOTES = 400
OMOP = ROOT / "tests/fixtures/omop/cdm-5.4-notes.sql"

PEL = ""
checks = 0


def expect(holds, what):
    global checks
    checks += 1
    if not holds:
        raise SystemExit(f"stores: expected {what}")


def pel(*arguments, code=0, program=None):
    """The standard output of a command, or, if it should fail, its standard error."""
    done = subprocess.run([PEL, *map(str, arguments)], capture_output=True, text=True, timeout=600)
    words = " ".join(map(str, arguments))
    expect(done.returncode == code, f"exit code {code} of pel {words}, found {done.returncode}: {done.stderr}")
    expect("panicked" not in done.stderr and "internal error" not in done.stderr, f"no panic: {done.stderr}")
    return done.stderr if code else done.stdout


def fails(*arguments, code, says):
    said = pel(*arguments, code=code)
    for words in says:
        expect(words in said, f"{words!r} in the message, found {said!r}")


def files(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def links(*arguments):
    return [json.loads(line) for line in pel("link", *arguments, "--format", "jsonl").splitlines()]


def equal(one, other):
    """Whether two JSON values are equal, numbers but for rounding: a store holds rows of bytes as floats."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, abs_tol=1e-5)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(equal(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(equal, one, other))
    return one == other


def decisions(found):
    """What was decided for each mention, and its candidates, best first."""
    return [(link["start"], link["end"], link["decision"], [one["id"] for one in link["candidates"]]) for link in found]


# --- the material -------------------------------------------------------------------------------------------------------


def make_material(folder):
    """Concepts, a note and many notes."""
    (folder / "notes").mkdir()
    rows = []
    for path in sorted((ROOT / "kb").glob("default.jsonl*")):
        opened = lzma.open(path, "rt", encoding="utf-8") if path.suffix == ".xz" else open(path, encoding="utf-8")
        with opened as lines:
            rows += [json.loads(line) for _, line in zip(range(CONCEPTS * 20), lines)]
    rows = rows[::20]
    expect(len(rows) == CONCEPTS, f"{CONCEPTS} concepts of the default knowledge base")
    (folder / "kb.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    note = (ROOT / "examples/note.txt").read_text(encoding="utf-8")
    note += "".join(f"Patient has {row['name']} and no {row['name'].lower()}s.\n" for row in rows[::7])
    (folder / "note.txt").write_text(note, encoding="utf-8")
    for at in range(NOTES):
        names = [row["name"] for row in rows[at : at + 30 : 3]]
        (folder / f"notes/{at:03}.txt").write_text(f"Note {at}: " + ", ".join(names) + ".\n", encoding="utf-8")
    return rows


def make_bundle(folder, name, *options):
    out = folder / name
    pel("index", "--device", "cpu", "--kb", folder / "kb.jsonl", "--encoder", TINY, "--out", out, *options)
    return out


# --- Parquet ------------------------------------------------------------------------------------------------------------


def test_parquet(folder, bundle, rows):
    out = folder / "vectors.parquet"
    pel("export-vectors", bundle, "--out", out)
    table = pyarrow.parquet.read_table(out)
    about = json.loads(table.schema.metadata[b"pel"])
    dim = about["dim"]
    expect(about["rows"] == table.num_rows and about["concepts"] == len(rows), "the counts of rows and concepts in the metadata")
    manifest = json.loads((bundle / "manifest.json").read_text(encoding="utf-8"))
    expect(about["digest"] == manifest["digest"], "the digest of the bundle in the metadata")
    expect(table.column("row").to_pylist() == list(range(table.num_rows)), "ascending rows")
    fixed = table.column("vector").cast(pyarrow.list_(pyarrow.float32(), dim))
    values = fixed.combine_chunks().flatten()
    expect(len(values) == table.num_rows * dim, "dim values for each row")
    # An index of floats has the same bytes, one vector after the other.
    stored = bytes(values.buffers()[1])[4 * values.offset : 4 * (values.offset + len(values))]
    expect(stored in (bundle / "index.bin").read_bytes(), "the vectors of the index, bit by bit")
    numbers = table.column("concept_number").to_pylist()
    expect(sorted(set(numbers)) == list(range(len(rows))) and numbers == sorted(numbers), "rows of each concept, in order")
    kinds = table.column("kind").to_pylist()
    for at, number in enumerate(numbers):
        first = at == 0 or numbers[at - 1] != number
        expect(kinds[at] == ("template" if first else "name"), "the template before the names of a concept")
    for column, key in [("concept", "id"), ("name", "name"), ("types", "types"), ("sources", "sources")]:
        found = table.column(column).to_pylist()
        expect(found == [rows[number].get(key, []) for number in numbers], f"the column {column} of the knowledge base")
    parts = folder / "parts"
    pel("export-vectors", bundle, "--out", parts, "--rows-per-file", 700)
    expect(len(list(parts.iterdir())) == -(-table.num_rows // 700), "files of 700 rows")
    expect(pyarrow.parquet.read_table(parts).equals(table), "the same rows in parts as in one file")
    fails("export-vectors", bundle, "--out", parts, code=3, says=["expected a new or empty folder"])
    fails("export-vectors", bundle, "--out", bundle / "x.parquet", code=2, says=["which is an input"])
    return table


# --- PostgreSQL ---------------------------------------------------------------------------------------------------------


def tables(server):
    found = server.psql("COPY (SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1) TO STDOUT")
    return found.split()


def column(server, query):
    return server.psql(f"COPY ({query}) TO STDOUT").splitlines()


def test_export(server, url, folder, bundle, rows, table):
    export = ["export-vectors", bundle, "--to", url]
    fails(*export, code=4, says=["has pgvector", "CREATE EXTENSION vector"])
    expect(tables(server) == [], "no table after a refusal")
    server.psql("CREATE EXTENSION vector; CREATE ROLE \"some reader\";")
    pel(*export, "--grant", "some reader")
    expect(tables(server) == ["pel_bundle", "pel_concepts", "pel_vectors"], "three tables")
    expect(column(server, "SELECT id FROM pel_concepts ORDER BY number") == [row["id"] for row in rows], "the concepts")
    stored = [json.loads(line) for line in column(server, "SELECT vector FROM pel_vectors ORDER BY row_number")]
    float32 = [list(map(lambda value: pyarrow.scalar(value, pyarrow.float32()).as_py(), row)) for row in stored[:200]]
    expect(float32 == table.column("vector").to_pylist()[:200], "the vectors of the Parquet file")
    expect(len(stored) == table.num_rows, "every row")
    allowed = column(server, "SELECT has_table_privilege('some reader', 'pel_vectors', 'SELECT')")
    expect(allowed == ["t"], "the role can read")
    fails(*export, code=2, says=["--replace"])
    before = column(server, "SELECT written_at FROM pel_bundle")
    pel(*export, "--replace")
    expect(column(server, "SELECT written_at FROM pel_bundle") != before, "a new store")
    server.psql("CREATE TABLE mine_vectors (x integer); INSERT INTO mine_vectors VALUES (7);")
    fails(*export, "--table", "mine", "--replace", code=2, says=["mine_vectors", "another"])
    expect(column(server, "SELECT x FROM mine_vectors") == ["7"], "the table of another program as it was")
    server.psql("DROP TABLE mine_vectors")
    fails("export-vectors", bundle, "--to", url, "--table", "a;b", code=2, says=["small letters"])
    fails("export-vectors", bundle, "--to", "mysql://u:secret@h/d", code=2, says=["postgres://"])


def test_link(server, url, folder, bundles):
    """The links with a store are those of an exact search in the bundle."""
    note = folder / "note.txt"
    for name, bundle in bundles.items():
        pel("export-vectors", bundle, "--to", url, "--table", name)
        for options in [[], ["-k", "20"], ["-k", "1", "--threshold", "0.5"]]:
            plain = links("--bundle", bundle, note, *options)
            stored = links("--bundle", bundle, note, *options, "--vectors", url, "--table", name)
            expect(len(plain) > 300, "mentions in the note")
            expect(equal(stored, plain), f"the same links of {name} with a store, {options}")
    name, bundle = next(iter(bundles.items()))
    plain = decisions(links("--bundle", bundle, note))
    for index in ["hnsw", "ivfflat"]:
        pel("export-vectors", bundle, "--to", url, "--table", name, "--replace", "--index", index)
        store = ["--bundle", bundle, note, "--vectors", url, "--table", name]
        found = decisions(links(*store))
        expect(len(found) == len(plain), f"every mention with {index}")
        expect(decisions(links(*store, "--exact")) == plain, f"the same candidates without {index}")
        deep = decisions(links(*store, "--depth", "1000"))
        same = sum(one[2] == other[2] for one, other in zip(plain, deep))
        expect(same >= 0.98 * len(plain), f"the same decisions in all of {index}, found {same} of {len(plain)}")
    return name, bundle


def test_types(server, url, folder, name, bundle, rows):
    note = folder / "note.txt"
    of = {row["id"]: row["types"] for row in rows}
    kinds = sorted({kind for row in rows for kind in row["types"]}, key=lambda kind: sum(kind in row["types"] for row in rows))
    chosen = kinds[-2:]
    store = ["--bundle", bundle, note, "--vectors", url, "--table", name]
    found = links(*store, "--types", ",".join(chosen), "-k", "10")
    for link in found:
        for one in link["candidates"]:
            expect(set(of[one["id"]]) & set(chosen), f"candidates of the types {chosen}, found {one}")
    expect(any(link["candidates"] for link in found), "candidates")
    fails("link", *store, "--types", "Starship", code=3, says=["Starship", kinds[-1]])


def test_other_stores(server, url, folder, bundles):
    """A store of another bundle, none, and a damaged one are refused before anything is written."""
    (name, bundle), (other, another) = list(bundles.items())[:2]
    out = folder / "refused.jsonl"
    link = ["link", "--bundle", bundle, folder / "note.txt", "--out", out, "--format", "jsonl", "--vectors"]
    fails(*link, url, "--table", other, code=4, says=["another bundle", "--replace"])
    fails(*link, url, "--table", "absent", code=4, says=["absent_bundle", "--table"])
    fails(*link, url.replace("/postgres?", "/nowhere?"), "--table", name, code=6, says=["nowhere"])
    fails(*link, "postgres://u:secret@localhost:1/d", code=6, says=["localhost:1", "connecting"])
    fails(*link, url + "&sslmode=require", "--table", name, code=6, says=["TLS"])
    server.psql(f"UPDATE {name}_vectors SET concept = 99999999")
    fails(*link, url, "--table", name, code=4, says=["names a concept that the bundle", f"{name}_vectors"])
    expect(not out.exists(), "no output of a refused run")
    pel("export-vectors", bundle, "--to", url, "--table", name, "--replace")


# --- OMOP ---------------------------------------------------------------------------------------------------------------


def omop(folder, name, bundle, inputs, *options):
    """The files of NOTE_NLP and their rows."""
    out = folder / name
    pel("link", "--bundle", bundle, inputs, "--format", "omop", "--date", "2026-11-26", "--out", out, *options)
    paths = sorted(out.rglob("*.note_nlp.csv"))
    rows = []
    for path in paths:
        with open(path, encoding="utf-8", newline="") as file:
            rows += list(csv.DictReader(file))
    return paths, rows


def load(server, paths):
    """Loads rows into the tables of the Common Data Model."""
    server.psql("SET client_min_messages = warning; DROP TABLE IF EXISTS note_nlp, note;\n" + OMOP.read_text(encoding="utf-8"))
    steps = ["\\set ON_ERROR_STOP on", "CREATE TEMPORARY TABLE rows (LIKE note_nlp);"]
    steps += [f"\\copy rows FROM '{path}' WITH (FORMAT csv, HEADER true)" for path in paths]
    steps.append("INSERT INTO note SELECT DISTINCT note_id, 1, DATE '2026-11-26', NULL::timestamp, 0, 0, '', '', 0, 0 FROM rows;")
    steps.append("INSERT INTO note_nlp SELECT * FROM rows;")
    server.psql("\n".join(steps))
    return [int(number) for number in column(server, "SELECT note_nlp_id FROM note_nlp ORDER BY 1")]


def test_omop(server, folder, bundle):
    """Rows of many notes, of tables in parts and of a resumed run load into the official schema and have different identifiers."""
    paths, rows = omop(folder, "omop-texts", bundle, folder / "notes")
    found = load(server, paths)
    expect(len(rows) > NOTES and found == list(range(1, len(rows) + 1)), f"the rows 1 to {len(rows)}, found {len(found)}")
    expect(len({row["note_id"] for row in rows}) == NOTES, "a number for each note")
    expect(len(paths) == NOTES, "a file for each note")
    # The names 100 to 399 are numbers, 000 to 099 are not.
    by_name = {path.name.split(".")[0]: path for path in paths}
    with open(by_name["123"], encoding="utf-8", newline="") as file:
        expect({row["note_id"] for row in csv.DictReader(file)} == {"123"}, "the number of the note 123")
    with open(by_name["007"], encoding="utf-8", newline="") as file:
        expect(all("note=007" in row["term_modifiers"] for row in csv.DictReader(file)), "the name of the note 007")
    paths, _ = omop(folder, "omop-more", bundle, folder / "notes", "--omop-first-id", 2147400000)
    expect(min(load(server, paths)) == 2147400000, "rows from the first identifier on")
    tables_of_notes = folder / "omop-tables"
    tables_of_notes.mkdir()
    for at in range(5):
        texts = [path.read_text(encoding="utf-8") for path in sorted((folder / "notes").iterdir())[at * 40 : at * 40 + 40]]
        lines = [json.dumps({"note_id": at * 1000 + number, "text": text}) for number, text in enumerate(texts)]
        (tables_of_notes / f"{at}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    whole, rows = omop(folder, "omop-whole", bundle, tables_of_notes)
    expect(load(server, whole) == list(range(1, len(rows) + 1)), "one row after the other over tables")
    before = {path.name: path.read_bytes() for path in whole}
    # A table whose links are gone is linked again with new identifiers, and the others keep theirs.
    whole[1].unlink()
    whole, _ = omop(folder, "omop-whole", bundle, tables_of_notes)
    expect(len(load(server, whole)) == len(rows), "different identifiers after a resumed run")
    expect([name for name in before if (folder / "omop-whole" / name).read_bytes() != before[name]] == [whole[1].name], "one new table")
    for part in ["1/2", "2/2"]:
        parts, _ = omop(folder, "omop-parts", bundle, tables_of_notes, "--part", part)
    expect(len(load(server, parts)) == len(rows), "different identifiers of two parts")


# --- a server that ends ---------------------------------------------------------------------------------------------------


def start(*arguments):
    return subprocess.Popen([PEL, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(holds, what, seconds=120):
    end = time.monotonic() + seconds
    while not holds():
        expect(time.monotonic() < end, what)
        time.sleep(0.002)


def check_whole(out, plain, what):
    """Each file is complete, and there is no other."""
    found = files(out)
    expect(all(plain.get(name) == body for name, body in found.items()), f"only complete outputs {what}")
    return len(found)


def test_lost_connections(server, url, folder, name, bundle):
    link = ["link", "--bundle", bundle, folder / "notes", "--format", "brat"]
    store = ["--vectors", url, "--table", name]
    pel(*link, "--out", folder / "plain")
    plain = files(folder / "plain")
    # A connection that ends is opened again.
    out = folder / "reconnected"
    running = start(*link, *store, "--out", out)
    wait_for(lambda: out.exists() and any(out.glob("*.ann")), "a first output")
    ended = column(server, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'pel link'")
    _, said = running.communicate(timeout=600)
    expect(ended == ["1"], f"one connection of pel link, found {ended}")
    expect(running.returncode == 0, f"success after a lost connection, found {said}")
    expect(files(out) == plain, "the same links after a lost connection")
    # A server that ends is an error, and complete outputs stay.
    out = folder / "ended"
    running = start(*link, *store, "--out", out)
    wait_for(lambda: out.exists() and any(out.glob("*.ann")), "a first output")
    server.get_postmaster_info().process.kill()
    _, said = running.communicate(timeout=600)
    expect(running.returncode == 6, f"exit code 6 without a server, found {running.returncode}: {said}")
    expect("database postgres on" in said, f"the server in the message, found {said}")
    count = check_whole(out, plain, "of a run whose server ended")
    expect(0 < count < len(plain), f"some outputs of a run whose server ended, found {count} of {len(plain)}")


def test_killed_export(server, url, name, bundle):
    """An export that ends before its last step leaves the store as it was."""
    before = column(server, f"SELECT written_at FROM {name}_bundle")
    held = subprocess.Popen(
        [pgserver.postgres_server.POSTGRES_BIN_PATH / "psql", server.get_uri()],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    held.stdin.write(f"BEGIN; SELECT count(*) FROM {name}_bundle;\n")
    held.stdin.flush()
    running = start("export-vectors", bundle, "--to", url, "--table", name, "--replace")
    waiting = "FROM pg_stat_activity WHERE application_name = 'pel export-vectors' AND wait_event_type = 'Lock'"
    wait_for(lambda: column(server, f"SELECT count(*) {waiting}") == ["1"], "an export that waits for a reader")
    fails("export-vectors", bundle, "--to", url, "--table", name, "--replace", code=6, says=["another pel export-vectors"])
    server.psql(f"SELECT pg_terminate_backend(pid) {waiting}")
    _, said = running.communicate(timeout=60)
    held.stdin.close()
    held.wait(timeout=60)
    expect(running.returncode == 6, f"exit code 6 of an export that was ended, found {running.returncode}: {said}")
    expect(column(server, f"SELECT written_at FROM {name}_bundle") == before, "the old store")
    expect(not [table for table in tables(server) if "_new_" in table], "no unfinished table")


# --- encryption -----------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def encrypted(server, folder):
    """A port that speaks TLS and passes what it reads to the server's socket: pgserver's PostgreSQL has no TLS itself."""
    make = lambda *words: subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)
    ca, key, certificate, request = (folder / name for name in ["ca.pem", "key.pem", "server.pem", "server.csr"])
    names = folder / "names"
    names.write_text("subjectAltName=DNS:localhost\nbasicConstraints=CA:FALSE\n", encoding="utf-8")
    make("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", 2, "-subj", "/CN=test CA", "-keyout", folder / "ca.key", "-out", ca)
    make("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-keyout", key, "-out", request)
    make("x509", "-req", "-in", request, "-CA", ca, "-CAkey", folder / "ca.key", "-CAcreateserial", "-days", 2, "-extfile", names, "-out", certificate)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    behind = re.search(r"host=([^&]*)", server.get_uri())[1] + "/.s.PGSQL.5432"
    listener = socket.create_server(("127.0.0.1", 0))

    def copy(source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)

    def serve():
        with contextlib.suppress(OSError):
            while True:
                plain, _ = listener.accept()
                # The request for TLS: its length, 8, and its code.
                if plain.recv(8) != bytes([0, 0, 0, 8, 4, 210, 22, 47]):
                    plain.close()
                    continue
                plain.sendall(b"S")
                try:
                    inside = context.wrap_socket(plain, server_side=True)
                except (ssl.SSLError, OSError):
                    continue
                target = socket.socket(socket.AF_UNIX)
                target.connect(behind)
                for pair in [(inside, target), (target, inside)]:
                    threading.Thread(target=copy, args=pair, daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield listener.getsockname()[1], ca
    finally:
        listener.close()


def test_encryption(server, folder, name, bundle):
    if not shutil.which("openssl"):
        print("stores: openssl is missing, encryption was not tested", file=sys.stderr)
        return
    with encrypted(server, folder) as (port, ca):
        address = f"postgres://postgres@localhost:{port}/postgres"
        link = ["link", "--bundle", bundle, folder / "note.txt", "--format", "jsonl", "--table", name, "--vectors"]
        plain = pel("link", "--bundle", bundle, folder / "note.txt", "--format", "jsonl")
        expect(pel(*link, address + "?sslmode=require", "--ca", ca) == plain, "the same links over TLS")
        fails(*link, address + "?sslmode=verify-full", code=6, says=["UnknownIssuer", "--ca"])
        fails(*link, f"postgres://postgres@127.0.0.1:{port}/postgres?sslmode=require", "--ca", ca, code=6, says=["certificate"])
        fails(*link, address, code=6, says=["connecting"])


def main():
    global PEL
    PEL = sys.argv[1]
    folder = pathlib.Path(tempfile.mkdtemp(prefix="pel-stores-"))
    try:
        rows = make_material(folder)
        # Names and templates without and with a weight for the template, quantised names, and vectors of all tokens.
        both = ["--precision", "f32", "--view", "both"]
        bundles = {
            "floats": make_bundle(folder, "floats", *both, "--mix", "0"),
            "bytes": make_bundle(folder, "bytes", "--precision", "int8"),
            "weighted": make_bundle(folder, "weighted", *both, "--mix", "0.3"),
            "tokens": make_bundle(folder, "tokens", "--precision", "f32", "--scorer", "sum-of-max"),
        }
        table = test_parquet(folder, bundles["floats"], rows)
        (folder / "data").mkdir()
        server = pgserver.get_server(folder / "data", cleanup_mode="stop")
        url = server.get_uri()
        test_export(server, url, folder, bundles["floats"], rows, table)
        name, bundle = test_link(server, url, folder, bundles)
        test_types(server, url, folder, name, bundle, rows)
        test_other_stores(server, url, folder, bundles)
        test_omop(server, folder, bundle)
        test_killed_export(server, url, name, bundle)
        test_encryption(server, folder, name, bundle)
        test_lost_connections(server, url, folder, name, bundle)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"stores: {checks} checks")


main()
