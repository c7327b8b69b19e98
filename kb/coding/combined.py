"""Codes that mean a concept together with what the text says beside it: I50.23 for heart failure that is systolic, acute and chronic."""

import collections
import re

from coding.billable import EPISODES

HEADER = ["from", "when", "code", "note"]
NAMES = ("course", "severity", "stage", "laterality", "words", "next", "with")
# Rows are applied one after the other at most so many times.
MOST_STEPS = 6
SIDES = {"left": "left", "right": "right", "bilateral": "bilateral"}
# A title of both sides may leave the organ out, or name it in the plural.
PAIRED = {"ear", "eye", "ears", "eyes"}
WORD = re.compile(r"[a-z0-9-]+")
SITE = "unspecified stage"
STAGES = ("stage 1", "stage 2", "stage 3", "stage 4", "unstageable")


def read(path, icd):
    """The rows made by hand: (from, when, code). Each code must be in the list, and the code of a row be billable."""
    rows, faults = [], []
    lines = path.read_text(encoding="utf-8").splitlines()
    if not lines or lines[0].split("\t") != HEADER:
        raise ValueError(f"{path}:1: expected the columns {', '.join(HEADER)} between tabs")
    for at, line in enumerate(lines[1:], 2):
        if line.startswith("#"):
            continue
        columns = line.split("\t")
        if len(columns) != len(HEADER) or not all(column.strip() for column in columns):
            faults.append(f"{path}:{at}: expected {len(HEADER)} columns that are not empty, found {len(columns)}")
            continue
        base, when, code, _ = columns
        faults += [f"{path}:{at}: ICD-10-CM {one} is not in the supplied list" for one in (base, code) if one not in icd.titles]
        if code in icd.titles and icd.billable[code] != "1":
            faults.append(f"{path}:{at}: ICD-10-CM {code} cannot be billed; choose a code below it")
        for condition in conditions(when):
            if condition.partition("=")[0] not in NAMES or not condition.partition("=")[2]:
                faults.append(f"{path}:{at}: expected conditions NAME=VALUE with one of {', '.join(NAMES)}, found {condition!r}")
        rows.append((base, when, code))
    if faults:
        raise ValueError("\n".join(faults))
    return rows


def conditions(when):
    """The conditions of a row, which may have blanks in their values."""
    return re.split(r" (?=[a-z]+=)", when)


def bag(title, without):
    return collections.Counter(word for word in WORD.findall(title.lower()) if word not in without)


def is_sided(icd, base, code, side):
    """Whether a title says what that of the base says, of one side where the base says "unspecified"."""
    of_base, of_side = icd.titles[base], icd.titles[code]
    words = WORD.findall(of_side.lower())
    sides = {word for word in words if word in SIDES}
    if sides != {side} or any(word in SIDES for word in WORD.findall(of_base.lower())):
        return False
    if of_base.lower().count("unspecified") != of_side.lower().count("unspecified") + 1:
        return False
    own, other = bag(of_base, {"unspecified"}), bag(of_side, {"unspecified", side})
    if own == other:
        return True
    plain = [{word.rstrip("s") for word in one if word not in PAIRED} for one in (own, other)]
    return side == "bilateral" and plain[0] == plain[1]


def sided(icd, bases):
    """Codes of one side or both, of codes that leave the side open. Injuries need a seventh character and are left out."""
    families = collections.defaultdict(list)
    for code in icd.titles:
        families[code[:3]].append(code)
    for base in sorted(bases):
        if icd.billable.get(base) != "1" or EPISODES.match(base) or "unspecified" not in icd.titles[base].lower():
            continue
        for side in SIDES.values():
            found = [code for code in families[base[:3]] if icd.billable[code] == "1" and is_sided(icd, base, code, side)]
            if len(found) == 1:
                yield base, f"laterality={side}", found[0]


def staged(icd, bases):
    """Codes of pressure ulcers by stage, of those that leave the stage open."""
    by_title = {title.lower(): code for code, title in icd.titles.items() if code.startswith("L89.")}
    for base in sorted(bases):
        title = icd.titles[base].lower()
        if base.startswith("L89.") and title.endswith(SITE):
            for stage in STAGES:
                code = by_title.get(title[:-len(SITE)] + stage)
                if code and icd.billable[code] == "1":
                    yield base, f"stage={stage.removeprefix('stage ')}", code


def build(icd, hand, coded):
    """All rows: those made by hand first, then those that follow from titles, for codes of concepts and of rows."""
    bases = set(coded) | {code for _, _, code in hand}
    sides = list(sided(icd, bases))
    stages = list(staged(icd, bases | {code for _, _, code in sides}))
    rows = [*hand, *sides, *stages]
    check(rows)
    return [(*row, icd.titles[row[2]]) for row in sorted(rows, key=lambda row: row[0])]


def check(rows):
    """No row leads back to where another one came from."""
    after = collections.defaultdict(set)
    for base, _, code in rows:
        after[base].add(code)
    front, steps = {base: {base} for base in after}, 0
    while front:
        steps += 1
        if steps > MOST_STEPS:
            raise ValueError(f"combined.tsv: expected at most {MOST_STEPS} rows one after the other, starting from {', '.join(sorted(front)[:5])}")
        front = {base: {code for one in ends for code in after.get(one, ())} for base, ends in front.items()}
        circles = sorted(base for base, ends in front.items() if base in ends)
        if circles:
            raise ValueError(f"combined.tsv: {', '.join(circles)} lead back to themselves; take a row out")
        front = {base: ends for base, ends in front.items() if ends}
