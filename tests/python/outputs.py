#!/usr/bin/env python3
"""Reads what `pel link` writes with public readers of each format, and compares places, words and concepts. scripts/test/outputs calls it.

    outputs.py PEL

The notes have emoji, combining marks, CRLF, lone CR, control characters and discontinuous mentions at known code points. Mentions are
given (`--spans`), so a place that a format gets wrong cannot hide behind the detector.
"""

import base64
import contextlib
import csv
import io
import json
import os
import pathlib
import random
import re
import sqlite3
import subprocess
import sys
import tempfile
import uuid

import bioc
import bioc.validator
import cassis
import spacy
from bioc import biocjson, biocxml
from fhir.resources.R4B.bundle import Bundle
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TINY = ROOT / "shared/tests/fixtures/tiny"
DATE = "2026-11-26T10:45:07Z"

PEL = ""
checks = 0


def expect(holds, what):
    global checks
    checks += 1
    if not holds:
        raise SystemExit(f"outputs: expected {what}")


def pel(*arguments, code=0, environment=None):
    """The bytes on standard output of a command, or, if it should fail, its standard error."""
    environment = {**os.environ, **(environment or {})}
    done = subprocess.run([PEL, *map(str, arguments)], capture_output=True, timeout=600, env=environment)
    said = done.stderr.decode()
    expect(done.returncode == code, f"exit code {code} of pel {arguments}, found {done.returncode}: {said}")
    expect("panicked" not in said and "internal error" not in said, f"no panic: {said}")
    return said if code else done.stdout


# --- the material -------------------------------------------------------------------------------------------------------

CONCEPTS = [
    ("C0015967", "fever", "Sign or symptom", ["SNOMED:386661006", "ICD10CM:R50.9", "MESH:D005334", "OMOP:437663"]),
    ("MONDO:0005148", "diabetes", "Disease", ["SNOMED:44054006", "DOID:9352", "ICD10:E11"]),
    ("UNII:R16CO5Y76E", "aspirin", "Drug or chemical", ["RXNORM:1191", "DRUGBANK:DB00945"]),
    ("NCIT:C51688", "appendectomy", "Procedure", []),
    ("LOINC:2345-7", "glucose", "Measurement", ["LOINC:2345-7"]),
    ("UBERON:0002113", "kidney", "Anatomy", ["FMA:7203"]),
    ("X:1", "pacemaker", "Device", []),
    ("PEL:odd thing", "lung injuries", "Disease", ["NOWHERE:7"]),
    ("77", "weather", "Something else", []),
]

# A mention is in double brackets; pieces with the same number are fragments of one.
NOTES = {
    "1042": "Known [[diabetes]]. No [[fever]]. Possible [[fever]].\nPatient has left [[kidney]] pain, severe [[fever]].\n"
    "[[fever]] three years ago, now on [[aspirin]]. Denies [[aspirin]]. Had [[appendectomy]]; no [[appendectomy]].\n"
    "[[glucose]] was high. [[appendectomy]] is scheduled. [[pacemaker]] in place. Return if [[fever]]. [[weather]] is fine. [[unheardof]] too.\n",
    "ward/emoji 😷": "😷😷 é e\u0301 [[fever]] 👩‍👩‍👧‍👦 [[diabetes]]e\u0301\u0327 Z\u0351\u036b [[aspirin]]🏳️‍🌈[[glucose]]\u0301",
    "lines": "a\r\nb\rc\n[[fever]]\r\n\r\n  [[1|lung]] and left heart [[1|injuries]]\r\n\t[[diabetes]] \u2028x\u2029y\u0085z [[fever]]\r\n",
    "control": "a\u0001b\u000b[[fe\u001fver]] \u007f \u0090 <b>&amp; \"[[fever]]\" ]]> \u202e[[aspirin]] \ufeff[[diabetes]]\ufffe\uffff.",
    "breaks": "[[fe\r\nver]] and [[lung\n  injuries]] and [[ fever ]] x[[fever]]y z [[1|lung]], 😷 [[2|fever]][[1|injuries]]",
    "family": "Family history:\nMother had [[diabetes]]. No [[fever]] in her father. Brother takes [[aspirin]].\n",
    "words": "Nothing here 😷.",
    "empty": "",
    "=1+1,\"x\"|y": "[[fever]]",
}


