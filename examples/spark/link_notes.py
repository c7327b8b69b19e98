#!/usr/bin/env python3
"""Links a table of notes with Apache Spark (3.5 or 4), each note once.

    spark-submit link_notes.py --input notes/ --output linked/ --text-column text --id-column id
    spark-submit link_notes.py --input notes/*.jsonl --output linked/ --bundle /models/default.pel --partitions 64
    python link_notes.py --demo --output linked/          five notes made of the example notes, on this machine

The input is Parquet, or JSON with one object a line (.jsonl, .json, .ndjson, also .gz). The output has one row a note, in
Parquet: the identifier, `mentions` (a list of structures, offsets in code points) and `error`. A note without text has no
mentions, and an error that says so.

The input files are taken in groups (--files-per-group). Each group is one Spark job, and becomes one folder of the output:
`group=00000`, `group=00001` and so on. Spark's committer moves the rows of a task into it once, whatever fails before, and the
file `_SUCCESS` says that a group is complete. A run that was stopped continues with the groups that are not complete. To read
the result: spark.read.parquet("linked/").

What a first run was told stands in `_pel.json` beside the groups. A run with other settings or other input files for the same
output stops with an error.

Retries: on a cluster Spark tries a task four times. On one machine it tries it once, unless the master says otherwise:
--master "local[2,4]" has two workers and four attempts, and is the default here.
"""

import argparse
import json
import os
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from pel_linker.spark import NoteLinker
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

JSON_LINES = (".jsonl", ".json", ".ndjson", ".jsonl.gz", ".json.gz", ".ndjson.gz")


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--input", nargs="+", metavar="PATH", help="files or folders of notes, Parquet or JSON lines")
    parser.add_argument("--output", required=True, help="folder for the result")
    parser.add_argument("--text-column", default="text", help="column of texts [text]")
    parser.add_argument("--id-column", default="id", help="column of identifiers [id]")
    parser.add_argument("--bundle", help="bundle, at the same path on all executors [the default bundle]")
    parser.add_argument("--partitions", type=int, help="tasks of a group [four for each core]")
    parser.add_argument("--files-per-group", type=int, default=16, help="input files of a group [16]")
    parser.add_argument("--k", type=int, default=1, help="candidates of a mention [1]")
    parser.add_argument("--threshold", type=float, help="lowest probability that is linked [the bundle's]")
    parser.add_argument("--asserted", action="store_true", help="only what is stated of the patient now")
    parser.add_argument("--xrefs", help="prefixes of cross-references to keep, with commas [all]")
    parser.add_argument("--codes", help="code systems of codes to keep, such as ICD10CM,RXNORM [all]")
    parser.add_argument("--context-rules", default="english", help="built-in rules, or a file on all executors [english]")
    parser.add_argument("--batch", type=int, default=64, help="notes that a worker links at once [64]")
    parser.add_argument("--master", help="Spark's master, if spark-submit sets none [local[2,4]]")
    parser.add_argument("--demo", action="store_true", help="link five notes made of the example notes")
    chosen = parser.parse_args(words)
    if bool(chosen.input) == chosen.demo:
        parser.error("expected either --input or --demo")
    for name in ("partitions", "files_per_group"):
        value = getattr(chosen, name)
        if value is not None and value < 1:
            parser.error(f"expected --{name.replace('_', '-')} of 1 or more, found {value}")
    return chosen


def session(master: str | None) -> SparkSession:
    """A session in which the rows of a task are committed once."""
    builder = (
        SparkSession.builder.appName("pel link notes")
        .config("spark.python.worker.reuse", "true")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "1000")
        .config("spark.sql.session.timeZone", "UTC")
        # The second algorithm shows rows of a task that fails while it commits.
        .config("spark.hadoop.mapreduce.fileoutputcommitter.algorithm.version", "1")
    )
    if master or not os.environ.get("SPARK_ENV_LOADED"):
        # spark-submit sets the variable, and the master with it. Without it the workers need to be told which Python to use.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = builder.master(master or "local[2,4]")
    return builder.getOrCreate()


