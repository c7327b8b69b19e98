"""Loads the REST interface: many connections that each send one note after the other.

Usage: api_load.py --pel PEL --bundle BUNDLE [--seconds 60] [--connections 200] [--notes FOLDER] [--check]

Prints requests a second, the times of requests (p50, p99, the longest), statuses, the memory of the server at the start, in the
middle and at the end, and the ratio of its rate to that of `pel link` in one process on the same notes. Standard library alone.
With --check it ends with 1 if a request fails for another reason than a full queue, if memory grows by more than a tenth in the
second half, or if the p99 exceeds --bound seconds.
"""
import argparse
import collections
import http.client
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[1]


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pel", required=True)
    parser.add_argument("--bundle", required=True)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--connections", type=int, default=200)
    parser.add_argument("--notes", type=pathlib.Path, default=ROOT / "examples")
    parser.add_argument("--bound", type=float, default=60.0)
    parser.add_argument("--check", action="store_true")
    return parser.parse_args()


class Load:
    """Connections that send notes until the time is over."""

    def __init__(self, port, notes, seconds):
        self.port, self.bodies = port, [json.dumps({"text": note}) for note in notes]
        self.end = time.monotonic() + seconds
        self.times, self.statuses, self.lock = [], collections.Counter(), threading.Lock()

    def client(self, number):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        at = number
        while time.monotonic() < self.end:
            body = self.bodies[at % len(self.bodies)]
            at += 1
            begun = time.monotonic()
            try:
                connection.request("POST", "/v1/link", body, {"content-type": "application/json"})
                response = connection.getresponse()
                response.read()
                status = response.status
            except (OSError, http.client.HTTPException) as error:
                status = type(error).__name__
                connection.close()
            taken = time.monotonic() - begun
            with self.lock:
                self.statuses[status] += 1
                if status == 200:
                    self.times.append(taken)
            if status == 429:
                time.sleep(min(float(response.headers["retry-after"]), 5))

    def run(self, connections):
        threads = [threading.Thread(target=self.client, args=[number]) for number in range(connections)]
        for thread in threads:
            thread.start()
        return threads


def metric(address, name):
    with urllib.request.urlopen(address + "metrics", timeout=120) as response:
        lines = response.read().decode().splitlines()
    return next((float(line.split()[-1]) for line in lines if line.startswith(name + " ")), 0.0)


def in_process(pel, bundle, notes):
    """Notes a second of `pel link` over copies of the notes, without its start."""

    def seconds(copies):
        with tempfile.TemporaryDirectory() as folder:
            for at in range(copies):
                (pathlib.Path(folder) / f"{at}.txt").write_text(notes[at % len(notes)])
            begun = time.monotonic()
            command = [pel, "link", "--bundle", bundle, "--device", "cpu", "--format", "json", folder]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            return time.monotonic() - begun

    few, many = 8, 72
    return (many - few) / max(seconds(many) - seconds(few), 1e-9)


def main():
    args = parse()
    notes = [path.read_text() for path in sorted(args.notes.glob("*.txt"))]
    rate = in_process(args.pel, args.bundle, notes)
    command = [args.pel, "serve", "--api", "--json", "--device", "cpu", "--port", "0", "--bundle", args.bundle]
    command += ["--max-connections", str(args.connections + 8), "--max-per-address", str(args.connections + 8)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE)
    answer = json.loads(server.stdout.readline())
    address, memory = answer["address"], []
    try:
        load = Load(answer["port"], notes, args.seconds)
        threads = load.run(args.connections)
        begun = time.monotonic()
        while time.monotonic() < load.end:
            time.sleep(min(1, args.seconds / 20))
            memory.append(metric(address, "process_resident_memory_bytes"))
        for thread in threads:
            thread.join()
        taken = time.monotonic() - begun
        batches = metric(address, "pel_batch_texts_sum") / max(metric(address, "pel_batch_texts_count"), 1)
    finally:
        server.terminate()
        code = server.wait(timeout=120)
    times = sorted(load.times)
    if not times:
        sys.exit(f"failed: no request succeeded: statuses {dict(load.statuses)}, exit code {code}")
    p99 = times[int(len(times) * 0.99)]
    rest = rate and len(times) / taken
    half = memory[len(memory) // 2 :]
    growth = statistics.median(half[-5:]) / statistics.median(half[:5]) - 1
    print(f"connections {args.connections}, {taken:.0f} s, {len(notes)} notes of {sum(map(len, notes)) // len(notes)} characters")
    print(f"requests a second {rest:.1f}; pel link in one process {rate:.1f} notes a second; ratio {rest / rate:.2f}")
    print(f"seconds: p50 {times[len(times) // 2]:.3f}, p99 {p99:.3f}, longest {times[-1]:.3f}")
    print(f"statuses {dict(load.statuses)}; texts in a batch {batches:.1f}")
    print(f"memory MB: first {memory[0] / 1e6:.0f}, middle {half[0] / 1e6:.0f}, last {memory[-1] / 1e6:.0f}, second half {growth:+.1%}")
    if args.check:
        failed = {status: count for status, count in load.statuses.items() if status not in (200, 429)}
        if failed or growth > 0.1 or p99 > args.bound or code != 0:
            sys.exit(f"failed: statuses {failed}, growth {growth:.1%}, p99 {p99:.1f} s, exit code {code}")


if __name__ == "__main__":
    main()
