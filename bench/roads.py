#!/usr/bin/env python3
"""Compares the roads to the linker on the same notes: command line, Python package, REST, Spark.

    roads.py --pel target/release/pel --bundle BUNDLE [--python VENV/bin/python] [--spark VENV/bin/python]
             [--notes 500] [--texts texts.jsonl.xz] [--processes 2] [--rounds 3] [--only cli,rest]

    cli-1     `pel link` over a table, one thread
    cli       the same with as many threads as --processes
    wheel-1   `Linker.link_arrow` in one Python process, one thread
    wheel     as many such processes, each with a share of the notes and one thread
    rest      `pel serve --api` with as many threads; each of 4 connections for a thread posts 16 notes at a time
    spark     examples/spark/link_notes.py on local[PROCESSES,4]

--python needs the package `pel-linker` and pyarrow; --spark pyspark too, and Java 17. Without them their roads are left out. --pel needs
the cargo feature `api` for `rest`. Without --texts the notes are made of the example notes. Roads run in turn, each from nothing, for a
fifth of the notes and for all of them:

    start        seconds before the first note: what remains of the shorter run without its notes
    notes/s      further notes a second, by the clock: the difference of both runs
    CPU ms       processor time of a further note, of all processes (on Linux; not of Spark, whose workers end out of sight)
    memory       the largest sum of the resident memory of all processes, with shared pages counted in each (on Linux)
    overhead     processor time of a further note, divided by that of `cli-1` in the same round

Medians over rounds. All roads must find the same number of mentions. The load of the machine is printed: if it does other work, times
mean little, ratios more, and processor time most.
"""

import argparse
import concurrent.futures
import ctypes
import http.client
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SPARK = ROOT / "examples" / "spark"
ROADS = ("cli-1", "cli", "wheel-1", "wheel", "rest", "spark")
# Notes of a request and of a call of the package.
AT_ONCE = 16

# One process of the wheel: links its share of the notes and prints the number of mentions.
WHEEL = """
import json, sys
import pyarrow
from pel_linker import Linker
notes, bundle, share, of, at_once = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
rows = [json.loads(line) for line in open(notes, encoding="utf-8")]
rows = rows[len(rows) * share // of : len(rows) * (share + 1) // of]
linker, mentions = Linker.open(bundle, threads=1), 0
for first in range(0, len(rows), at_once):
    some = rows[first : first + at_once]
    batch = pyarrow.record_batch(linker.link_arrow([row["text"] for row in some], ids=[row["id"] for row in some], k=1))
    mentions += batch.num_rows
print(mentions)
"""


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pel", required=True)
    parser.add_argument("--bundle", required=True)
    parser.add_argument("--python", help="a Python with pel-linker and pyarrow")
    parser.add_argument("--spark", help="a Python with pel-linker, pyarrow and pyspark")
    parser.add_argument("--notes", type=int, default=500)
    parser.add_argument("--texts", type=pathlib.Path)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default=",".join(ROADS), help=f"roads, with commas (default {','.join(ROADS)})")
    chosen = parser.parse_args()
    chosen.only = chosen.only.split(",")
    if set(chosen.only) - set(ROADS):
        parser.error(f"--only: expected some of {', '.join(ROADS)}")
    if chosen.notes < 5 or chosen.processes < 1 or chosen.rounds < 1:
        parser.error("expected 5 or more notes, and 1 or more processes and rounds")
    if not chosen.python:
        chosen.only = [road for road in chosen.only if not road.startswith("wheel")]
    if not chosen.spark:
        chosen.only = [road for road in chosen.only if road != "spark"]
    return chosen


class Watch:
    """Time, processor time and memory of the processes below this one."""

    def __init__(self):
        self.linux, self.peak, self.over = sys.platform.startswith("linux"), 0, threading.Event()
        if self.linux:
            # Processes whose parents end first, as Java's do, become children of this one.
            ctypes.CDLL(None).prctl(36, 1)

    def __enter__(self):
        self.begin, self.used, self.peak = time.perf_counter(), self.processor(), 0
        self.over.clear()
        self.sampler = threading.Thread(target=self.sample, daemon=True)
        self.sampler.start()
        return self

    def __exit__(self, *error):
        self.seconds = time.perf_counter() - self.begin
        while self.linux:
            try:
                os.waitpid(-1, 0)
            except ChildProcessError:
                break
        self.cpu = self.processor() - self.used
        self.over.set()
        self.sampler.join()

    @staticmethod
    def processor():
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    def sample(self):
        while self.linux and not self.over.wait(0.1):
            self.peak = max(self.peak, self.resident())

    @staticmethod
    def resident():
        """The resident bytes of all descendants."""
        parents, pages = {}, {}
        for folder in pathlib.Path("/proc").iterdir():
            if folder.name.isdigit():
                try:
                    # The name of a program may contain blanks and brackets.
                    parents[int(folder.name)] = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
                    pages[int(folder.name)] = int((folder / "statm").read_text().split()[1])
                except (OSError, IndexError, ValueError):
                    continue
        own, found = {os.getpid()}, set()
        while own:
            own = {child for child, parent in parents.items() if parent in own}
            found |= own
        return sum(pages.get(process, 0) for process in found) * os.sysconf("SC_PAGE_SIZE")


