#!/usr/bin/env python3
"""Measures `pel import umls` and scispaCy's reader of the Metathesaurus on the same synthetic files, in alternating rounds.

Usage: import_rates.py --pel target/release/pel --scispacy DIR --work DIR [--rows 5000000] [--rounds 3] [--json FILE]

DIR of scispaCy has its package, without dependencies: pip download --no-deps scispacy, then unpack the wheel. Its
module umls_utils needs none of them for `read_umls_concepts`, `read_umls_types` and `read_umls_definitions`, which are
called as scispaCy's own script for exports does, and its concepts are written as JSON lines. The synthetic files are written by synthetic_rrf.py unless they exist.
Peak memory is that of the process (VmHWM). Prints rows of MRCONSO a second of time and of processor time (for machines in use), and the ratio of the rates.
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent

READER = """
import importlib.util, json, pathlib, resource, sys, time, types

folder, meta = sys.argv[1:]
# The package's own __init__ imports spaCy, which the reader does not need.
paths = types.ModuleType("scispacy.file_cache")
paths.cached_path = lambda path: path
package = types.ModuleType("scispacy")
package.__path__ = [folder + "/scispacy"]
sys.modules["scispacy"], sys.modules["scispacy.file_cache"] = package, paths
spec = importlib.util.spec_from_file_location("scispacy.umls_utils", folder + "/scispacy/umls_utils.py")
reader = importlib.util.module_from_spec(spec)
try:
    spec.loader.exec_module(reader)
except ModuleNotFoundError as error:
    sys.exit(f"scispacy.umls_utils: {error}")
begin = time.perf_counter()
concepts = {}
reader.read_umls_concepts(meta, concepts)
reader.read_umls_types(meta, concepts)
reader.read_umls_definitions(meta, concepts)
read = time.perf_counter() - begin
# As the script: concepts with names, written as JSON lines.
with open(sys.argv[2] + "/../scispacy.jsonl", "w") as out:
    for concept in concepts.values():
        if "canonical_name" in concept or concept.get("aliases"):
            out.write(json.dumps(concept) + "\\n")
usage = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({"seconds": time.perf_counter() - begin, "processor": usage.ru_utime + usage.ru_stime, "read": read,
                  "concepts": len(concepts), "peak": usage.ru_maxrss * 1024}))
"""


def run_pel(pel, meta, out):
    shutil.rmtree(out, ignore_errors=True)
    begin = time.perf_counter()
    process = subprocess.Popen([pel, "import", "umls", meta, "--out", out, "--json"], stdout=subprocess.PIPE, text=True)
    report = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - begin
    if status != 0:
        sys.exit(f"pel import umls ended with status {os.waitstatus_to_exitcode(status)}")
    kept = json.loads(report)["kept"]
    return {"seconds": seconds, "processor": usage.ru_utime + usage.ru_stime, "peak": usage.ru_maxrss * 1024,
            "concepts": kept["concepts"]}


def run_scispacy(folder, meta):
    done = subprocess.run([sys.executable, "-c", READER, folder, meta], stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pel", type=pathlib.Path, required=True)
    parser.add_argument("--scispacy", type=pathlib.Path, required=True, help="folder with the package scispacy")
    parser.add_argument("--work", type=pathlib.Path, required=True, help="folder for the synthetic files")
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=pathlib.Path, help="file for the raw figures")
    args = parser.parse_args()
    meta = args.work / f"META-{args.rows}"
    if not (meta / "MRFILES.RRF").exists():
        command = [sys.executable, HERE / "synthetic_rrf.py", "--rows", str(args.rows), "--out", meta]
        subprocess.run(command, check=True)
    size = sum(file.stat().st_size for file in meta.iterdir())
    rounds = []
    for at in range(args.rounds):
        load = os.getloadavg()[0]
        ours = run_pel(args.pel.resolve(), meta, args.work / "pel")
        peer = run_scispacy(args.scispacy, meta)
        rounds.append({"load": load, "pel": ours, "scispacy": peer})
        for name, figures in (("pel", ours), ("scispacy", peer)):
            rate = args.rows / figures["seconds"]
            print(f"round {at + 1} (load {load:.1f}) {name:>8}: {figures['seconds']:6.1f} s, {rate:9,.0f} rows/s, "
                  f"{figures['processor']:6.1f} s of processor, peak {figures['peak'] / 2**20:6.0f} MiB, "
                  f"{figures['concepts']:,} concepts", flush=True)
    for what in ("seconds", "processor"):
        middle = {name: statistics.median(one[name][what] for one in rounds) for name in ("pel", "scispacy")}
        rates = {name: args.rows / time for name, time in middle.items()}
        print(f"medians of {args.rounds}, rows a second of {'time' if what == 'seconds' else 'processor time'}: "
              f"pel {rates['pel']:,.0f}, scispacy {rates['scispacy']:,.0f}, ratio {rates['pel'] / rates['scispacy']:.2f}")
    print(f"{size / 2**20:.0f} MiB of tables")
    if args.json:
        args.json.write_text(json.dumps({"rows": args.rows, "bytes": size, "rounds": rounds}, indent=1) + "\n")


if __name__ == "__main__":
    main()
