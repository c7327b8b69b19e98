"""Readers of the files that the sources release, packed or unpacked.

The digest of a file's unpacked content identifies its release; sources.tsv lists those that the
default knowledge base was built from.
"""

import csv
import hashlib
import io
import json
import lzma
import pathlib
import pickle
import re
import tarfile
import xml.etree.ElementTree
import zipfile

HERE = pathlib.Path(__file__).resolve().parent


def source_rows(codes=False):
    """The rows of sources.tsv, by the name of the option that takes the file; those of codes.py alone if `codes`."""
    with open(HERE / "sources.tsv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return {row["input"]: row for row in rows if row["input"].startswith("codes.") == codes}


def content(path, member=""):
    """The unpacked bytes of a file, or of a file inside an archive.

    `.xz` is unpacked. In a zip file (`.zip`, `.whl`) or tar archive, `member` is the end of the
    path of the file wanted. A file of any other kind is the content itself.
    """
    name = path.name
    if zipfile.is_zipfile(path) and not name.endswith(".xlsx"):
        with zipfile.ZipFile(path) as archive:
            return archive.read(only(path, member, archive.namelist()))
    if re.search(r"\.(tgz|tar(\.\w+)?)$", name):
        with tarfile.open(path) as archive:
            return archive.extractfile(only(path, member, archive.getnames())).read()
    data = path.read_bytes()
    return lzma.decompress(data) if name.endswith(".xz") else data


def only(path, member, names):
    found = [name for name in names if name.endswith(member)]
    if len(found) != 1:
        raise ValueError(f"{path}: expected one file {member!r} in the archive, found {len(found)}")
    return found[0]


def released(name, path, any_release=False):
    """The content of an input, whose digest must be that of sources.tsv unless `any_release`."""
    row = source_rows(codes=name.startswith("codes."))[name]
    data = content(path, row["member"])
    found = hashlib.sha256(data).hexdigest()
    if found != row["sha256"] and not any_release:
        raise ValueError(f"{path}: expected {row['release']} with SHA-256 {row['sha256']}, "
                         f"found {found}; --any-release accepts another release")
    return data


def lines_of(data):
    return io.StringIO(data.decode("utf-8-sig")).read().splitlines()


def read_jsonl(data):
    """The objects of JSON lines."""
    return [json.loads(line) for line in io.StringIO(data.decode("utf-8")) if line.strip()]


def read_tsv(data):
    """The rows of a table between tabs with a header, as dictionaries. Quotes are letters."""
    text = io.StringIO(data.decode("utf-8-sig", errors="replace"), newline="")
    return list(csv.DictReader(text, delimiter="\t", quoting=csv.QUOTE_NONE))


def read_csv(data):
    """The rows of a CSV table with a header, as dictionaries."""
    return list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline="")))


class Plain(pickle.Unpickler):
    """Reads strings and collections of strings, and refuses everything else."""

    def find_class(self, module, name):
        raise ValueError(f"expected strings, found {module}.{name}")


def read_pickled_words(data):
    """The words of a set that Python pickled."""
    return {str(word) for word in Plain(io.BytesIO(data)).load()}


SHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


def read_xlsx(data):
    """The rows of a workbook's first sheet, as dictionaries by its first row. Empty cells are ""."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        strings = xml.etree.ElementTree.fromstring(archive.read("xl/sharedStrings.xml"))
        texts = ["".join(part.text or "" for part in item.iter(SHEET + "t")) for item in strings]
        sheet = xml.etree.ElementTree.fromstring(archive.read("xl/worksheets/sheet1.xml"))
    rows = []
    for row in sheet.iter(SHEET + "row"):
        cells = {}
        for cell in row.iter(SHEET + "c"):
            value = cell.find(SHEET + "v")
            if value is not None:
                text = texts[int(value.text)] if cell.get("t") == "s" else value.text
                cells[re.match("[A-Z]+", cell.get("r")).group()] = text
        rows.append(cells)
    header = rows[0]
    return [{name: row.get(column, "") for column, name in header.items()} for row in rows[1:]]


def read_obo(data):
    """id -> {"id", "name", "synonyms" (EXACT ones), "definition", "cuis", "xrefs", "parents"} of all
    terms but obsolete ones."""
    terms, term = [], None
    for line in lines_of(data):
        if line.startswith("["):
            term = {"synonyms": [], "cuis": [], "alt": [], "xrefs": [], "parents": []} \
                if line == "[Term]" else None
            if term is not None:
                terms.append(term)
        elif term is not None and ": " in line:
            key, value = line.split(": ", 1)
            if key in ("id", "name"):
                term[key] = value
            elif key == "alt_id":
                term["alt"].append(value)
            elif key == "is_obsolete":
                term["obsolete"] = value == "true"
            elif key == "def":
                term["definition"] = quoted(value)
            elif key == "synonym" and '" EXACT' in value:
                term["synonyms"].append(quoted(value))
            elif key == "is_a":
                term["parents"].append(value.split()[0])
            elif key == "xref":
                term["xrefs"].append(value.split()[0])
                if value.startswith("UMLS"):
                    term["cuis"] += re.findall(r"C\d{7}", value)
    return {id: term for term in terms if not term.get("obsolete")
            for id in [term["id"], *term["alt"]]}


def quoted(value):
    text = re.match(r'"((?:[^"\\]|\\.)*)"', value).group(1)
    return re.sub(r"\\n", " ", text) if "\\n" in text else re.sub(r"\\(.)", r"\1", text)
