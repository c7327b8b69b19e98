"""Processes: bundles that are missing, signals, forks, pickles, the command line."""

import json
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import pytest

import pel_linker
from pel_linker import ArtifactError, FileError, InputError, Linker, UsageError, _commands
from conftest import ROOT, TEXT


def test_bundle_is_found_by_rule(monkeypatch, tmp_path):
    monkeypatch.delenv("PEL_BUNDLE", raising=False)
    assert pel_linker.default_bundle().parent.parent.name == "pel_linker"
    monkeypatch.setenv("PEL_BUNDLE", str(tmp_path / "missing.pel"))
    with pytest.raises(ArtifactError, match="missing.pel"):
        Linker.open()


def test_bad_bundles_are_artifact_errors(tmp_path):
    with pytest.raises(pel_linker.Error):
        Linker.open(tmp_path)
    file = tmp_path / "bad.pel"
    file.write_bytes(b"no bundle")
    with pytest.raises(ArtifactError, match="bad.pel"):
        Linker.open(file)


def test_options_of_open_are_checked():
    for threads in (-1, 0, 1025, 10**30):
        with pytest.raises(InputError, match=f"threads: expected 1 to 1024, found {threads}"):
            Linker.open(threads=threads)
    with pytest.raises(InputError, match="device"):
        Linker.open(device="tpu")
    with pytest.raises(InputError, match="rerank"):
        Linker.open(ranker="model")
    with pytest.raises(InputError, match="context-rules"):
        Linker.open(context_rules="klingon")


def test_pickled_linker_opens_the_same_bundle(linker):
    copy = pickle.loads(pickle.dumps(linker))
    assert copy.path == linker.path and copy.threads == linker.threads
    assert copy.link(TEXT) == linker.link(TEXT)


def count(linker):
    return len(linker.link(TEXT))


@pytest.mark.parametrize("method", [name for name in ("spawn", "fork") if name in multiprocessing.get_all_start_methods()])
def test_worker_processes_link(linker, method):
    expected = count(linker)
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map_async(count, [linker] * 4).get(120) == [expected] * 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_forked_child_links_with_threads_of_its_own(linker):
    expected = count(linker)
    child = os.fork()
    if child == 0:
        os._exit(0 if count(linker) == expected else 1)
    limit = time.monotonic() + 60
    while time.monotonic() < limit:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert status == 0
            return
        time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    pytest.fail("the child waits for threads that it does not have")


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_is_heard(linker):
    long = [TEXT * 20] * 256
    sent = []

    def send():
        time.sleep(0.5)
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=send).start()
    with pytest.raises(KeyboardInterrupt):
        while True:
            linker.link(long)
    assert time.monotonic() - sent[0] < 0.5
    # Its threads are soon free.
    begin = time.monotonic()
    assert linker.link("Fever.")
    assert time.monotonic() - begin < 20


def test_other_threads_run_meanwhile(linker):
    ticks, stop = [], threading.Event()

    def tick():
        while not stop.wait(0.005):
            ticks.append(1)

    thread = threading.Thread(target=tick)
    thread.start()
    linker.link([TEXT * 20] * 16)
    stop.set()
    thread.join()
    assert len(ticks) >= 5


@pytest.mark.parametrize("module", ["pel_linker", "pel"])
def test_command_line(module):
    run = [sys.executable, "-m", module]
    printed = subprocess.run([*run, "--version"], check=True, capture_output=True, text=True).stdout
    assert printed.strip() == f"pel {pel_linker.__version__}"
    missing = subprocess.run([*run, "inspect", "missing"], capture_output=True, text=True)
    assert missing.returncode == 4 and missing.stderr.startswith("pel: ")
    usage = subprocess.run([*run, "nosuch"], capture_output=True, text=True)
    assert usage.returncode == 2


