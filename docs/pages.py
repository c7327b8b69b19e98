#!/usr/bin/env python3
"""Checks the links of the documentation and collects its pages for mdbook; scripts/build/docs calls it.

    pages.py check                 links and anchors of the Markdown files, as they stand in the repository
    pages.py collect FOLDER        copies the pages and pictures below FOLDER/src, with a SUMMARY.md for mdbook
    pages.py check-book FOLDER     links and anchors of the built pages

It fetches nothing: links to other hosts are not checked.
"""

import html.parser
import os
import pathlib
import re
import shutil
import sys
import unicodedata
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent
REPOSITORY = "https://github.com/pel-linker/pel/blob/main/"
PAGES = ["README.md", "RESULTS.md", "ARCHITECTURE.md", "CHANGELOG.md", "docs/*.md", "results/*.md"]
# Checked, but not part of the book.
OTHERS = ["examples/*.md", "kb/*.md", "bundle/*.md", "web/js/*.md", "tests/fixtures/*/*.md"]
LINK = re.compile(r"(\]\()([^()\s]+)(\))")
CODE = re.compile(r"^(```|~~~).*?^\1[^\S\n]*$|`[^`\n]+`", re.MULTILINE | re.DOTALL)


def files(patterns):
    found = {path for pattern in patterns for path in ROOT.glob(pattern)}
    return sorted(path for path in found if path.name != "SUMMARY.md")


def prose(text):
    """The text with code blanked out, every character in its place."""
    return CODE.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), text)


def anchors(path):
    """The anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"^(```|~~~).*?^\1[^\S\n]*$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    found = {}
    for heading in re.findall(r"^#{1,6} +(.*?)#*$", text, re.MULTILINE):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        kept = (c for c in words if c in " -_" or unicodedata.category(c)[0] in "LN")
        anchor = "".join(kept).replace(" ", "-")
        found[anchor] = found.get(anchor, -1) + 1
        if found[anchor]:
            found[f"{anchor}-{found[anchor]}"] = 0
    return set(found)


def check():
    """Broken links, one line each."""
    faults = []
    for page in files(PAGES + OTHERS) + [ROOT / "docs/SUMMARY.md"]:
        text = page.read_text(encoding="utf-8")
        for link in LINK.finditer(prose(text)):
            target = urllib.parse.unquote(text[link.start(2) : link.end(2)])
            if urllib.parse.urlsplit(target).scheme:
                continue
            path, _, anchor = target.partition("#")
            goal = (page.parent / path).resolve() if path else page
            line = text.count("\n", 0, link.start()) + 1
            where = f"{page.relative_to(ROOT)}:{line}: {target}"
            if not goal.is_relative_to(ROOT) or not goal.exists():
                faults.append(f"{where}: expected a file of the repository, found none")
            elif anchor and goal.suffix == ".md" and anchor not in anchors(goal):
                faults.append(f"{where}: expected a heading #{anchor} in {goal.relative_to(ROOT)}, found none")
    return faults


def collect(folder):
    """Copies the pages with their relative places. Links to other files of the repository become addresses."""
    source = folder / "src"
    shutil.rmtree(folder, ignore_errors=True)
    pages = set(files(PAGES))
    pictures = set(files(["docs/*.png"]))

    def address(page):
        def to(link):
            path, hash_, anchor = link[2].partition("#")
            if urllib.parse.urlsplit(link[2]).scheme or not path:
                return link[0]
            goal = (page.parent / urllib.parse.unquote(path)).resolve()
            if goal == ROOT / "docs/SUMMARY.md":
                return f"{link[1]}{'' if page.parent == ROOT else '../'}docs/link.md{link[3]}"
            if goal in pages | pictures:
                return link[0]
            return f"{link[1]}{REPOSITORY}{goal.relative_to(ROOT).as_posix()}{hash_}{anchor}{link[3]}"

        return to

    for page in pages:
        text = page.read_text(encoding="utf-8")
        plain = prose(text)
        parts, at = [], 0
        for link in LINK.finditer(plain):
            parts += [text[at : link.start()], LINK.sub(address(page), text[link.start() : link.end()])]
            at = link.end()
        parts.append(text[at:])
        goal = source / page.relative_to(ROOT)
        goal.parent.mkdir(parents=True, exist_ok=True)
        goal.write_text("".join(parts), encoding="utf-8")
    for picture in pictures:
        shutil.copy(picture, source / picture.relative_to(ROOT))
    # mdbook wants paths below the folder of the summary.
    summary = (ROOT / "docs/SUMMARY.md").read_text(encoding="utf-8")
    summary = LINK.sub(lambda link: f"{link[1]}{os.path.normpath(os.path.join('docs', link[2]))}{link[3]}", summary)
    (source / "SUMMARY.md").write_text(summary, encoding="utf-8")
    for name in ["book.toml", "docs.css"]:
        shutil.copy(ROOT / "docs" / name, folder / name)


class Page(html.parser.HTMLParser):
    """Links and anchors of a built page."""

    def __init__(self, path):
        super().__init__()
        self.links, self.ids = [], set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        if named.get("id"):
            self.ids.add(named["id"])
        if tag == "a" and named.get("href"):
            self.links.append(named["href"])
        if tag == "img" and named.get("src"):
            self.links.append(named["src"])


def check_book(folder):
    """Broken links of the built pages, one line each."""
    made = {path.resolve(): Page(path) for path in folder.rglob("*.html")}
    made = {path: page for path, page in made.items() if path.name not in ("404.html", "toc.html", "print.html")}
    faults = []
    for path, page in made.items():
        for link in page.links:
            if urllib.parse.urlsplit(link).scheme:
                continue
            to, _, anchor = urllib.parse.unquote(link).partition("#")
            goal = (path.parent / to).resolve() if to else path
            where = f"{path.relative_to(folder.resolve())}: {link}"
            if not goal.is_file() and not (goal / "index.html").is_file():
                faults.append(f"{where}: expected a page, found none")
            elif anchor and goal in made and anchor not in made[goal].ids:
                faults.append(f"{where}: expected an anchor, found none")
    if not made:
        faults.append(f"{folder}: expected pages, found none")
    return faults


def main():
    command = sys.argv[1:]
    if command == ["check"]:
        faults = check()
    elif len(command) == 2 and command[0] == "collect":
        collect(pathlib.Path(command[1]))
        faults = []
    elif len(command) == 2 and command[0] == "check-book":
        faults = check_book(pathlib.Path(command[1]))
    else:
        sys.exit(__doc__)
    if faults:
        sys.exit("\n".join(faults))


main()