class Roads:
    """Each road links a table of notes and returns the number of mentions."""

    def __init__(self, options, folder):
        self.options, self.folder = options, folder

    def run(self, road, notes):
        method = {"cli-1": "cli", "wheel-1": "wheel"}.get(road, road)
        return getattr(self, method)(notes, 1 if road.endswith("-1") else self.options.processes)

    def cli(self, notes, threads):
        out = self.folder / "cli.jsonl"
        command = [self.options.pel, "link", "--bundle", self.options.bundle, "--device", "cpu", "-k", "1", "--format", "jsonl", notes,
                   "--out", out]
        checked(command, {"RAYON_NUM_THREADS": str(threads)})
        with out.open(encoding="utf-8") as lines:
            mentions = sum(1 for _ in lines)
        out.unlink()
        return mentions

    def wheel(self, notes, processes):
        running = [
            subprocess.Popen([self.options.python, "-c", WHEEL, notes, self.options.bundle, str(share), str(processes), str(AT_ONCE)],
                             stdout=subprocess.PIPE, text=True)
            for share in range(processes)
        ]
        outputs = [process.communicate()[0] for process in running]
        if any(process.returncode for process in running):
            sys.exit("error: a process of the Python package failed")
        return sum(map(int, outputs))

    def rest(self, notes, threads):
        command = [self.options.pel, "serve", "--api", "--json", "--device", "cpu", "--port", "0", "--bundle", self.options.bundle]
        environment = dict(os.environ, RAYON_NUM_THREADS=str(threads))
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment)
        try:
            port = json.loads(server.stdout.readline())["port"]
            rows = [json.loads(line) for line in notes.open(encoding="utf-8")]
            bodies = [json.dumps({"texts": rows[first : first + AT_ONCE], "options": {"k": 1}}) for first in range(0, len(rows), AT_ONCE)]
            with concurrent.futures.ThreadPoolExecutor(4 * threads) as pool:
                return sum(pool.map(lambda body: post(port, body), bodies))
        finally:
            server.terminate()
            server.wait(timeout=60)

    def spark(self, notes, processes):
        out = self.folder / "spark"
        checked([self.options.spark, SPARK / "link_notes.py", "--master", f"local[{processes},4]", "--input", notes, "--output", out,
                 "--bundle", self.options.bundle])
        count = ("import sys, pathlib, pyarrow.compute as c, pyarrow.parquet as p\n"
                 "files = pathlib.Path(sys.argv[1]).rglob('*.parquet')\n"
                 "print(sum(c.sum(c.list_value_length(p.read_table(f, columns=['mentions'], partitioning=None)['mentions'])).as_py() or 0\n"
                 "          for f in files))")
        mentions = int(checked([self.options.spark, "-c", count, out]))
        checked(["rm", "-r", out])
        return mentions


def checked(command, environment=None):
    done = subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          env=dict(os.environ, **(environment or {})))
    if done.returncode != 0:
        sys.exit(f"error: {command[0]} failed\n{done.stderr}")
    return done.stdout


def post(port, body):
    """The number of mentions that a request finds. A full queue is tried again."""
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
        connection.request("POST", "/v1/link", body, {"content-type": "application/json"})
        response = connection.getresponse()
        answer = response.read()
        connection.close()
        if response.status == 200:
            return sum(len(text["mentions"]) for text in json.loads(answer))
        if response.status != 429:
            sys.exit(f"error: the server answered {response.status}")
        time.sleep(float(response.headers["retry-after"]))


def main():
    options = arguments()
    sys.path.insert(0, str(SPARK))
    import make_notes

    sizes = (options.notes // 5, options.notes)
    found = {road: [] for road in options.only}
    watch = Watch()
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        tables = {size: folder / f"{size}.jsonl" for size in sizes}
        for size, table in tables.items():
            make_notes.write(make_notes.notes(size, 1, options.texts), table)
        roads = Roads(options, folder)
        mean = tables[sizes[1]].stat().st_size / sizes[1]
        print(f"{os.cpu_count()} cores, {options.processes} processes or threads, {sizes[1]} notes of {mean:.0f} bytes, load "
              f"{os.getloadavg()[0]:.1f}", flush=True)
        for turn in range(options.rounds):
            mentions = {}
            for road in options.only:
                runs = []
                for size in sizes:
                    with watch:
                        mentions.setdefault(size, {})[road] = roads.run(road, tables[size])
                    runs.append((watch.seconds, watch.cpu, watch.peak))
                (few, few_cpu, _), (many, many_cpu, peak) = runs
                further = (many - few) / (sizes[1] - sizes[0])
                cpu = (many_cpu - few_cpu) / (sizes[1] - sizes[0])
                found[road].append({"start": few - further * sizes[0], "rate": 1 / further, "cpu": None if road == "spark" else 1000 * cpu, "memory": peak / 1e6})
                print(f"round {turn + 1}: {road} {1 / further:.1f} notes/s", file=sys.stderr, flush=True)
            for size, counts in mentions.items():
                if len(set(counts.values())) > 1:
                    print(f"warning: {size} notes: different numbers of mentions: {counts}")
    print(f"{sum(mentions[sizes[1]].values()) / len(options.only) / sizes[1]:.1f} mentions a note\n")
    print(f"{'road':<8}  {'start, s':>8}  {'notes/s':>8}  {'CPU ms':>8}  {'memory, MB':>10}  {'overhead':>8}")
    base = found.get("cli-1")
    for road, rounds in found.items():
        middle = {name: statistics.median(figures[name] for figures in rounds) for name in ("start", "rate", "memory")}
        cpu, over = "-", "-"
        if road != "spark":
            cpu = f"{statistics.median(figures['cpu'] for figures in rounds):.1f}"
            if base:
                over = f"{statistics.median(own['cpu'] / other['cpu'] for own, other in zip(rounds, base)):.2f}"
        print(f"{road:<8}  {middle['start']:>8.2f}  {middle['rate']:>8.2f}  {cpu:>8}  {middle['memory']:>10.0f}  {over:>8}")


if __name__ == "__main__":
    main()
