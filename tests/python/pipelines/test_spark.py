"""The Spark job on this machine, with a real bundle. It needs pyspark 3.5 or 4, and Java 17.

Set PEL_BUNDLE to a bundle, such as the default one.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

import pyarrow as pa  # noqa: E402
import pyarrow.parquet as parquet  # noqa: E402
from pel_linker import Error, InputError, Linker  # noqa: E402
from pel_linker.spark import MENTION, NoteLinker, ddl  # noqa: E402

EXAMPLE = Path(__file__).parents[3] / "examples" / "spark"
sys.path.insert(0, str(EXAMPLE))
import link_notes  # noqa: E402
from py4j.protocol import Py4JJavaError  # noqa: E402
from pyspark.errors import PySparkException  # noqa: E402

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it reads /proc")


def make_notes(folder, count, files=1):
    command = [sys.executable, EXAMPLE / "make_notes.py", "--notes", str(count), "--files", str(files), "--out", folder]
    subprocess.run(command, check=True)
    return sorted(folder.glob("*.jsonl"))


def job(*arguments):
    return [sys.executable, str(EXAMPLE / "link_notes.py"), "--master", "local[2,4]", *map(str, arguments)]


def linked(output):
    """The rows of an output."""
    rows = [row for file in sorted(output.glob("group=*/*.parquet")) for row in parquet.read_table(file, partitioning=None).to_pylist()]
    return sorted(rows, key=lambda row: next(iter(row.values())))


def notes_of(files):
    return sorted((json.loads(line) for file in files for line in file.open(encoding="utf-8")), key=lambda note: note["id"])


def workers(process):
    """The Python workers of a job: the daemon of pyspark forks them."""
    parents, daemons = {}, set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
                if b"pyspark.daemon" in (entry / "cmdline").read_bytes():
                    daemons.add(int(entry.name))
            except OSError:
                pass

    def of_the_job(pid):
        while pid > 1 and pid != process.pid:
            pid = parents.get(pid, 0)
        return pid == process.pid

    return [pid for pid in daemons if parents[pid] in daemons and of_the_job(pid)]


def has_linker(pid):
    """Whether a worker has loaded the linker, so that it is in the middle of a task."""
    try:
        return "pel_linker" in Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        return False


# --- the function, without Spark ---


def batch(ids, texts):
    return pa.RecordBatch.from_arrays([pa.array(ids), pa.array(texts, pa.string())], names=["id", "text"])


def test_rows_have_what_the_linker_finds():
    texts = ["No chest pain 😀. Known COPD.", None, "", "Fever."]
    rows = [row for out in NoteLinker(batch=3)([batch([4, 3, 2, 1], texts)]) for row in out.to_pylist()]
    assert [row["id"] for row in rows] == [4, 3, 2, 1]
    assert rows[1]["mentions"] is None and "no text" in rows[1]["error"]
    assert rows[2]["mentions"] == [] and rows[2]["error"] is None
    expected = Linker.open(threads=1).link(texts[0], k=1)
    assert [(m["start"], m["end"], m["text"], m["concept"], m["negated"]) for m in rows[0]["mentions"]] == [
        (link.start, link.end, link.text, link.concept and link.concept.id, link.negated) for link in expected
    ]
    assert {m["text"] for m in rows[0]["mentions"]} == {"chest pain", "COPD"}
    assert [len(m["candidates"]) for m in rows[0]["mentions"]] == [1, 1]


def test_a_note_that_fails_leaves_the_others():
    class Failing:
        def link_arrow(self, texts, ids, **options):
            if any("bad" in text for text in texts):
                raise InputError("a text that is too long")
            return linker.link_arrow(texts, ids, **options)

    linker = Linker.open(threads=1)
    mentions, errors = NoteLinker()._link(Failing(), ["Known COPD.", "bad", None])
    assert [found and [mention["text"] for mention in found] for found in mentions.to_pylist()] == [["COPD"], None, None]
    assert errors == [None, "a text that is too long", "the note has no text"]


def test_options_that_are_wrong_stop_the_task():
    with pytest.raises(Error):
        list(NoteLinker(options={"k": 0})([batch([1], ["COPD"])]))
    with pytest.raises(Error):
        list(NoteLinker(bundle="/nowhere/at/all")([batch([1], ["COPD"])]))
    for wrong in ({"batch": 0}, {"id_column": "text"}, {"id_column": "error"}):
        with pytest.raises(ValueError, match="expected"):
            NoteLinker(**wrong)


def test_types_have_names_in_spark():
    assert ddl(pa.list_(pa.struct([("a", pa.string())]))) == "ARRAY<STRUCT<`a`: STRING>>"
    assert ddl(MENTION).startswith("STRUCT<`start`: BIGINT, ")
    with pytest.raises(TypeError):
        ddl(pa.date32())


# --- the job ---


@pytest.fixture(scope="module")
def spark():
    # Starting Java takes longer than most tests.
    session = link_notes.session("local[2,4]")
    yield session
    session.stop()


def run(spark, *words):
    chosen = link_notes.arguments([str(word) for word in words])
    return link_notes.run(spark, chosen, chosen.input)


def test_demonstration_can_be_repeated(spark, tmp_path):
    for folder in ("first", "second"):
        (tmp_path / folder).mkdir()
        chosen = link_notes.arguments(["--demo", "--output", str(tmp_path / "out")])
        assert link_notes.run(spark, chosen, link_notes.demo(tmp_path / folder)) == (5, 0)


def test_each_note_is_written_once(spark, tmp_path, capsys):
    files = make_notes(tmp_path / "notes", 40, files=3)
    told = ("--input", tmp_path / "notes", "--output", tmp_path / "out", "--files-per-group", 2, "--partitions", 3)
    assert run(spark, *told) == (40, 0)
    notes, rows = notes_of(files), linked(tmp_path / "out")
    assert [row["id"] for row in rows] == [note["id"] for note in notes]
    alone = Linker.open(threads=1).link([note["text"] for note in notes], k=1)
    for links, row in zip(alone, rows, strict=True):
        assert [(m["start"], m["end"], m["concept"], m["negated"]) for m in row["mentions"]] == [
            (link.start, link.end, link.concept and link.concept.id, link.negated) for link in links
        ]
    assert sum(len(row["mentions"]) for row in rows) > 40
    # No text of a note is in what the job says.
    said = capsys.readouterr()
    assert not any(line in said.err + said.out for note in notes for line in note["text"].splitlines() if len(line) > 40)

    # Once more: nothing is done twice. Then a group is lost, and comes back.
    before = {file: file.stat().st_mtime_ns for file in (tmp_path / "out" / "group=00000").rglob("*.parquet")}
    (tmp_path / "out" / "group=00001" / "_SUCCESS").unlink()
    assert run(spark, *told) == (40, 0)
    said = capsys.readouterr().err
    assert "group=00000: done before" in said and "group=00001: 1 file linked" in said
    assert linked(tmp_path / "out") == rows
    assert before == {file: file.stat().st_mtime_ns for file in before}

    # Other settings for the same output, and an output of something else.
    with pytest.raises(ValueError, match="other settings"):
        run(spark, *told, "--k", 3)
    with pytest.raises(ValueError, match="no output of this job"):
        run(spark, "--input", tmp_path / "notes", "--output", tmp_path / "notes")
    assert notes_of(files) == notes


def test_parquet_and_columns(spark, tmp_path):
    table = pa.table({"nr": pa.array([7, 8, 9], pa.int64()), "note.body": ["COPD", None, "Fever"], "more": [1, 2, 3]})
    parquet.write_table(table, tmp_path / "notes.parquet")
    told = ("--input", tmp_path / "notes.parquet", "--id-column", "nr", "--partitions", 2)
    out = tmp_path / "out"
    assert run(spark, *told, "--output", out, "--text-column", "note.body", "--asserted", "--xrefs", "ICD10CM") == (3, 1)
    rows = linked(out)
    assert [row["nr"] for row in rows] == [7, 8, 9]
    assert (rows[1]["mentions"], rows[1]["error"]) == (None, "the note has no text")
    (copd,) = rows[0]["mentions"]
    assert copd["concept"] == "SNOMED:13645005" and all(xref.startswith("ICD10CM") for xref in copd["xrefs"])
    # As users read it.
    read = spark.read.parquet(str(out)).selectExpr("nr", "explode(mentions) as m").selectExpr("nr", "m.concept", "m.negated")
    assert sorted(row["nr"] for row in read.collect()) == [7, 9]

    # Notes that do not fit: a clear error, and nothing is written.
    for wrong, said in [("none", "expected the column none"), ("more", "expected texts in more")]:
        with pytest.raises(ValueError, match=said):
            run(spark, *told, "--output", tmp_path / "wrong", "--text-column", wrong)
    with pytest.raises(ValueError, match="there are no notes at"):
        run(spark, "--input", tmp_path / "nowhere", "--output", tmp_path / "wrong")
    assert not (tmp_path / "wrong").exists()


def test_a_bundle_that_is_missing_is_named(spark, tmp_path):
    files = make_notes(tmp_path / "notes", 2)
    with pytest.raises((PySparkException, Py4JJavaError)) as error:
        run(spark, "--input", *files, "--output", tmp_path / "out", "--bundle", "/nowhere/at/all", "--partitions", 1)
    assert "/nowhere/at/all" in link_notes.cause(str(error.value))
    # Then with one that is there: other settings, so another output.
    assert not list((tmp_path / "out").glob("group=*/_SUCCESS"))


@linux
def test_a_killed_worker_loses_and_doubles_no_note(tmp_path):
    files = make_notes(tmp_path / "notes", 300)
    told = ("--input", tmp_path / "notes", "--output", tmp_path / "out", "--partitions", 4, "--batch", 4)
    process = subprocess.Popen(job(*told), stderr=subprocess.PIPE, text=True)
    killed = None
    while killed is None and process.poll() is None:
        if busy := [pid for pid in workers(process) if has_linker(pid)]:
            time.sleep(1)
            os.kill(busy[0], signal.SIGKILL)
            killed = busy[0]
        time.sleep(0.05)
    _, said = process.communicate()
    assert killed is not None, "no worker was seen"
    assert process.returncode == 0, said
    # Spark saw it, and tried the task again.
    assert "Lost task" in said, said
    rows = linked(tmp_path / "out")
    assert [row["id"] for row in rows] == [note["id"] for note in notes_of(files)]
    assert all(row["mentions"] is not None for row in rows)


@linux
def test_a_killed_job_continues(tmp_path):
    files = make_notes(tmp_path / "notes", 240, files=4)
    told = ("--input", tmp_path / "notes", "--output", tmp_path / "out", "--partitions", 2, "--files-per-group", 1)
    process = subprocess.Popen(job(*told), stderr=subprocess.DEVNULL, start_new_session=True)
    # In the middle: one group is complete, and another one is being written.
    while process.poll() is None and not (tmp_path / "out" / "group=00001" / "_temporary").exists():
        time.sleep(0.02)
    assert process.poll() is None, "the job ended too early"
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    complete = len(list((tmp_path / "out").glob("group=*/_SUCCESS")))
    assert 1 <= complete < 4
    done = subprocess.run(job(*told), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("done before") == complete
    assert [row["id"] for row in linked(tmp_path / "out")] == [note["id"] for note in notes_of(files)]