def read_marks(marked):
    """The text, and each mention as a list of pairs of code points."""
    text, mentions, numbered = "", [], {}
    for part in re.split(r"(\[\[.*?\]\](?!\]))", marked, flags=re.S):
        if not part.startswith("[["):
            text += part
            continue
        number, _, words = part[2:-2].rpartition("|")
        piece = [len(text), len(text) + len(words)]
        text += words
        if number in numbered:
            numbered[number].append(piece)
        else:
            mentions.append([piece])
            if number:
                numbered[number] = mentions[-1]
    return text, mentions


def random_notes(count):
    """Notes of pieces that are hard for offsets, with mentions at random."""
    draw = random.Random(7)
    pieces = ["😷", "e\u0301", "\r\n", "\n", " ", "  ", "\t", ",", "é", "fever", "a", "👩‍👧", "\u0301", "<", "&", "-", "\u00a0", "日本", "\u3000"]
    for number in range(count):
        marked, numbers = "", 0
        for _ in range(draw.randrange(5, 60)):
            dice = draw.random()
            if dice < 0.15:
                marked += f"[[{draw.choice(['fever', 'lung injuries', 'aspirin', 'diabetes', 'unheardof', 'f😷', 'e' + chr(0x301)])}]]"
            elif dice < 0.2:
                numbers += 1
                marked += f"[[{numbers}|lung]]{draw.choice(pieces)} [[{numbers}|injuries]]"
            else:
                marked += draw.choice(pieces)
        yield f"random/{number:03}", marked


class Given:
    """A note with its given mentions."""

    def __init__(self, name, marked):
        self.name = name
        self.text, self.mentions = read_marks(marked)


