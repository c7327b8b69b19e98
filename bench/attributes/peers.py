#!/usr/bin/env python3
"""Attributes of drugs and tests by PEL and by public systems, on the same texts, in one run on one core.

    peers.py --pel PEL --bundle BUNDLE --openmed PYTHON --medspacy PYTHON NOTES.jsonl [NOTES.jsonl ...]

PYTHON is the interpreter of an environment with openmed==3.1.0, or with medspacy==1.3.1, numpy==1.26.4 and spacy==3.7.5.

A text is what belongs to one annotated drug or test: its sentence or line, up to the next annotated drug or test. So a peer, which brings no
detector that PyPI has, is told where the drugs and tests are. `pel` reads the same texts, and must find the mention itself; `pel, whole
notes` reads the notes and counts for each text the attributes of the mentions that overlap its drug or test. Times: after the start, medians of
five rounds; pel's are the time of a run less that of a run on the first text, and contain detection and linking.

    openmed     3.1.0: `parse_sig` for drugs; for tests `extract_lab_results` with the test's span, else `structure_vital_sign`
    medspacy    1.3.1: the target matcher with the regular expressions below, which were written for this without looking at PEL's rules

Compared are name and normal form, as OpenMed gives no places: a frequency as times a day, a duration in days. Drugs: strength, dose, form,
route, frequency, duration. Tests: value, unit.
"""
import argparse, collections, json, os, pathlib, re, statistics, subprocess, sys, tempfile, time

from normal import comparable

NAMES = {"drug": ("strength", "dose", "form", "route", "frequency", "duration"), "test": ("value", "unit")}
DAYS = {"min": 1 / 1440, "h": 1 / 24, "d": 1, "wk": 7, "mo": 30, "a": 365}
CODES = {"QD": 1, "BID": 2, "TID": 3, "QID": 4, "QOD": 0.5, "AM": 1, "PM": 1, "BED": 1, "WK": 1 / 7, "MO": 1 / 30}


def times_a_day(value):
    if isinstance(value, dict):
        return round(value.get("frequency", 1) / (value.get("period", 1) * DAYS[value.get("unit", "d")]), 3)
    hours = re.fullmatch(r"Q(\d+)H", value)
    return round(24.0 / int(hours[1]) if hours else float(CODES[value]), 3)


def days(value):
    m = re.fullmatch(r"P(T?)([\d.]+)([YMWDHS])", value)
    if not m:
        return value
    unit = {"M": 1 / 1440 if m[1] else 30, "S": 1 / 86400, "H": 1 / 24, "D": 1, "W": 7, "Y": 365}[m[3]]
    return round(float(m[2]) * unit, 3)


def key(name, value):
    if name == "frequency":
        return name, times_a_day(value)
    return name, days(value) if name == "duration" else comparable(name, value)


def sentences(text):
    """Spans of lines, cut after a full stop or semicolon before a space and a capital or figure."""
    start = 0
    for m in re.finditer(r"\n|(?<=[a-z0-9)%][.;])\s+(?=[A-Z0-9])|$", text):
        if m.start() > start:
            yield start, m.start()
        start = m.end()


def texts(notes):
    """Each text with its annotation: (note, kind, text, place of the mention in it, place in the note, gold keys)."""
    for n, note in enumerate(notes):
        bounds = list(sentences(note["text"]))
        facts = [f for f in note["facts"] if f["anchor"]["kind"] in NAMES]
        for fact in facts:
            a = fact["anchor"]
            start, end = next(b for b in bounds if b[0] <= a["start"] < b[1])
            others = [f["anchor"] for f in facts if f is not fact and start <= f["anchor"]["start"] < end]
            end = min([o["start"] for o in others if o["start"] > a["start"]] + [end])
            if any(o["start"] < a["start"] for o in others):
                start = a["start"]
            gold = [key(x["name"], x["normal"]) for x in fact["attributes"]
                    if x["name"] in NAMES[a["kind"]] and x["normal"] is not None and start <= x["start"] and x["end"] <= end]
            yield {"note": n, "kind": a["kind"], "text": note["text"][start:end], "mention": [a["start"] - start, a["end"] - start],
                   "place": [a["start"], a["end"]], "bounds": [start, end], "gold": gold}


