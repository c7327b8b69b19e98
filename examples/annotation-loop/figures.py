#!/usr/bin/env python3
"""Prints the figures of the annotation loop: before and after calibration and training.

Usage: figures.py WORK
"""
import json
import pathlib
import sys


def main():
    work = pathlib.Path(sys.argv[1])
    read = lambda name: json.loads((work / name).read_text(encoding="utf-8"))
    raw = [read("raw-before.json"), read("raw-after.json")]
    trained = [read("recall-before.json"), read("recall-after.json")]
    percent = lambda value: "-" if value is None else f"{100 * value:.1f}"
    rows = []
    for name, figure in [("mentions, F1 (overlap)", "spans_overlap"), ("concepts, F1 (overlap)", "concepts_overlap")]:
        rows.append((f"calibration: {name}", *(percent(one["figures"][figure]["f1"]["value"]) for one in raw)))
    for part in ["precision", "recall"]:
        rows.append((f"calibration: concepts, {part}",
                     *(percent(one["figures"]["concepts_overlap"][part]["value"]) for one in raw)))
    for k in [1, 8]:
        at = [next(at for at in one["systems"][0]["recall"][0]["at"] if at["k"] == k) for one in trained]
        rows.append((f"training: recall@{k} of {at[0]['of']} given mentions", *(percent(one["recall"]) for one in at)))
    counts = raw[0]["counts"]
    print(f"test split: {counts['documents']} notes, {counts['annotated']} mentions. In %:")
    print(f"{'':52}{'before':>8}{'after':>8}")
    for name, before, after in rows:
        print(f"{name:52}{before:>8}{after:>8}")
    for one in raw[1]["figures"].get("context", []):
        print(f"context, {one['value']}: F1 {percent(one['f1']['value'])}")


if __name__ == "__main__":
    main()