def make_material(folder):
    rows = []
    for id, name, kind, xrefs in CONCEPTS:
        sources = [id.split(":")[0]] if ":" in id else ["LOCAL"]
        rows.append({"id": id, "name": name, "types": [kind], "sources": sources, "xrefs": xrefs})
    (folder / "kb.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    notes = [Given(name, marked) for name, marked in [*NOTES.items(), *random_notes(80)]]
    for note in notes:
        path, spans = folder / "notes" / f"{note.name}.txt", folder / "spans" / f"{note.name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        spans.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(note.text.encode())
        lines = []
        for pieces in note.mentions:
            line = {"start": pieces[0][0], "end": pieces[-1][1]}
            if len(pieces) > 1:
                line["fragments"] = pieces
            lines.append(json.dumps(line) + "\n")
        spans.write_text("".join(lines), encoding="utf-8")
    pel("index", "--device", "cpu", "--kb", folder / "kb.jsonl", "--encoder", TINY, "--out", folder / "bundle", "--nil-threshold", 0.9)
    return notes


class Links:
    """What `pel link` writes in each format, by the note's name, and what the JSON Lines say of each note."""

    def __init__(self, folder, notes):
        self.folder, self.notes = folder, notes
        self.given = ["--spans", folder / "spans", "--spans-only"]
        self.lines = {note.name: [] for note in notes}
        for line in self.link("jsonl").decode().splitlines():
            line = json.loads(line)
            self.lines[line["doc"]].append(line)

    def link(self, form, *more):
        options = ["--bundle", self.folder / "bundle", "--device", "cpu", *self.given, "--format", form, "--date", DATE]
        return pel("link", self.folder / "notes", *options, *more)

    def files(self, form, ending):
        """The bytes of each note's file."""
        out = self.folder / form
        self.link(form, "--out", out)
        found = {note.name: (out / f"{note.name}.{ending}").read_bytes() for note in self.notes}
        count = sum(1 for path in out.rglob("*") if path.is_file())
        expect(count == len(found), f"{len(found)} files of {form}, found {count}")
        return found


def pieces_of(line):
    if line.get("fragments"):
        return [[one["start_code_point"], one["end_code_point"]] for one in line["fragments"]]
    return [[line["start_code_point"], line["end_code_point"]]]


def id_of(line):
    return line["concept"]["id"] if line["concept"] else None


def extent(pieces):
    return pieces[0][0], pieces[-1][1]


def cut(text, pieces):
    return " ".join(text[start:end] for start, end in pieces)


def in_one_line(text):
    """As FHIR's strings and PubTator's fields have it: no control characters, single spaces."""
    return " ".join(re.sub("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]", " ", text).split())


def field(text):
    return re.sub("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]", " ", text)


def joined(text, pieces):
    """Fragments with a line end, tab or control character between them, and white space at most, are one: BRAT cuts mentions there."""
    out = [list(pieces[0])]
    for start, end in pieces[1:]:
        gap = text[out[-1][1] : start]
        if field(gap) != gap and not field(gap).strip():
            out[-1][1] = end
        else:
            out.append([start, end])
    return out


def test_jsonl(links):
    linked = 0
    for note in links.notes:
        lines = links.lines[note.name]
        given = sorted((joined(note.text, pieces) for pieces in note.mentions), key=lambda pieces: (pieces[0][0], pieces[-1][1]))
        found = sorted(map(pieces_of, lines), key=lambda pieces: (pieces[0][0], pieces[-1][1]))
        expect(found == given, f"the given mentions of {note.name}: {given}, found {found}")
        for line in lines:
            expect(line["text"] == cut(note.text, pieces_of(line)), f"the words of {line['text']!r}")
            linked += line["concept"] is not None
    expect(linked > 100, f"more than a hundred links, found {linked}")
    expect(any(line["nil_reason"] for lines in links.lines.values() for line in lines if "nil_reason" in line), "NIL mentions")


# --- older formats ------------------------------------------------------------------------------------------------------


def test_brat(links):
    for name, content in links.files("brat", "ann").items():
        note = next(note for note in links.notes if note.name == name)
        found = [line.split("\t") for line in content.decode().split("\n") if line.startswith("T")]
        expect(len(found) == len(links.lines[name]), f"a text-bound annotation for each mention of {name}")
        for (_, place, words), line in zip(found, links.lines[name]):
            pieces = [[int(at) for at in piece.split()] for piece in place.split(" ", 1)[1].split(";")]
            expect(extent(pieces) == extent(pieces_of(line)) or not line["text"].isprintable() or line["text"] != line["text"].strip(),
                   f"the extent of {line['text']!r} in BRAT, found {pieces}")
            expect(field(cut(note.text, pieces)) == words, f"BRAT's words {words!r} at {pieces} of {name}")
            expect("\n" not in cut(note.text, pieces) and "\r" not in cut(note.text, pieces), "no line end within a fragment")


def test_pubtator(links):
    for name, content in links.files("pubtator", "pubtator").items():
        lines = content.decode().split("\n")
        title, abstract = lines[0].split("|t|", 1)[1], lines[1].split("|a|", 1)[1]
        text = f"{title}\n{abstract}"
        note = next(note for note in links.notes if note.name == name)
        expect(len(text) in (len(note.text), len(note.text) + 1), f"the length of {name} in PubTator")
        rows = [line.split("\t") for line in lines[2:] if line]
        expect(len(rows) == len(links.lines[name]), f"a line for each mention of {name}")
        for row, line in zip(rows, links.lines[name]):
            start, end = int(row[1]), int(row[2])
            expect((start, end) == extent(pieces_of(line)), f"the place of {line['text']!r} in PubTator")
            expect(field(text[start:end]) == row[3], f"PubTator's words {row[3]!r}")
            expect(row[5] == (id_of(line) or "-"), f"the concept of {line['text']!r} in PubTator")


def test_csv(links):
    rows = list(csv.DictReader(io.StringIO(links.link("csv").decode(), newline="")))
    lines = [line for note in sorted(links.lines) for line in links.lines[note]]
    expect(len(rows) == len(lines), "a row of CSV for each mention")
    by_place = {(row["doc"].removeprefix("'"), row["start_code_point"], row["end_code_point"], row["fragments"]) for row in rows}
    for line in lines:
        start, end = extent(pieces_of(line))
        fragments = ";".join(f"{a} {b}" for a, b in pieces_of(line)) if line.get("fragments") else ""
        expect((line["doc"], str(start), str(end), fragments) in by_place, f"{line['text']!r} of {line['doc']} in CSV")


# --- FHIR ---------------------------------------------------------------------------------------------------------------

CODES = {
    "Bundle.type": {"document", "message", "transaction", "transaction-response", "batch", "batch-response", "history", "searchset", "collection"},
    "DocumentReference.status": {"current", "superseded", "entered-in-error"},
    "Observation.status": {"registered", "preliminary", "final", "amended", "corrected", "cancelled", "entered-in-error", "unknown"},
    "MedicationStatement.status": {"active", "completed", "entered-in-error", "intended", "stopped", "on-hold", "unknown", "not-taken"},
    "Procedure.status": {"preparation", "in-progress", "not-done", "on-hold", "stopped", "completed", "entered-in-error", "unknown"},
    "ServiceRequest.status": {"draft", "active", "on-hold", "revoked", "completed", "entered-in-error", "unknown"},
    "ServiceRequest.intent": {"proposal", "plan", "directive", "order", "original-order", "reflex-order", "filler-order", "instance-order", "option"},
    "FamilyMemberHistory.status": {"partial", "completed", "entered-in-error", "health-unknown"},
    "Provenance.entity.role": {"derivation", "revision", "quotation", "source", "removal"},
    "Device.deviceName.type": {"udi-label-name", "user-friendly-name", "patient-reported-name", "manufacturer-name", "model-name", "other"},
}
THO = "http://terminology.hl7.org/CodeSystem/"
SYSTEM_CODES = {
    THO + "allergyintolerance-clinical": {"active", "inactive", "resolved"},
    THO + "allergyintolerance-verification": {"unconfirmed", "confirmed", "refuted", "entered-in-error"},
    THO + "condition-clinical": {"active", "recurrence", "relapse", "inactive", "remission", "resolved"},
    THO + "condition-ver-status": {"unconfirmed", "provisional", "differential", "confirmed", "refuted", "entered-in-error"},
    THO + "condition-category": {"problem-list-item", "encounter-diagnosis"},
    THO + "data-absent-reason": {"unknown", "asked-unknown", "temp-unknown", "not-asked", "asked-declined", "masked", "not-applicable",
                                 "unsupported", "as-text", "error", "not-a-number", "negative-infinity", "positive-infinity",
                                 "not-performed", "not-permitted"},
    THO + "provenance-participant-type": {"enterer", "performer", "author", "verifier", "legal", "attester", "informant", "custodian",
                                          "assembler", "composer"},
    THO + "v3-RoleCode": {"FAMMEMB", "MTH", "FTH", "SIS", "BRO", "DAUC", "SONC", "GRMTH", "GRFTH", "GRPRN", "AUNT", "UNCLE", "COUSN"},
}
OTHER_SYSTEMS = {
    "http://snomed.info/sct", "http://hl7.org/fhir/sid/icd-10-cm", "http://hl7.org/fhir/sid/icd-10", "https://www.nlm.nih.gov/mesh",
    "http://www.nlm.nih.gov/research/umls", "http://www.nlm.nih.gov/research/umls/rxnorm", "http://loinc.org", "http://fdasis.nlm.nih.gov",
    "http://ncicb.nci.nih.gov/xml/owl/EVS/Thesaurus.owl", "http://purl.obolibrary.org/obo/mondo.owl", "http://purl.obolibrary.org/obo/doid.owl",
}
#: The wordings of "no known allergies" in the notes.
NO_ALLERGY = {"nkda", "nka", "drug allergy", "drug allergies", "allergies", "allergy", "medication allergies"}
DERIVATION = "http://hl7.org/fhir/StructureDefinition/derivation-reference"
PROBABILITY = "urn:pel:probability"


def values(node, path=""):
    """Each object and each list item below a node, with its path without numbers."""
    if isinstance(node, dict):
        yield path, node
        for key, value in node.items():
            yield from values(value, f"{path}.{key}" if path else key)
    elif isinstance(node, list):
        expect(node, f"no empty list at {path}")
        for value in node:
            yield from values(value, path)
    else:
        yield path, node


def expected_resource(line):
    """The type of resource that a mention must have, by the rules that the manual states; written without a look at the program."""
    if line["certainty"] == "hypothetical" or line["experiencer"] == "other":
        return None
    kinds = {"Disease": "problem", "Sign or symptom": "problem", "Drug or chemical": "drug", "Procedure": "procedure", "Measurement": "measurement",
             "Anatomy": "anatomy", "Device": "device"}
    group = line.get("group") or (line["concept"] and kinds.get(line["concept"]["types"][0]))
    if line["experiencer"] == "family" and line.get("allergy"):
        return None
    if line["experiencer"] == "family":
        stated = not line["negated"] and line["certainty"] == "certain"
        return "FamilyMemberHistory" if group == "problem" and stated else None
    if line.get("allergy") == "allergen":
        return "AllergyIntolerance"
    if line.get("allergy") == "reaction":
        return None
    if line["negated"] and line["certainty"] == "certain" and line["text"].lower() in NO_ALLERGY:
        return "AllergyIntolerance"
    planned = line["temporality"] == "future" and not line["negated"]
    if group in ("procedure", "measurement") and planned:
        return "ServiceRequest"
    if (group == "problem" and planned) or (group is None and line["temporality"] == "future"):
        return None
    if group is None:
        return "Observation" if line["concept"] else None
    return {"problem": "Condition", "drug": "MedicationStatement", "procedure": "Procedure", "measurement": "Observation"}.get(group)


def check_codes(bundle):
    for path, node in values(bundle):
        if isinstance(node, str):
            expect(node.strip() and not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f]", node), f"a string without control characters at {path}")
        if not isinstance(node, dict):
            continue
        expect(node, f"no empty object at {path}")
        kind = node.get("resourceType")
        for name, allowed in CODES.items():
            resource, *fields = name.split(".")
            if kind != resource:
                continue
            nodes = [node]
            for key in fields[:-1]:
                nodes = [inner for one in nodes for inner in one.get(key, [])]
            for one in nodes:
                expect(one.get(fields[-1]) in allowed, f"a code of {name}, found {one.get(fields[-1])!r}")
        if "system" in node and "code" in node:
            system, code = node["system"], node["code"]
            expect(re.fullmatch(r"[^\s]+(\s[^\s]+)*", code), f"a code without needless white space, found {code!r}")
            known = system in OTHER_SYSTEMS or system.startswith(("urn:uuid:", "http://purl.obolibrary.org/obo/"))
            expect(known or code in SYSTEM_CODES.get(system, ()), f"a known system and code, found {system} {code}")


def check_conditions(resource):
    """The invariants con-3, con-4 and con-5 of R4, and the negation."""
    code = lambda name: resource.get(name, {}).get("coding", [{}])[0].get("code")
    clinical, verification = code("clinicalStatus"), code("verificationStatus")
    categories = {one["coding"][0]["code"] for one in resource["category"]}
    expect(clinical or verification == "entered-in-error" or "problem-list-item" not in categories, "con-3")
    abated = any(name.startswith("abatement") for name in resource)
    expect(not abated or clinical in ("inactive", "resolved", "remission"), "con-4")
    expect(verification != "entered-in-error" or clinical is None, "con-5")


def test_fhir(links):
    content = links.link("fhir")
    expect(content == links.link("fhir"), "the same bundles twice")
    texts = content.decode().split("\n")
    expect(texts.pop() == "" and len(texts) == len(links.notes), "one bundle a line")
    urls = set()
    by_title = {}
    for text in texts:
        raw = json.loads(text)
        bundle = Bundle.model_validate_json(text)
        expect(bundle.type == "collection", "a collection")
        check_codes(raw)
        entries = {entry["fullUrl"]: entry["resource"] for entry in raw["entry"]}
        expect(len(entries) == len(raw["entry"]) and not urls & set(entries) - {raw["entry"][1]["fullUrl"]}, "bdl-7: each fullUrl once")
        urls |= set(entries)
        for url, resource in entries.items():
            expect(url == f"urn:uuid:{resource['id']}" and uuid.UUID(resource["id"]).version == 8, "the id in the fullUrl")
        for path, node in values(raw):
            if isinstance(node, dict) and "reference" in node and not path.endswith("extension"):
                expect(node["reference"] in entries, f"a reference that resolves at {path}, found {node['reference']}")
        by_title[raw["entry"][0]["resource"]["content"][0]["attachment"]["title"]] = raw
    seen = set()
    for note in links.notes:
        raw = by_title[in_one_line(note.name)]
        document, _, *resources, provenance = [entry["resource"] for entry in raw["entry"]]
        attachment = document["content"][0]["attachment"]
        expect(base64.b64decode(attachment.get("data", "")).decode() == note.text, f"the text of {note.name} as attachment")
        expect(attachment["size"] == len(note.text.encode()), "the size in bytes")
        expect(provenance["recorded"] == DATE == raw["timestamp"], "the date given")
        lines = [(line, expected_resource(line)) for line in links.lines[note.name]]
        lines = [(line, kind) for line, kind in lines if kind]
        expect([one["resourceType"] for one in resources] == [kind for _, kind in lines], f"the resources of {note.name}")
        wanted = [f"urn:uuid:{one['id']}" for one in resources] or [raw["entry"][0]["fullUrl"]]
        expect([one["reference"] for one in provenance["target"]] == wanted, "all resources as targets of the provenance")
        for (line, kind), resource in zip(lines, resources):
            check_resource(links, note, line, kind, resource, raw["entry"][0]["fullUrl"])
            seen.add(kind)
            seen |= {code for _, code in values({name: resource[name] for name in resource if "tatus" in name}) if isinstance(code, str)}
    kinds = {"Condition", "Observation", "MedicationStatement", "Procedure", "ServiceRequest", "FamilyMemberHistory"}
    codes = {"unconfirmed", "provisional", "refuted", "active", "inactive", "not-taken", "not-done", "preliminary", "partial"}
    expect(kinds | codes <= seen, f"each kind and status at least once, missing {(kinds | codes) - seen}")


def check_resource(links, note, line, kind, resource, document):
    places = []
    probability = line.get("probability") if line["concept"] else None
    expect([one["valueDecimal"] for one in resource["extension"] if one["url"] == PROBABILITY]
           == ([] if probability is None else [round(probability, 4)]), f"the probability of {line['text']!r} in FHIR")
    for one in resource["extension"]:
        if one["url"] == PROBABILITY:
            continue
        parts = {part["url"]: next(value for key, value in part.items() if key != "url") for part in one["extension"]}
        expect(one["url"] == DERIVATION and set(parts) == {"reference", "path", "offset", "length"}, "a derivation")
        expect(parts["reference"]["reference"] == document, "a derivation from the note")
        places.append([parts["offset"], parts["offset"] + parts["length"]])
    expect(places == pieces_of(line), f"the place of {line['text']!r} in FHIR, found {places}")
    code = resource.get("code") or resource.get("medicationCodeableConcept") or resource["condition"][0]["code"]
    expect(code["text"] == (in_one_line(line["text"]) or "?"), f"the words of {line['text']!r} in FHIR, found {code['text']!r}")
    if kind == "AllergyIntolerance" and not line.get("allergy"):
        expect(code["coding"][0]["code"] in ("409137002", "716186003"), "no known allergy")
    elif not line["concept"]:
        expect("coding" not in code, "no code for NIL")
    else:
        xrefs = [line["concept"]["id"], *line["concept"].get("xrefs", [])]
        codes = [coding["code"] for coding in code["coding"]]
        expect(all(any(xref == one or xref.split(":")[-1] == one for xref in xrefs) for one in codes), f"codes of {xrefs}, found {codes}")
        expect(code["coding"][0]["display"] == line["concept"]["name"], "the name of the concept")
    if kind == "Condition":
        check_conditions(resource)
        refuted = resource["verificationStatus"]["coding"][0]["code"] == "refuted"
        expect(refuted == line["negated"], f"refuted if and only if negated: {line['text']!r}")
        expect(("severity" in resource) == ("severity" in line), "the severity")
    if kind == "MedicationStatement" and line["negated"]:
        expect(resource["status"] == "not-taken", "a drug that is not taken")
    expect(("patient" in resource) == (kind in ("FamilyMemberHistory", "AllergyIntolerance")) and ("subject" in resource) != ("patient" in resource), "a patient")


def test_fhir_example(links):
    example = ROOT / "examples/fhir/review.py"
    done = subprocess.run([sys.executable, example], input=links.link("fhir"), capture_output=True, timeout=600)
    expect(done.returncode == 0, f"a list of the resources, found {done.stderr.decode()}")
    rows = [line.split("\t") for line in done.stdout.decode().splitlines() if not line.startswith("# ")]
    resources = sum(expected_resource(line) is not None for lines in links.lines.values() for line in lines)
    expect(len(rows) == resources, f"{resources} resources, found {len(rows)}")
    expect(["Condition", "refuted", "C0015967", "fever", "fever"] in [row[:5] for row in rows], "the refuted fever")


# --- OMOP ---------------------------------------------------------------------------------------------------------------

LENGTHS = {"snippet": 250, "offset": 50, "lexical_variant": 250, "nlp_system": 250, "term_exists": 1, "term_temporal": 50,
           "term_modifiers": 2000}
INTEGERS = ["note_nlp_id", "note_id", "section_concept_id", "note_nlp_concept_id", "note_nlp_source_concept_id"]
DDL = """create table note_nlp (note_nlp_id integer primary key not null, note_id integer not null, section_concept_id integer,
    snippet text, "offset" text, lexical_variant text not null, note_nlp_concept_id integer, note_nlp_source_concept_id integer,
    nlp_system text, nlp_date date not null, nlp_datetime datetime, term_exists text, term_temporal text, term_modifiers text)"""


def test_omop(links):
    table = csv.DictReader(io.StringIO(links.link("omop").decode(), newline=""))
    rows = list(table)
    database = sqlite3.connect(":memory:")
    database.execute(DDL)
    columns = [row[1] for row in database.execute("pragma table_info(note_nlp)")]
    expect(table.fieldnames == columns, f"the columns of NOTE_NLP, found {table.fieldnames}")
    database.executemany(f"insert into note_nlp values ({','.join('?' * 14)})", [[row[name] for name in columns] for row in rows])
    lines = [line for doc in dict.fromkeys(line["doc"] for line in all_lines(links)) for line in links.lines[doc]]
    expect(len(rows) == len(lines), "a row of NOTE_NLP for each mention")
    expect([int(row["note_nlp_id"]) for row in rows] == list(range(1, len(rows) + 1)), "rows that are numbered over all notes")
    texts = {note.name: note.text for note in links.notes}
    for row, line in zip(rows, lines):
        text, (start, end) = texts[line["doc"]], extent(pieces_of(line))
        expect(all(0 <= int(row[name]) < 2**31 for name in INTEGERS), f"integers of 32 bits: {row}")
        expect(all(len(row[name]) <= length for name, length in LENGTHS.items()), f"columns within their lengths: {row}")
        expect(int(row["offset"]) == start, f"the offset of {line['text']!r}")
        expect(row["lexical_variant"] == field(line["text"])[:250], f"the words of {line['text']!r}")
        expect(row["snippet"] in field(text) and field(text[start:end]) in row["snippet"], "a snippet of the note around the mention")
        expect(len(row["snippet"]) == min(250, len(text)), f"a snippet as long as it may be, found {len(row['snippet'])}")
        modifiers = dict(pair.split("=", 1) for pair in row["term_modifiers"].split(";"))
        expect(modifiers.get("concept_code") == id_of(line), "the concept's own code")
        expect(modifiers["negated"] == str(line["negated"]).lower(), "the negation")
        stated = not line["negated"] and line["certainty"] == "certain" and line["experiencer"] == "patient" and line["temporality"] != "future"
        stated = stated and "allergy" not in line
        expect(row["term_exists"] == ("Y" if stated else "N"), "what exists")
        expect(row["nlp_date"] == DATE[:10] and row["nlp_datetime"] == DATE[:19].replace("T", " "), "the date given")
        expect(row["note_nlp_concept_id"] == ("437663" if id_of(line) == "C0015967" else "0"), "the OMOP concept of a cross-reference")
        expect((row["note_id"] == "1042") == (line["doc"] == "1042"), "the number of the note")


def all_lines(links):
    for line in links.link("jsonl").decode().splitlines():
        yield json.loads(line)


# --- BioC ---------------------------------------------------------------------------------------------------------------


def xml_text(text):
    return re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]", " ", text)


