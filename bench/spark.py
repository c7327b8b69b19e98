#!/usr/bin/env python3
"""Compares the Spark job with plain processes: the same notes, the same work, the same machine, in turn.

    spark.py --notes 5000 [--texts texts.jsonl.xz] [--bundle BUNDLE] [--processes 2] [--rounds 3]

Run it with a Python that has pel-linker, pyarrow and pyspark (3.5 or 4). It needs Java 17. Without --texts the notes are made of the
example notes.

    plain   as many processes as --processes, each with one thread; each opens the bundle, links its share of the notes with the function
            that Spark runs (pel_linker.spark.NoteLinker), and writes a Parquet file
    spark   examples/spark/link_notes.py on local[PROCESSES,4]

Each is started from nothing, for a fifth of the notes and for all of them. The first figure is the time of a whole run, with the start of
Java and the opening of the bundle. The second is the time of a further note: the difference of both runs, divided by the difference in
notes. Ratios are Spark's time by plain's in the same round, and the median over rounds. On Linux the processor time of all processes
is given too (Java and its workers included). On a machine that does other work, times mean little, ratios more, and processor time most;
the load is printed.
"""

import argparse
import ctypes
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples" / "spark"


def plain(notes: Path, share: int, of: int, out: Path, bundle: str | None) -> None:
    """One of the plain processes."""
    import pyarrow as pa
    import pyarrow.parquet as parquet
    from pel_linker.spark import NoteLinker

    lines = notes.read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines[len(lines) * share // of : len(lines) * (share + 1) // of]]
    batches = pa.Table.from_pylist(rows).to_batches(max_chunksize=1000)
    writer = None
    for batch in NoteLinker(bundle=bundle)(batches):
        writer = writer or parquet.ParquetWriter(out, batch.schema)
        writer.write_batch(batch)
    if writer is not None:
        writer.close()


class Stopwatch:
    """Time since the start, and processor time of what was started and has ended."""

    def __init__(self) -> None:
        self.begin = time.perf_counter()
        self.used = self.processor()

    @staticmethod
    def adopt() -> None:
        """Makes processes whose parents end first, as Java's do, children of this one."""
        if sys.platform.startswith("linux"):
            ctypes.CDLL(None).prctl(36, 1)

    @staticmethod
    def processor() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    def read(self) -> tuple[float, float]:
        seconds = time.perf_counter() - self.begin
        while sys.platform.startswith("linux"):
            try:
                os.waitpid(-1, 0)
            except ChildProcessError:
                break
        return seconds, self.processor() - self.used


def timed_plain(notes: Path, processes: int, folder: Path, bundle: str | None) -> tuple[float, float]:
    folder.mkdir()
    watch = Stopwatch()
    command = [sys.executable, __file__, "--notes", "1"] + (["--bundle", bundle] if bundle else [])
    running = [
        subprocess.Popen([*command, "--share", str(notes), str(at), str(processes), str(folder / f"{at}.parquet")])
        for at in range(processes)
    ]
    for process in running:
        if process.wait() != 0:
            raise SystemExit("error: a plain process failed")
    return watch.read()


def timed_spark(notes: Path, processes: int, folder: Path, bundle: str | None) -> tuple[float, float]:
    watch = Stopwatch()
    command = [sys.executable, EXAMPLE / "link_notes.py", "--master", f"local[{processes},4]", "--input", notes, "--output", folder]
    done = subprocess.run(command + (["--bundle", bundle] if bundle else []), capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"error: the Spark job failed\n{done.stderr}")
    return watch.read()


def count(folder: Path) -> tuple[int, int]:
    """Notes and mentions of a result."""
    import pyarrow.compute as compute
    import pyarrow.parquet as parquet

    tables = [parquet.read_table(file, columns=["mentions"], partitioning=None) for file in folder.rglob("*.parquet")]
    lengths = [compute.sum(compute.list_value_length(table["mentions"])).as_py() or 0 for table in tables]
    return sum(table.num_rows for table in tables), sum(lengths)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notes", type=int, default=5000)
    parser.add_argument("--texts", type=Path)
    parser.add_argument("--bundle")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--share", nargs=4, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.share:
        notes, share, of, out = chosen.share
        plain(Path(notes), int(share), int(of), Path(out), chosen.bundle)
        return 0
    if chosen.notes < 5 or chosen.processes < 1 or chosen.rounds < 1:
        parser.error("expected 5 or more notes, and 1 or more processes and rounds")

    import pyspark

    sys.path.insert(0, str(EXAMPLE))
    import make_notes

    ways = {"plain": timed_plain, "spark": timed_spark}
    sizes = (chosen.notes // 5, chosen.notes)
    rounds: list[dict[str, float]] = []
    Stopwatch.adopt()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for size in sizes:
            make_notes.write(make_notes.notes(size, 1, chosen.texts), folder / f"{size}.jsonl")
        mean = (folder / f"{sizes[1]}.jsonl").stat().st_size / sizes[1]
        print(f"pyspark {pyspark.__version__}, {os.cpu_count()} cores, {chosen.processes} processes, {sizes[1]} notes of {mean:.0f} bytes")
        for turn in range(chosen.rounds):
            times: dict[tuple[str, int], tuple[float, float]] = {}
            for size in sizes:
                found = {}
                for way, timed in ways.items():
                    out = folder / way
                    times[way, size] = timed(folder / f"{size}.jsonl", chosen.processes, out, chosen.bundle)
                    found[way] = count(out)
                    shutil.rmtree(out)
                if found["plain"] != found["spark"] or found["plain"][0] != size:
                    raise SystemExit(f"error: expected the same of both, found notes and mentions {found}")
            figures = {"mentions": found["plain"][1] / sizes[1], "load": os.getloadavg()[0]}
            for way in ways:
                for at, kind in enumerate(("time", "processor")):
                    figures[f"{way} whole {kind}"] = times[way, sizes[1]][at]
                    further = (times[way, sizes[1]][at] - times[way, sizes[0]][at]) / (sizes[1] - sizes[0])
                    figures[f"{way} further {kind}"] = 1000 * further
            rounds.append(figures)
            print(f"round {turn + 1}: {figures['mentions']:.1f} mentions a note, load {figures['load']:.1f}")
            for part, unit in (("whole", "s"), ("further", "ms")):
                for way in ways:
                    spent = [f"{figures[f'{way} {part} {kind}']:.2f} {unit} {kind}" for kind in ("time", "processor")]
                    print(f"  {way}, {'whole run' if part == 'whole' else 'a further note'}: {', '.join(spent)}")
    for part, name in (("whole", "whole run"), ("further", "a further note")):
        for kind in ("time", "processor"):
            ratios = sorted(each[f"spark {part} {kind}"] / each[f"plain {part} {kind}"] for each in rounds)
            print(f"{name}, {kind}: spark / plain {statistics.median(ratios):.2f} (median; {ratios[0]:.2f} to {ratios[-1]:.2f})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
