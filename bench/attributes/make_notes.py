#!/usr/bin/env python3
"""Writes notes.jsonl (notes with annotated attributes) from notes.marked.txt, and checks it.

    make_notes.py            writes notes.jsonl beside this file
    make_notes.py --list     prints each mention with its attributes

A note begins with `=== id`. Marks in its text:

    [metformin/d]                 a mention: d drug, t test, p problem, r procedure; [metformin/d1] also gives it an id
    {500 mg~st}                   an attribute, with its short name; of the mention around it, else of the last one before it
    {twice a day~fr=BID}          with a normal form; without one it is the text in lower case
    {8.4~v!}                      an earlier value
    {mild~sev>>} [asthma/p]       of the next mention
    {5 days~du=P5D>p1,p2}         of the mentions with these ids

The normal form of a frequency is a code, or 1/4-6h for once every four to six hours. `null` stands for none.
"""
import json, pathlib, re, sys

HERE = pathlib.Path(__file__).parent
KINDS = {"d": "drug", "t": "test", "p": "problem", "r": "procedure"}
NAMES = {"st": "strength", "do": "dose", "fo": "form", "ro": "route", "fr": "frequency", "du": "duration", "prn": "prn", "ind": "indication",
         "sta": "status", "v": "value", "c": "comparator", "u": "unit", "fl": "flag", "rg": "range", "da": "date", "on": "onset",
         "sg": "stage", "co": "course", "lat": "laterality", "sev": "severity"}
CODES = set("QD BID TID QID QOD AM PM BED Q4H Q6H Q8H WK MO".split())
DATE = r"(\d{4}(-\d\d){0,2}|--\d\d(-\d\d)?|-?PT?\d+[YMWDHS])"
SHAPES = {  # the normal forms that each name may have
    "strength": r"[\d./]+( \S+)?|[\d.]+ \S+/[\d.]+ \S+|[\d.]+\.\.[\d.]+ \S+|[\d.]+ \S+/5 mL", "dose": r"[\d.]+(\.\.[\d.]+)?( \S+)?",
    "duration": r"PT?\d+[YMWDHS]", "date": f"{DATE}(\\.\\.{DATE})?", "onset": DATE, "prn": "true",
    "status": "start|continue|stop|hold|increase|decrease|change", "comparator": "<|<=|>|>=", "flag": "high|low|normal|abnormal",
    "value": r"-?[\d.]+(\.\.[\d.]+)?|[\d.]+(/\d+)+|1:\d+|\d\+|[a-z0-9+= ]+", "range": r"<[\d./]+|[\d.]+\.\.[\d.]+", "laterality": "left|right|bilateral",
    "course": "acute|chronic|recurrent|intermittent|constant|stable|worsening|improving|resolved|persistent|progressive|unchanged|stopped",
}
KEEPS_CASE = {"unit", "stage", "strength", "dose", "frequency", "duration", "date", "onset"}


def normal_form(name, text, given):
    """The normal form that a mark gives, checked by its shape."""
    if given == "null":
        return None
    value = given if given is not None else (text if name in KEEPS_CASE else text.lower())
    if name == "frequency":
        every = re.fullmatch(r"(\d+)/(\d+)(?:-(\d+))?(h|d|wk|mo|min)", value)
        if every:
            times, period, longest, unit = every.groups()
            value = {"frequency": int(times), "period": int(period)}
            if longest:
                value["period_max"] = int(longest)
            value["unit"] = unit
        else:
            value = value.upper()
            assert value in CODES, (text, value)
    elif name == "comparator":
        value = {"gt": ">", "lt": "<"}.get(value, value)
    if name in SHAPES:
        assert re.fullmatch(SHAPES[name], value), (name, text, value)
    return value