def check_bioc(links, note, collection, changed):
    bioc.validator.validate(collection)
    document = collection.documents[0]
    passage = document.passages[0]
    expect(collection.date == DATE[:10] and document.id == note.name and passage.offset == 0, f"the document {note.name} in BioC")
    expect((passage.text or "") == changed(note.text), f"the text of {note.name} in BioC")
    lines = links.lines[note.name]
    expect(len(passage.annotations) == len(lines), f"an annotation for each mention of {note.name}")
    for annotation, line in zip(passage.annotations, lines):
        places = [[one.offset, one.offset + one.length] for one in annotation.locations]
        start, end = extent(places)
        expect(places == pieces_of(line), f"the places of {line['text']!r} in BioC")
        expect(annotation.text == changed(note.text[start:end]), f"the words of {line['text']!r} in BioC")
        expect(annotation.infons["identifier"] == (id_of(line) or "-"), f"the concept of {line['text']!r} in BioC")
        expect(annotation.infons["negated"] == str(line["negated"]).lower(), "the negation in BioC")


def test_bioc(links):
    found = links.files("bioc-xml", "bioc.xml")
    for note in links.notes:
        collection = biocxml.load(io.BytesIO(found[note.name]))
        check_bioc(links, note, collection, xml_text)
    texts = links.link("bioc-json").decode().split("\n")
    expect(texts.pop() == "" and len(texts) == len(links.notes), "one collection a line")
    by_name = {collection.documents[0].id: collection for collection in map(biocjson.loads, texts)}
    for note in links.notes:
        check_bioc(links, note, by_name[note.name], lambda text: text)
        again = biocjson.loads(biocjson.dumps(by_name[note.name]))
        check_bioc(links, note, again, lambda text: text)
    said = pel("link", links.folder / "notes", "--bundle", links.folder / "bundle", "--format", "bioc-xml", code=3)
    expect("give a folder with --out" in said, "no stream of several XML files")