class Folder:
    """The output folder, in whatever file system Spark writes to."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self.hadoop = spark._jvm.org.apache.hadoop.fs
        self.root = self.hadoop.Path(path)
        self.files = self.root.getFileSystem(spark._jsc.hadoopConfiguration())
        self.path = path

    def exists(self) -> bool:
        return bool(self.files.exists(self.root))

    def has(self, name: str) -> bool:
        return bool(self.files.exists(self.hadoop.Path(self.root, name)))

    def read(self, name: str) -> bytes:
        stream = self.files.open(self.hadoop.Path(self.root, name))
        try:
            return bytes(stream.readAllBytes())
        finally:
            stream.close()

    def write(self, name: str, data: bytes) -> None:
        """Writes a file under another name first, so that it is there in whole or not at all."""
        part = self.hadoop.Path(self.root, f".{name}.part")
        stream = self.files.create(part, True)
        try:
            stream.write(bytearray(data))
        finally:
            stream.close()
        if not self.files.rename(part, self.hadoop.Path(self.root, name)):
            raise OSError(f"{self.path}/{name} could not be written")


def read(spark: SparkSession, paths: list[str]) -> DataFrame:
    """The notes of files or folders."""
    if all(path.lower().endswith(JSON_LINES) for path in paths):
        return spark.read.json(paths)
    return spark.read.parquet(*paths)


def input_files(spark: SparkSession, paths: list[str]) -> list[str]:
    """All input files with their size, in order."""
    hadoop = spark._jvm.org.apache.hadoop.fs
    found = []
    for path in paths:
        pattern = hadoop.Path(path)
        files = pattern.getFileSystem(spark._jsc.hadoopConfiguration())
        matches = files.globStatus(pattern)
        if not matches:
            raise ValueError(f"there are no notes at {path}")
        for match in matches:
            walk = files.listFiles(match.getPath(), True)
            while walk.hasNext():
                file = walk.next().getPath()
                if not file.getName().startswith((".", "_")):
                    found.append(file.toString())
    kinds = {file.lower().endswith(JSON_LINES) for file in found}
    if len(kinds) != 1:
        raise ValueError("expected files of one kind, Parquet or JSON lines, " + ("found both" if kinds else "found none"))
    return sorted(set(found))


def demo(folder: Path) -> list[str]:
    """Five notes in one file."""
    import make_notes

    made = folder / "notes.jsonl"
    make_notes.write(make_notes.notes(5, 1, None), made)
    return [str(made)]


def run(spark: SparkSession, chosen: argparse.Namespace, paths: list[str]) -> tuple[int, int]:
    """Links what is not linked yet. Returns how many notes this output has, and how many of them an error."""
    options: dict[str, Any] = {"k": chosen.k}
    if chosen.threshold is not None:
        options["threshold"] = chosen.threshold
    if chosen.asserted:
        options["asserted"] = True
    if chosen.xrefs is not None:
        options["xrefs"] = [prefix for prefix in chosen.xrefs.split(",") if prefix]
    if chosen.codes is not None:
        options["codes"] = chosen.codes.split(",")
    link = NoteLinker(
        bundle=chosen.bundle,
        text_column=chosen.text_column,
        id_column=chosen.id_column,
        context_rules=chosen.context_rules,
        batch=chosen.batch,
        options=options,
    )

    files = input_files(spark, paths)
    groups = [files[at : at + chosen.files_per_group] for at in range(0, len(files), chosen.files_per_group)]
    output = Folder(spark, chosen.output)
    # The notes of the demonstration are the same in any folder.
    told = {**asdict(link), "groups": "demo" if chosen.demo else groups}
    # How many notes are linked at once changes nothing.
    del told["batch"]
    if output.has("_pel.json"):
        if json.loads(output.read("_pel.json")) != told:
            raise ValueError(f"{chosen.output} was begun with other settings or other input files; choose another output")
    elif output.exists():
        raise ValueError(f"{chosen.output} exists and is no output of this job; choose another output")
    else:
        # Nothing is written for notes that do not fit.
        link.schema(read(spark, groups[0]))
        output.write("_pel.json", json.dumps(told, indent=1).encode())

    plain = replace(link, id_column="note_id", text_column="note_text")
    partitions = chosen.partitions or 4 * spark.sparkContext.defaultParallelism
    for at, group in enumerate(groups):
        name = f"group={at:05}"
        if output.has(f"{name}/_SUCCESS"):
            print(f"{name}: done before", file=sys.stderr)
            continue
        notes = read(spark, group)
        link.schema(notes)
        # `mapInArrow` takes a point in the name of a column for a field of a structure, so the columns have other names there.
        columns = [sql.col(f"`{chosen.id_column}`").alias(plain.id_column), sql.col(f"`{chosen.text_column}`").alias(plain.text_column)]
        notes = notes.select(columns).repartition(partitions)
        linked = notes.mapInArrow(plain, plain.schema(notes)).withColumnRenamed(plain.id_column, chosen.id_column)
        # What a run that was stopped left of this group goes away.
        linked.write.mode("overwrite").parquet(f"{chosen.output}/{name}")
        print(f"{name}: {counted(len(group), 'file')} linked", file=sys.stderr)
    # Groups are folders that Spark would read as a column; the rows have all that is needed.
    done = spark.read.parquet(chosen.output)
    notes_done = done.count()
    failed = done.where(sql.col("error").isNotNull()).count()
    print(f"{counted(notes_done, 'note')} in {counted(len(groups), 'group')}, {failed} with an error", file=sys.stderr)
    return notes_done, failed


def counted(count: int, thing: str) -> str:
    return f"{count} {thing}{'' if count == 1 else 's'}"


def cause(message: str) -> str:
    """The exception that a traceback of a worker ends with, else the first line."""
    raised = re.findall(r"^\s*((?:\w+\.)*\w*(?:Error|Interrupted|Exception): .*)$", message, re.MULTILINE)
    return raised[-1] if raised else message.strip().split("\n", 1)[0]


def main(words: Sequence[str] | None = None) -> int:
    chosen = arguments(words)
    if chosen.demo:
        with tempfile.TemporaryDirectory() as folder:
            return start(chosen, demo(Path(folder)))
    return start(chosen, chosen.input)


def start(chosen: argparse.Namespace, paths: list[str]) -> int:
    spark = session(chosen.master)
    try:
        run(spark, chosen, paths)
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 3
    except (PySparkException, Py4JJavaError) as error:
        # Pages of Java and Python, of which Spark's log has the rest.
        print(f"error: Spark gave up: {cause(str(error))}", file=sys.stderr)
        return 1
    finally:
        spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
