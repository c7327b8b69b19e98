"""Runs `pel bench` and reads its JSON. These fields are used:

    threads, cold_start_ms, link_peak_bytes
    encode  [{precision: f32 or int8, batch, seq, median_ms}]
    rank    [{precision: f32, bf16 or int8, batch, seq, median_ms, scores: of the pairs, in their order}]
    train   [{kind: backward or step, precision, batch, seq, median_ms, pairs_per_s, operations, peak_share, allocations, peak_bytes}]
    search  [{kind, rows, dim, k, ef, batch, queries_per_s, recall, bytes, found: a file in the folder of --export-found}]
    notes   {notes, note_tokens, mentions, sequences, tokens, link_ms, pass_ms, passes}
"""

import json
import os
import shlex
import statistics
import subprocess
import sys

NEEDED = {
    "encode": ("batch", "seq", "median_ms"),
    "rank": ("precision", "batch", "seq", "median_ms", "scores"),
    "train": ("kind", "precision", "median_ms"),
    "search": ("kind", "rows", "k", "batch", "queries_per_s", "recall", "bytes"),
}


def joined(*lists):
    """Merges lists of arguments. The first list with an option wins, because `pel` refuses repeated options."""
    taken, all = set(), []
    for arguments in lists:
        own, skips = set(), False
        for argument in map(str, arguments):
            # A value belongs to its option; a negative number is a value.
            if argument.startswith("--") or len(argument) == 2 and argument[0] == "-" and argument[1].isalpha():
                name = argument.split("=")[0]
                name = {"-k": "--k"}.get(name, name)
                skips = name in taken
                own.add(name)
            if not skips:
                all.append(argument)
        taken |= own
    return all


def run_pel(options, *more, seconds=None):
    """Runs `pel bench` with further arguments and returns its JSON. --pel-args overrides them."""
    least = options.seconds if seconds is None else seconds
    ours = ["--seconds", least, *more]
    if options.int8_bundle:
        ours += ["--int8-bundle", options.int8_bundle]
    command = [str(options.pel), "bench", *joined(["--json", "--bundle", options.bundle], shlex.split(options.pel_args), ours)]
    # pel uses rayon's threads.
    environment = dict(os.environ, RAYON_NUM_THREADS=str(options.threads))
    done = subprocess.run(command, stdout=subprocess.PIPE, env=environment, text=True)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(command)} failed with exit code {done.returncode}")
    return parsed(done.stdout, shlex.join(command))


def parsed(text, origin):
    try:
        value = json.loads(text)
        for part, names in NEEDED.items():
            for row in value.get(part) or []:
                for name in names:
                    row[name]
        return value
    except (json.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        sys.exit(f"{origin}: not the output of `pel bench --json`: {error!r}")


def encode_ms(runs):
    """(precision, batch, seq) -> ms, the median over runs."""
    return medians((((row.get("precision", "f32"), row["batch"], row["seq"]), row["median_ms"]) for row in rows(runs, "encode")))


def rank_ms(runs):
    """(precision, batch, seq) -> ms, the median over runs."""
    return medians((((row["precision"], row["batch"], row["seq"]), row["median_ms"]) for row in rows(runs, "rank")))


def train_ms(runs):
    """(kind, precision) -> ms, the median over runs."""
    return medians((((row["kind"], row["precision"]), row["median_ms"]) for row in rows(runs, "train")))


def peak_shares(runs):
    """(kind, precision) -> share of the processor's peak in that precision, the median over runs."""
    return medians((((row["kind"], row["precision"]), row["peak_share"]) for row in rows(runs, "train") if row["peak_share"]))


def search_ms(runs):
    """(kind, batch) -> ms per query, the median over runs."""
    return medians((((row["kind"], row["batch"]), 1000 / row["queries_per_s"]) for row in rows(runs, "search")))


def rows(runs, part):
    return [row for run in runs for row in run.get(part) or []]


def medians(pairs):
    found = {}
    for case, time in pairs:
        found.setdefault(case, []).append(time)
    return {case: statistics.median(times) for case, times in found.items()}