# --- spaCy and UIMA -----------------------------------------------------------------------------------------------------


def test_spacy(links):
    texts = links.link("spacy-json").decode().split("\n")
    expect(texts.pop() == "" and len(texts) == len(links.notes), "one document a line")
    data = [json.loads(text) for text in texts]
    docs = [Doc(Vocab()).from_json(one, validate=True) for one in data]
    facts = {one["pel"]["doc"]: one["pel"]["mentions"] for one in data}
    stored = DocBin(docs=docs).to_bytes()
    for kept in (docs, DocBin().from_bytes(stored).get_docs(Vocab())):
        by_name = {one["pel"]["doc"]: doc for one, doc in zip(data, kept)}
        for note in links.notes:
            doc, lines = by_name[note.name], links.lines[note.name]
            expect(doc.text == note.text, f"the text of {note.name} in spaCy")
            lines = [line for line in lines if line["text"].strip()]
            spans = list(doc.spans["pel"])
            expect(len(spans) == len(lines), f"a span for each mention of {note.name}")
            for span, said, line in zip(spans, facts[note.name], lines):
                start, end = extent(pieces_of(line))
                words = note.text[start:end]
                start, end = start + len(words) - len(words.lstrip()), end - (len(words) - len(words.rstrip()))
                expect((span.start_char, span.end_char) == (start, end), f"the place of {line['text']!r} in spaCy")
                expect(span.kb_id_ == (id_of(line) or ""), f"the concept of {line['text']!r} in spaCy")
                expect(span.label_ == (line["concept"]["types"][0] if line["concept"] else "NIL"), "the label")
                expect(said["negated"] == line["negated"] and said.get("name") == (line["concept"] or {}).get("name"), f"the negation of {line['text']!r} in spaCy")
                if line.get("fragments"):
                    expect(said["fragments"] == pieces_of(line), "fragments in spaCy")