def read(marked, where):
    """The text without marks, and its facts."""
    text, stack, anchors, attributes, waiting = [], [], [], [], []
    length, i = 0, 0
    while i < len(marked):
        c = marked[i]
        if c == "[":
            anchor = {"start": length, "id": None}
            stack.append(anchor)
            anchors.append(anchor)
            for attribute in waiting:
                attribute["of"] = [anchor]
            waiting = []
        elif c == "{":
            around = [x for x in stack if "id" in x]
            attribute = {"a_start": length, "of": around[-1:] or anchors[-1:]}
            stack.append(attribute)
            attributes.append(attribute)
        elif c == "/" and (m := re.match(r"/([dtpr]\d*)\]", marked[i:])):
            anchor = stack.pop()
            assert "id" in anchor, (where, marked[i - 30:i + 5])
            anchor.update(end=length, id=m[1], kind=KINDS[m[1][0]])
            i += m.end()
            continue
        elif c == "~":
            m = re.match(r"~(\w+)(?:=([^}>!]*))?(!)?(>>|>[\w,]+)?\}", marked[i:])
            assert m, (where, marked[i - 20:i + 20])
            attribute = stack.pop()
            attribute.update(a_end=length, name=NAMES[m[1]], given=m[2], prior=bool(m[3]))
            if m[4] == ">>":
                waiting.append(attribute)
            elif m[4]:
                attribute["ids"] = m[4][1:].split(",")
            i += m.end()
            continue
        else:
            text.append(c)
            length += 1
        i += 1
    assert not stack and not waiting, (where, stack, waiting)
    text = "".join(text)
    by_id = {a["id"]: a for a in anchors if len(a["id"]) > 1}
    assert len(by_id) == sum(len(a["id"]) > 1 for a in anchors), (where, "an id twice")
    facts = {id(a): [] for a in anchors}
    for attribute in attributes:
        start, end, name = attribute["a_start"], attribute["a_end"], attribute["name"]
        words = text[start:end]
        entry = {"name": name, "start": start, "end": end, "text": words, "normal": normal_form(name, words, attribute["given"])}
        if attribute["prior"]:
            entry["prior"] = True
        of = [by_id[x] for x in attribute["ids"]] if "ids" in attribute else attribute["of"]
        assert of and words and words == words.strip(), (where, attribute)
        for anchor in of:
            facts[id(anchor)].append(entry)
    out = []
    for a in anchors:
        if facts[id(a)]:
            anchor = {"start": a["start"], "end": a["end"], "text": text[a["start"]:a["end"]], "kind": a["kind"]}
            out.append({"anchor": anchor, "attributes": sorted(facts[id(a)], key=lambda e: (e["start"], e["end"]))})
    return text, out


def check(note):
    for fact in note["facts"]:
        for span in [fact["anchor"], *fact["attributes"]]:
            assert note["text"][span["start"]:span["end"]] == span["text"], (note["doc_id"], span)


def main():
    notes = []
    for part in re.split(r"^=== ", (HERE / "notes.marked.txt").read_text(encoding="utf-8"), flags=re.M)[1:]:
        name, marked = part.split("\n", 1)
        text, facts = read(marked.strip(), name)
        note = {"doc_id": name.strip(), "source": "invented", "licence": "MIT OR Apache-2.0", "text": text, "facts": facts}
        check(note)
        notes.append(note)
    if "--list" in sys.argv:
        for note in notes:
            print(f"\n{note['doc_id']} ({len(note['text'].split())} words)")
            for fact in note["facts"]:
                said = (f"{a['name']} {a['text']!r} {a['normal']}{' prior' if a.get('prior') else ''}" for a in fact["attributes"])
                print(f"  {fact['anchor']['kind']} {fact['anchor']['text']!r}: {'; '.join(said)}")
        return
    with open(HERE / "notes.jsonl", "w", encoding="utf-8") as out:
        for note in notes:
            out.write(json.dumps(note, ensure_ascii=False) + "\n")
    count = sum(len(f["attributes"]) for n in notes for f in n["facts"])
    print(f"{len(notes)} notes, {sum(len(n['facts']) for n in notes)} mentions, {count} attributes")


if __name__ == "__main__":
    main()