# ---- Workers: each returns a function from (kind, text, place of the mention) to [(name, normal form)]
def openmed():
    from openmed.clinical.relations.lab_results import extract_lab_results
    from openmed.clinical.sig_parser import parse_sig
    from openmed.clinical.vital_signs import structure_vital_sign

    def drug(text):
        sig, out = parse_sig(text), []
        amount, unit, form = sig["dose"], sig["unit"], sig["form"]
        if form in ("puff", "drop", "spray"):
            out.append(("dose", f"{amount:g} {form}"))
        elif form:
            out += [("dose", f"{amount:g}"), ("form", form)]
        elif unit in ("unit", "units", "iu", "ml", "l"):
            out.append(("dose", f"{amount:g} {unit}"))
        elif unit:
            out.append(("strength", f"{amount:g} {unit}"))
        if sig["route"]:
            out.append(("route", sig["route"]))
        if sig["frequency_per_day"]:
            out.append(("frequency", {"frequency": sig["frequency_per_day"], "period": 1, "unit": "d"}))
        if sig["duration_days"]:
            out.append(("duration", f"P{sig['duration_days']}D"))
        return out

    def test(text, start, end):
        span = {"start": start, "end": end, "text": text[start:end], "label": "LAB_TEST", "score": 1.0}
        results = extract_lab_results(text, [span])
        if results:
            return [("value", f"{results[0].value:g}"), ("unit", results[0].unit)]
        vital = structure_vital_sign(text)
        if vital["components"]:
            out = [("value", "/".join(f"{c['value']:g}" for c in vital["components"]))]
        elif vital["value"] is not None:
            out = [("value", f"{vital['value']:g}")]
        else:
            return []
        return out + ([("unit", vital["unit"])] if vital["unit"] else [])

    return lambda kind, text, place: drug(text) if kind == "drug" else test(text, *place)


NUMBER = r"\d[\d,]*(?:\.\d+)?"
RULES = {
    "strength": rf"{NUMBER}(?:[-/]{NUMBER})?\s?(?:mg|mcg|micrograms?|g|mEq|%)(?:/(?:kg|hr?|min|ml|day))*(?![\w/])",
    "dose": rf"(?:{NUMBER}(?:-{NUMBER})?|one|two|three)\s?(?:units?|puffs?|drops?|sprays?|ml|u)\b|\b(?:{NUMBER}(?:-{NUMBER})?|one|two|three)(?=\s(?:tab|cap))",
    "form": r"\b(?:tab(?:let)?s?|cap(?:sule)?s?|inhaler|cream|ointment|gel|patch|solution|drops|spray|injection|syrup)\b",
    "route": r"\b(?:po|p\.o\.|by mouth|orally|oral|iv|intravenous(?:ly)?|im|sc|s/c|sq|subq|subcut(?:aneous(?:ly)?)?|sl|sublingual|topical(?:ly)?|inhaled|nebuli[sz]ed|nasal|rectal(?:ly)?)\b",
    "frequency": r"\b(?:daily|once (?:a day|daily)|every day|every morning|in the morning|qam|om|mane|qd|od|bid|b\.i\.d\.|bd|twice (?:a day|daily)|two times a day|tid|t\.i\.d\.|tds|"
                 r"three times (?:a day|daily)|qid|qds|four times (?:a day|daily)|qhs|nightly|nocte|at (?:bedtime|night)|weekly|once (?:a week|weekly)|monthly|every other day|"
                 r"q\s?\d+(?:-\d+)?\s?h?|every \d+ (?:to \d+ )?hours|\d+[- ]hourly)(?!\w)",
    "duration": r"(?<!every )\b(?:\d+|one|two|three|four|six)[- ]?(?:days?|weeks?|months?|years?|h(?:ours)?)\b(?! ago)|\b\d/(?:7|52|12)\b",
    "value": rf"(?<![\w.]){NUMBER}(?:[-/]{NUMBER})?(?!\w)|\b(?:negative|positive|neg|pos|trace|nonreactive)\b",
    "unit": r"(?<=\d)\s?(?:%|mmol/L|mg/dL|g/dL|g/L|ng/mL|ng/L|pg/mL|pmol/L|umol/L|ug/L|mg/L|U/mL|U/L|x10\^9/L|mm ?Hg|bpm|kg|lbs?|pounds|cm|mm|fL|kPa|ms|mL)(?!\w)",
}
WORDS = {"one": 1, "two": 2, "three": 3, "four": 4, "six": 6}
ROUTES = {"po": "oral", "p.o.": "oral", "by mouth": "oral", "orally": "oral", "iv": "intravenous", "im": "intramuscular", "sl": "sublingual", "nebulised": "inhaled",
          "nebulized": "inhaled", "topically": "topical", "rectally": "rectal", "intravenously": "intravenous"}