def test_cas(links):
    texts = links.link("cas-json").decode().split("\n")
    expect(texts.pop() == "" and len(texts) == len(links.notes), "one CAS a line")
    for text in texts:
        once = cassis.load_cas_from_json(text)
        for cas in (once, cassis.load_cas_from_json(once.to_json())):
            (about,) = cas.select("pel.Document")
            note = next(note for note in links.notes if note.name == about.doc)
            expect(cas.sofa_string == note.text, f"the text of {note.name} in the CAS")
            expect((about.begin, about.end) == (0, len(note.text)), "the whole document")
            mentions = sorted(cas.select("pel.Mention"), key=lambda one: one.xmiID)
            fragments = list(cas.select("pel.Fragment"))
            lines = links.lines[note.name]
            expect(len(mentions) == len(lines), f"an annotation for each mention of {note.name}")
            for mention, line in zip(mentions, lines):
                expect((mention.begin, mention.end) == extent(pieces_of(line)), f"the place of {line['text']!r} in the CAS")
                own = sorted((one.begin, one.end) for one in fragments if one.mention is mention)
                wanted = [tuple(piece) for piece in pieces_of(line)] if line.get("fragments") else []
                expect(own == wanted, f"the fragments of {line['text']!r} in the CAS, found {own}")
                expect(mention.identifier == id_of(line), f"the concept of {line['text']!r} in the CAS")
                expect(mention.negated == line["negated"], "the negation in the CAS")
                score = line["concept"] and line["concept"]["score"]
                expect(mention.score == score, f"the score in the CAS, {score}, found {mention.score}")