def test_functions_index_evaluate_and_calibrate(tmp_path, linker):
    kb = tmp_path / "kb.jsonl"
    concepts = [
        {"id": "X:1", "name": "chronic obstructive pulmonary disease", "synonyms": ["COPD"], "types": ["Disease"]},
        {"id": "X:2", "name": "diabetes mellitus", "synonyms": ["diabetes"], "types": ["Disease"]},
    ]
    kb.write_text("".join(json.dumps(concept) + "\n" for concept in concepts))
    summary = pel_linker.index(kb, tmp_path / "own", kb_name="own")
    assert isinstance(summary, dict)
    own = Linker.open(tmp_path / "own")
    assert own.info()["kb"]["name"] == "own"
    assert {link.concept.id for link in own.link("COPD and diabetes", threshold=0.0)} == {"X:1", "X:2"}
    with pytest.raises(UsageError):
        pel_linker.index(kb, tmp_path / "own2", nosuch=True)
    with pytest.raises(UsageError):
        pel_linker.index(kb, kb)
    notes = tmp_path / "notes.jsonl"
    mention = {"start": 6, "end": 10, "text": "COPD", "concept": ["C0024117"]}
    notes.write_text(json.dumps({"doc_id": "1", "text": "Known COPD.", "mentions": [mention]}) + "\n")
    measured = pel_linker.evaluate(raw=True, notes=notes)
    assert isinstance(measured, dict) and measured
    with pytest.raises(FileError) as caught:
        pel_linker.evaluate(corpus=tmp_path / "missing")
    assert isinstance(caught.value, OSError)
    with pytest.raises(pel_linker.Error):
        pel_linker.calibrate(tmp_path / "own", corpus=tmp_path / "missing")


def test_train_takes_a_mapping():
    assert "epochs = 7" in pel_linker.run("train", "--set=optimiser.epochs=7", print=True)
    with pytest.raises(InputError, match="nosuch"):
        pel_linker.train({"nosuch": {"key": 1}}, "out")
    # None leaves a setting out, as it does an option.
    assert dict(_commands._flat({"seed": None, "optimiser": {"epochs": 7, "steps": None}})) == {"optimiser.epochs": 7}


def test_train_index_calibrate_and_link(tmp_path):
    """The commands of docs/train.md, from a table and a corpus to links, on a random encoder of 32 dimensions."""
    examples = ROOT / "examples"
    pel_linker.run("import", "csv", examples / "concepts.csv", out=tmp_path / "kb")
    splits = {split: examples / f"corpus/{split}.txt" for split in ("train", "dev", "test")}
    pel_linker.run("import", "pubtator", examples / "corpus/notes.pubtator.txt", out=tmp_path / "corpus", **splits)
    kb, corpus = tmp_path / "kb/kb.jsonl", tmp_path / "corpus"
    config = {"view": {"mention_tokens": 32, "entity_tokens": 40}, "negatives": {"count": 2}}
    given = {"encoder": ROOT / "shared/tests/fixtures/tiny", "kb": kb, "corpus": corpus, "steps": 4}
    trained = pel_linker.train(config, tmp_path / "run", **given)
    assert os.path.samefile(trained["model"], tmp_path / "run/model")
    # The same call finds the run complete.
    assert pel_linker.train(config, tmp_path / "run", **given)["model"] == trained["model"]
    pel_linker.index(kb, tmp_path / "bundle", encoder=trained["model"])
    chosen = pel_linker.calibrate(tmp_path / "bundle", corpus=corpus, by="score")
    assert chosen
    links = Linker.open(tmp_path / "bundle").link("History of pneumonia and hypertension.", threshold=-1.0)
    assert {link.concept.name for link in links} == {"pneumonia", "hypertension"}


def test_example_links_notes():
    command = [sys.executable, ROOT / "examples/python/link_notes.py", ROOT / "examples/note.txt"]
    printed = subprocess.run(command, check=True, capture_output=True, encoding="utf-8").stdout
    rows = [line.split("\t") for line in printed.splitlines()]
    note = (ROOT / "examples/note.txt").read_text(encoding="utf-8")
    assert len(rows) > 20
    for row in rows:
        assert note[int(row[1]) : int(row[2])] == row[3]