def medspacy():
    import medspacy as library
    from medspacy.ner import TargetRule
    nlp = library.load(medspacy_enable=["medspacy_tokenizer", "medspacy_target_matcher"])
    nlp.get_pipe("medspacy_target_matcher").add([TargetRule(name, name, pattern=pattern) for name, pattern in RULES.items() if name not in ("value", "unit")])
    tests = library.load(medspacy_enable=["medspacy_tokenizer", "medspacy_target_matcher"])
    tests.get_pipe("medspacy_target_matcher").add([TargetRule(name, name, pattern=RULES[name]) for name in ("value", "unit")])

    def normal(name, found):
        text = found.lower().replace(",", "").strip()
        m = re.match(r"([\d.]+|one|two|three|four|six)(?:[-/]([\d.]+))?\s?-?(.*)", text)
        number = m and str(WORDS.get(m[1], m[1]))
        if name == "strength":
            unit = m[3].replace("micrograms", "mcg").replace("microgram", "mcg")
            return f"{number} {unit}/{m[2]} {unit}" if m[2] else f"{number} {unit}"
        if name == "dose":
            unit = re.sub(r"s$", "", m[3])
            unit = {"unit": "[IU]", "u": "[IU]"}.get(unit, unit)
            return f"{number}..{m[2]} {unit}".strip() if m[2] else f"{number} {unit}".strip()
        if name == "form":
            return {"tab": "tablet", "tabs": "tablet", "tablets": "tablet", "cap": "capsule", "caps": "capsule", "capsules": "capsule", "drops": "drop"}.get(text, text)
        if name == "route":
            return ROUTES.get(text, "subcutaneous" if text.startswith(("subc", "subq", "sc", "s/c", "sq")) else text)
        if name == "duration":
            if slash := re.fullmatch(r"(\d)/(7|52|12)", text):
                return f"P{slash[1]}" + {"7": "D", "52": "W", "12": "M"}[slash[2]]
            return f"PT{number}H" if m[3].startswith("h") else f"P{number}{m[3][0].upper()}"
        if name == "frequency":
            if hours := re.search(r"(\d+)", text):
                return {"frequency": 1, "period": int(hours[1]), "unit": "h"}
            for words, times in ((("bid", "b.i.d", "bd", "twice", "two"), 2), (("tid", "t.i.d", "tds", "three"), 3), (("qid", "qds", "four"), 4)):
                if text.startswith(words):
                    return {"frequency": times}
            if "week" in text or "month" in text or "other" in text:
                return "WK" if "week" in text else "MO" if "month" in text else "QOD"
            return "QD"
        if name == "value" and m:
            return f"{number}..{m[2]}" if m[2] and "-" in text else f"{number}/{m[2]}" if m[2] else number
        text = re.sub(r"^[\d.,/-]+\s*", "", text) if name == "unit" else text  # the matcher takes whole tokens: "96%"
        return {"neg": "negative", "pos": "positive"}.get(text, text.replace("mm hg", "mmhg").replace("x10^9", "10*9").replace("pounds", "lb").replace("lbs", "lb"))

    def extract(kind, text, place):
        pipe, after = (nlp, 0) if kind == "drug" else (tests, place[1])
        return [(e.label_, normal(e.label_, e.text)) for e in pipe(text).ents if e.start_char >= after]

    return extract


def work(name, source):
    """Prints the answers and the seconds of five rounds."""
    items = json.load(open(source, encoding="utf-8"))
    extract = {"openmed": openmed, "medspacy": medspacy}[name]()
    seconds = []
    for _ in range(5):
        start = time.perf_counter()
        answers = [extract(i["kind"], i["text"], i["mention"]) for i in items]
        seconds.append(time.perf_counter() - start)
    print(json.dumps({"answers": answers, "seconds": statistics.median(seconds)}))


