#!/usr/bin/env python3
"""Measures how many FHIR resources of notes have a code of a standard system, by type of resource.

    bench/fhir_codes.py --pel PEL --bundle BUNDLE NOTES... [--before OLD | --without-codes] [--json FILE]

NOTES are what `pel link` reads: folders of texts, or tables. A resource counts if the element that says what it is about has a
coding of SNOMED CT, ICD-10-CM, RxNorm, LOINC or CVX; side, severity and relative do not count. `exact` leaves out broader codes.
`linked` counts resources whose mention has a concept. --before compares with another bundle, --without-codes with the same bundle
without its codes, whose resources have the cross-references of the concept. Needs Python 3.9 and no packages.
"""

import argparse
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

SYSTEMS = {
    "http://snomed.info/sct": "SNOMED CT",
    "http://hl7.org/fhir/sid/icd-10-cm": "ICD-10-CM",
    "http://www.nlm.nih.gov/research/umls/rxnorm": "RxNorm",
    "http://loinc.org": "LOINC",
    "http://hl7.org/fhir/sid/cvx": "CVX",
}
# Elements that say what a resource is about, by type; all other types are about the note.
ABOUT = {
    "AllergyIntolerance": ["code"],
    "Condition": ["code"],
    "FamilyMemberHistory": ["condition", "code"],
    "MedicationStatement": ["medicationCodeableConcept"],
    "Observation": ["code"],
    "Procedure": ["code"],
    "ServiceRequest": ["code"],
}
MATCH = "urn:pel:match"
PROBABILITY = "urn:pel:probability"


def elements(resource, path):
    """The elements at a path; each step may be a list."""
    found = [resource]
    for name in path:
        steps = [one.get(name, []) for one in found]
        found = [one for step in steps for one in (step if isinstance(step, list) else [step])]
    return found


def has_extension(value, url):
    """Whether a value, or one within it, has an extension."""
    if isinstance(value, list):
        return any(has_extension(one, url) for one in value)
    if not isinstance(value, dict):
        return False
    own = any(one.get("url") == url for one in value.get("extension", []))
    return own or any(has_extension(one, url) for one in value.values())


def codes(resource):
    """(systems, systems with an exact code) of a resource."""
    codings = [coding for concept in elements(resource, ABOUT[resource["resourceType"]]) for coding in concept.get("coding", [])]
    standard = [coding for coding in codings if coding.get("system") in SYSTEMS]
    exact = [coding for coding in standard if not has_extension(coding, MATCH)]
    return tuple({SYSTEMS[coding["system"]] for coding in some} for some in (standard, exact))


def measure(lines):
    """Counts by type of resource: resources, linked, any, exact, and each system."""
    counts = collections.defaultdict(collections.Counter)
    for line in lines:
        for entry in json.loads(line)["entry"]:
            resource = entry["resource"]
            if resource["resourceType"] not in ABOUT:
                continue
            systems, exact = codes(resource)
            found = ["resources", *systems]
            found += ["linked"] * has_extension(resource, PROBABILITY) + ["any"] * bool(systems) + ["exact"] * bool(exact)
            for kind in (resource["resourceType"], "all"):
                counts[kind].update(found)
    return {kind: dict(counts[kind]) for kind in sorted(counts, key=lambda kind: (kind == "all", kind))}


def linked(pel, bundle, notes):
    """A bundle of FHIR on each line, one for each note."""
    command = [pel, "link", "--bundle", bundle, "--format", "fhir", "--date", "2026-11-26", *notes]
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, encoding="utf-8")
    # 3: some notes could not be read.
    if done.returncode not in (0, 3):
        sys.exit(f"fhir_codes.py: pel link ended with {done.returncode}")
    return [line for line in done.stdout.splitlines() if line.strip()]


def without_codes(pel, bundle, out):
    """Writes a bundle without its codes."""
    empty = out.with_suffix(".tsv")
    empty.write_text("id\tsystem\tcode\tmatch\n", encoding="utf-8")
    subprocess.run([str(part) for part in (pel, "update", bundle, "--codes", empty, "--out", out)], check=True, stdout=subprocess.DEVNULL)
    return out


def table(before, after):
    """The lines of a table of shares; `before` may be None."""
    columns = ["linked", "any", "exact", *SYSTEMS.values()]
    heads = ["resource", "n", *columns] if before is None else ["resource", "n", "linked", "any before", *columns[1:]]
    lines = [heads, ["---"] * len(heads)]
    share = lambda counts, name: f"{100 * counts.get(name, 0) / counts['resources']:.1f} %" if counts.get("resources") else "–"
    for kind, counts in after.items():
        row = [kind, str(counts["resources"]), share(counts, "linked")]
        row += [share(before.get(kind, {}), "any")] if before is not None else []
        lines.append(row + [share(counts, name) for name in columns[1:]])
    return [f"| {' | '.join(line)} |" for line in lines]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("notes", nargs="+", type=pathlib.Path, metavar="NOTES")
    parser.add_argument("--pel", required=True, type=pathlib.Path)
    parser.add_argument("--bundle", required=True, type=pathlib.Path)
    compared = parser.add_mutually_exclusive_group()
    compared.add_argument("--before", type=pathlib.Path, metavar="BUNDLE", help="another bundle to compare with")
    compared.add_argument("--without-codes", action="store_true", help="compare with the same bundle without codes")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write the counts too")
    args = parser.parse_args()
    for path in [args.bundle, *args.notes, *([args.before] if args.before else [])]:
        if not path.exists():
            sys.exit(f"fhir_codes.py: {path} does not exist")
    after, before = linked(args.pel, args.bundle, args.notes), None
    with tempfile.TemporaryDirectory() as folder:
        old = without_codes(args.pel, args.bundle, pathlib.Path(folder, "plain")) if args.without_codes else args.before
        if old is not None:
            before = linked(args.pel, old, args.notes)
    counts = {"notes": len(after), "before": before and measure(before), "after": measure(after)}
    print(f"{len(after)} notes\n")
    print("\n".join(table(counts["before"], counts["after"])))
    if args.json:
        args.json.write_text(json.dumps(counts, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
