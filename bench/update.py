#!/usr/bin/env python3
"""Measures `pel update` beside a rebuild with `pel index`, for changes of several sizes.

    bench/update.py --pel target/release/pel --bundle bundle/default [--kb kb/default.jsonl.xz] [--shares 0.001,0.01,0.1]
                    [--index-option=--hnsw ...] [--notes FOLDER] [--work FOLDER] [--out FIGURES.json]

The table is indexed once with the bundle's encoder. For each share of its concepts the script makes a next version: of the changed
concepts a quarter is retired (with a successor), a quarter gets another preferred name, a quarter a new synonym, and as many as a
quarter are added. New names join the words of two names of the table. The script then runs `pel update` and `pel index`, compares
the files of both bundles and the links of the notes, and prints the seconds and the texts that were encoded.

A bundle may be packed file by file (bundle/default); it is unpacked first.
"""
import argparse
import json
import lzma
import pathlib
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(command):
    """The output of a command, with its seconds by the clock and of the processors."""
    began, before = time.perf_counter(), processor_seconds()
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stderr}")
    seconds = {"clock": round(time.perf_counter() - began, 2), "processors": round(processor_seconds() - before, 2)}
    return done.stdout, seconds


def both(seconds):
    return f"{seconds['clock']:.1f} ({seconds['processors']:.1f})"


def unpacked(bundle, work):
    """The folder of a bundle, with each packed file unpacked."""
    if not bundle.is_dir() or not list(bundle.glob("*.xz")):
        return bundle
    folder = work / "given"
    folder.mkdir()
    for path in bundle.iterdir():
        if path.suffix == ".xz":
            with lzma.open(path) as packed, open(folder / path.stem, "wb") as out:
                shutil.copyfileobj(packed, out)
        else:
            shutil.copy(path, folder / path.name)
    return folder


def read_table(path):
    opened = lzma.open(path, "rt", encoding="utf-8") if path.suffix == ".xz" else open(path, encoding="utf-8")
    with opened as lines:
        return [json.loads(line) for line in lines if line.strip()]


def write_table(path, concepts):
    with open(path, "w", encoding="utf-8") as out:
        for concept in concepts:
            out.write(json.dumps(concept, ensure_ascii=False) + "\n")