# ---- PEL
def pel_run(args, folder, name, docs):
    """Mentions of each document, and the median seconds of three runs less those of runs on the first document alone."""
    def table(part, rows):
        path = pathlib.Path(folder, f"{name}-{part}.jsonl")
        path.write_text("".join(json.dumps({"doc_id": str(i), "text": t}) + "\n" for i, t in enumerate(rows)), "utf-8")
        return str(path)

    def link(path):
        start = time.perf_counter()
        done = subprocess.run([args.pel, "link", "--bundle", args.bundle, path, "--format", "jsonl"], check=True, capture_output=True)
        return time.perf_counter() - start, done.stdout.decode()

    whole, first = table("all", docs), table("first", docs[:1])
    link(first)
    runs = [(link(whole), link(first)) for _ in range(3)]
    mentions = collections.defaultdict(list)
    for line in runs[0][0][1].splitlines():
        mention = json.loads(line)
        mentions[int(mention["doc"])].append(mention)
    return [mentions[i] for i in range(len(docs))], max(1e-9, statistics.median(a[0] - b[0] for a, b in runs))


def pel_keys(kind, mentions, start, end):
    """Each attribute between start and end once, though several mentions have it."""
    found = {(a["name"], a["start_code_point"], a["end_code_point"]): a for m in mentions for a in m.get("attributes", [])
             if start <= a["start_code_point"] and a["end_code_point"] <= end}
    return [(a["name"], a["value"]) for a in found.values() if a["name"] in NAMES[kind] and a.get("value") is not None]


def f1(items, answers):
    """{name: [right, annotated, found]} with "drugs", "tests" and "all"."""
    counts = collections.defaultdict(lambda: [0, 0, 0])
    for item, answer in zip(items, answers):
        keys = []
        for name, value in answer:
            try:
                keys.append(key(name, value))
            except (KeyError, ValueError, AttributeError):
                keys.append((name, "unreadable"))
        gold, found = (collections.Counter(map(repr, k)) for k in (item["gold"], keys))
        for part, n in ((gold & found, 0), (gold, 1), (found, 2)):
            for k, times in part.items():
                name = re.match(r"\('(\w+)'", k)[1]
                for where in (name, item["kind"] + "s", "all"):
                    counts[where][n] += times
    return {name: 200 * r / (g + f) if g + f else 0.0 for name, (r, g, f) in counts.items()}, {name: c[1] for name, c in counts.items()}


def main():
    if sys.argv[1:2] == ["--work"]:
        return work(*sys.argv[2:4])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("--pel", "--bundle"):
        parser.add_argument(option, required=True)
    for option in ("--openmed", "--medspacy"):
        parser.add_argument(option, metavar="PYTHON")
    parser.add_argument("notes", nargs="+")
    args = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    columns = ["drugs", "strength", "dose", "form", "route", "frequency", "duration", "tests", "value", "unit"]
    for path in args.notes:
        notes = [json.loads(line) for line in open(path, encoding="utf-8")]
        items = list(texts(notes))
        rows = []
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "items.json")
            source.write_text(json.dumps([{k: i[k] for k in ("kind", "text", "mention")} for i in items]), "utf-8")
            mentions, seconds = pel_run(args, folder, "texts", [i["text"] for i in items])
            rows.append(("pel", [pel_keys(i["kind"], m, 0, len(i["text"])) for i, m in zip(items, mentions)], seconds))
            mentions, seconds = pel_run(args, folder, "notes", [n["text"] for n in notes])
            over = [[m for m in mentions[i["note"]] if m["start_code_point"] < i["place"][1] and m["end_code_point"] > i["place"][0]] for i in items]
            rows.append(("pel, whole notes", [pel_keys(i["kind"], m, *i["bounds"]) for i, m in zip(items, over)], seconds))
            for name in ("openmed", "medspacy"):
                if python := getattr(args, name):
                    done = subprocess.run([python, __file__, "--work", name, str(source)], check=True, capture_output=True, text=True)
                    out = json.loads(done.stdout.splitlines()[-1])
                    rows.append((name, out["answers"], out["seconds"]))
        annotated = f1(items, rows[0][1])[1]
        print(f"\n{pathlib.Path(path).name}: {len(notes)} notes, {len(items)} drugs and tests, {annotated['all']} attributes\n")
        print("| system | all | " + " | ".join(columns) + " | notes a second |\n|" + " --- |" * (len(columns) + 3))
        print(f"| annotated | {annotated['all']} | " + " | ".join(str(annotated.get(c, 0)) for c in columns) + " | |")
        for name, answers, seconds in rows:
            scores, _ = f1(items, answers)
            print(f"| {name} | {scores.get('all', 0):.1f} | " + " | ".join(f"{scores.get(c, 0):.1f}" for c in columns) + f" | {len(notes) / seconds:,.0f} |")


if __name__ == "__main__":
    main()