# --- the command line ---------------------------------------------------------------------------------------------------


def test_dates(links):
    note, bundle = links.folder / "notes/1042.txt", links.folder / "bundle"
    of = lambda *more, **environment: json.loads(
        pel("link", note, "--bundle", bundle, "--device", "cpu", "--format", "fhir", *more, environment=environment))["timestamp"]
    expect(of(SOURCE_DATE_EPOCH="86400") == "1970-01-02T00:00:00Z", "the date of SOURCE_DATE_EPOCH")
    expect(of("--date", "2020-02-29", SOURCE_DATE_EPOCH="86400") == "2020-02-29T00:00:00Z", "the date given before that")
    expect(re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", of()), "the date of the clock")
    said = pel("link", note, "--bundle", bundle, "--format", "omop", "--date", "2021-02-29", code=3)
    expect("--date: expected YYYY-MM-DD" in said, f"what is wrong with the date, found {said}")


def main():
    global PEL
    PEL = str(pathlib.Path(sys.argv[1]).resolve())
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        links = Links(folder, make_material(folder))
        tests = [test_jsonl, test_brat, test_pubtator, test_csv, test_fhir, test_fhir_example, test_omop, test_bioc, test_spacy, test_cas, test_dates]
        for test in tests:
            before = checks
            test(links)
            print(f"{test.__name__.removeprefix('test_')}: {checks - before} comparisons", flush=True)


if __name__ == "__main__":
    main()
