#!/usr/bin/env python3
"""Measures bundles on small texts of known kinds of error: adjectives, British spellings, short forms ...

    bench/kinds.py PEL BUNDLE [BUNDLE ...] [--names-only] [--kind NAME ...] [--json FILE]

Each file of bench/kinds is one kind; README.md there says what it holds. The texts were invented for this,
and nothing was trained on them. One value was tuned: the threshold of short forms in capitals. The table has,
for each bundle, the share of the annotated mentions that were found (by overlap) and that were linked to a
right concept. A mention of another kind that stands in a text is not annotated, so there is no precision.
Needs Python 3.9 and no packages.
"""

import argparse
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
KINDS = HERE / "kinds"


def measured(pel, bundle, path, more):
    """(mentions, found, right) of one kind, from `pel evaluate --raw`."""
    command = [pel, "evaluate", "--raw", "--bundle", bundle, "--notes", path, "--json", *more]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"kinds.py: {' '.join(map(str, command))}: exit code {done.returncode}: {done.stderr.strip()}")
    figures = json.loads(done.stdout)["figures"]
    share = lambda name: figures[name]["recall"]
    return share("concepts_overlap")["of"], share("spans_overlap"), share("concepts_overlap")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pel", type=pathlib.Path, help="the program")
    parser.add_argument("bundles", type=pathlib.Path, nargs="+", metavar="BUNDLE")
    parser.add_argument("--names-only", action="store_true", help="without the detectors of the bundles")
    parser.add_argument("--kind", action="append", help="only this kind; repeatable")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="also write the figures to a file")
    options = parser.parse_args()
    if not options.pel.is_file():
        parser.error(f"expected the program pel, found no file {options.pel}")
    options.pel = options.pel.resolve()
    paths = sorted(KINDS.glob("*.jsonl"))
    unknown = set(options.kind or ()) - {path.stem for path in paths}
    if unknown:
        parser.error(f"--kind: expected one of {', '.join(path.stem for path in paths)}, found {min(unknown)}")
    more = ["--names-only"] if options.names_only else []
    rows = []
    for path in paths:
        if options.kind and path.stem not in options.kind:
            continue
        of_bundles = [measured(options.pel, bundle, path, more) for bundle in options.bundles]
        rows.append((path.stem, of_bundles))
    names = [bundle.name for bundle in options.bundles]
    print("| kind | mentions | " + " | ".join(f"{name}: found | right" for name in names) + " |")
    print("| --- |" + " --- |" * (1 + 2 * len(names)))
    totals = [[0, 0, 0, 0] for _ in names]
    percent = lambda part, whole: f"{100 * part / whole:.1f}" if whole else "-"
    for kind, of_bundles in rows:
        cells = []
        for total, (_, found, right) in zip(totals, of_bundles):
            counts = (found["hits"], found["of"], right["hits"], right["of"])
            for at, count in enumerate(counts):
                total[at] += count
            cells += [percent(*counts[:2]), percent(*counts[2:])]
        print(f"| {kind.replace('_', ' ')} | {of_bundles[0][0]} | " + " | ".join(cells) + " |")
    cells = [cell for total in totals for cell in (percent(*total[:2]), percent(*total[2:]))]
    print(f"| all | {totals[0][1]} | " + " | ".join(cells) + " |")
    if options.json:
        record = {kind: dict(zip(names, ([found, right] for _, found, right in all))) for kind, all in rows}
        options.json.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