def next_version(concepts, share, random):
    """The next version and its redirects."""
    known = {name for concept in concepts for name in [concept["name"], *concept.get("synonyms", [])]}

    def new_name():
        while True:
            first, second = (random.choice(concepts)["name"].split() for _ in range(2))
            name = " ".join(first[: (len(first) + 1) // 2] + second[len(second) // 2 :])
            if name not in known:
                known.add(name)
                return name

    quarter = max(1, round(share * len(concepts) / 4))
    chosen = random.sample(range(len(concepts)), 3 * quarter)
    retired, renamed, extended = (set(chosen[at * quarter : (at + 1) * quarter]) for at in range(3))
    kept = [at for at in range(len(concepts)) if at not in retired]
    table, redirects = [], []
    for at, concept in enumerate(concepts):
        concept = dict(concept)
        if at in retired:
            redirects.append((concept["id"], concepts[random.choice(kept)]["id"]))
            continue
        if at in renamed:
            concept["synonyms"] = [concept["name"], *concept.get("synonyms", [])]
            concept["name"] = new_name()
        if at in extended:
            concept["synonyms"] = [*concept.get("synonyms", []), new_name()]
        table.append(concept)
    for at in range(quarter):
        like = concepts[random.choice(kept)]
        added = {"id": f"NEW:{at:07}", "name": new_name(), "types": like.get("types", [])}
        table.insert(random.randrange(len(table) + 1), added)
    return table, sorted(redirects)


def differing(one, other):
    """The files that differ between two bundles, the manifest aside."""
    names = {path.name for folder in (one, other) for path in folder.iterdir()} - {"manifest.json"}
    return sorted(name for name in names if not same(one / name, other / name))


def same(one, other):
    return one.exists() and other.exists() and one.read_bytes() == other.read_bytes()


def links(pel, bundle, notes):
    return run([pel, "link", "--bundle", bundle, *notes, "--format", "jsonl"])[0].splitlines()


def decided(line):
    link = json.loads(line)
    concept = link.get("concept") or {}
    return link.get("start"), link.get("end"), link.get("decision"), concept.get("id")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pel", required=True, type=pathlib.Path)
    parser.add_argument("--bundle", required=True, type=pathlib.Path, help="gives encoder and views")
    parser.add_argument("--kb", type=pathlib.Path, default=ROOT / "kb/default.jsonl.xz")
    parser.add_argument("--shares", default="0.001,0.01,0.1", help="shares of changed concepts")
    parser.add_argument("--index-option", action="append", default=[], help="a further option of `pel index`")
    parser.add_argument("--update-option", action="append", default=[], help="a further option of `pel update`")
    parser.add_argument("--notes", type=pathlib.Path, nargs="*", default=[ROOT / "examples/note.txt"])
    parser.add_argument("--work", type=pathlib.Path, help="a new folder for bundles [default: a temporary one]")
    parser.add_argument("--out", type=pathlib.Path, help="the figures as JSON")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = args.work or pathlib.Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        bundle = unpacked(args.bundle, work)
        manifest = json.loads(run([args.pel, "--json", "inspect", bundle])[0])
        precision = ["--precision", manifest["index"]["precision"]]
        concepts = read_table(args.kb)
        write_table(work / "old.jsonl", concepts)
        index = [args.pel, "--json", "index", "--device", "cpu", "--encoder", bundle, *precision, *args.index_option]
        said, seconds = run([*index, "--kb", work / "old.jsonl", "--out", work / "old"])
        print(f"{len(concepts)} concepts, {json.loads(said)['rows']} vectors: indexed in {both(seconds)} s", flush=True)
        print("Seconds by the clock (of the processors):\n")
        print("| changed concepts | texts encoded | update | rebuild | files that differ | other decisions |")
        print("| --- | --- | --- | --- | --- | --- |", flush=True)
        rows = []
        for share in map(float, args.shares.split(",")):
            table, redirects = next_version(concepts, share, random.Random(f"{share}"))
            write_table(work / "new.jsonl", table)
            with open(work / "redirects.tsv", "w", encoding="utf-8") as out:
                out.write("id\treplaced_by\treason\n")
                out.writelines(f"{old}\t{new}\tmerged\n" for old, new in redirects)
            files = ["--kb", work / "new.jsonl", "--redirects", work / "redirects.tsv"]
            update = [args.pel, "--json", "update", work / "old", "--device", "cpu", *args.update_option]
            said, update_seconds = run([*update, *files, "--out", work / "updated"])
            report = json.loads(said)
            _, rebuild_seconds = run([*index, *files, "--out", work / "rebuilt"])
            found = [links(args.pel, work / name, args.notes) for name in ("updated", "rebuilt")]
            other = sum(decided(one) != decided(two) for one, two in zip(*found)) + abs(len(found[0]) - len(found[1]))
            row = {
                "share": share,
                "counts": report["counts"],
                "rows": report["rows"],
                "texts_encoded": report["texts_encoded"],
                "update_seconds": update_seconds,
                "rebuild_seconds": rebuild_seconds,
                "recall_at_64": report["recall_at_64"],
                "files_that_differ": differing(work / "updated", work / "rebuilt"),
                "mentions": len(found[1]),
                "other_decisions": other,
            }
            rows.append(row)
            differ = ", ".join(row["files_that_differ"]) or "none"
            print(
                f"| {100 * share:g} % | {row['texts_encoded']} | {both(update_seconds)} | {both(rebuild_seconds)} | {differ} "
                f"| {other} of {len(found[1])} |",
                flush=True,
            )
            for name in ("updated", "rebuilt"):
                shutil.rmtree(work / name)
        if args.out:
            figures = {"kb": args.kb.name, "concepts": len(concepts), "index_seconds": seconds, "updates": rows}
            args.out.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
