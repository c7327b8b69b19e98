// The review of a note: its states, undo and redo, exports that are opened again, the summary, and archives of exports.

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { remember, travel } from "../../www/history.js";
import { openAnnotation } from "../../www/opening.js";
import { misfitWords, readBrat, readJson } from "../../www/reopen.js";
import { doubt, doubtfulFirst, nextOpen, progressOf, progressWords, reviewed, stateOf } from "../../www/review.js";
import { addMention, applyDecisions, createNote, decide, editNote, removeMention, undo } from "../../www/state.js";
import { summarise, summaryText } from "../../www/summary.js";
import { crc32, unzip, zip } from "../../www/zip.js";

const TEXT = "😷 fever, gout and asthma";

function link(text, word, changes = {}) {
  const start = text.indexOf(word);
  const concept = { id: `X:${word}`, name: word, types: ["Disease"], sources: [], score: 0.9 };
  return {
    start, end: start + word.length, text: word, origin: "name", negated: false, certainty: "certain", temporality: "current",
    experiencer: "patient", decision: "linked", concept, probability: 0.8, cut: { mention: false, context: false },
    candidates: [concept, { ...concept, id: "X:second", name: "second", score: 0.5 }], ...changes,
  };
}

const NIL = { decision: "nil", nil_reason: "below_threshold", concept: null };

function noteOf(text, ...words) {
  const note = createNote("a", text);
  note.machine = words.map((word) => link(note.text, word));
  return shown(note);
}

function shown(note) {
  note.links = applyDecisions(note.machine, note.decisions);
  return note;
}

/** A note with a confirmed, a changed and a removed mention. */
function reviewedNote() {
  const note = noteOf(TEXT, "fever", "gout", "asthma");
  const [fever, gout, asthma] = note.machine;
  decide(note, fever, "confirm");
  decide(note, gout, "concept", gout.candidates[1]);
  removeMention(note, asthma);
  return shown(note);
}

test("a mention is open, confirmed or changed, and progress counts removed ones", () => {
  const note = reviewedNote();
  assert.deepEqual(note.links.map(stateOf), ["confirmed", "changed"]);
  assert.deepEqual(progressOf(note), { done: 3, total: 3, confirmed: 1, changed: 2 });
  const [fever, gout] = note.links;
  // The machine's probability is about its own answer.
  assert.deepEqual([fever.probability, "decided_by" in fever, "probability" in gout, gout.decided_by], [0.8, false, false, "reader"]);
  assert.deepEqual(gout.review.former, { id: "X:gout", name: "gout", probability: 0.8 });
  assert.match(gout.review.reviewed_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  undo(note, gout);
  assert.equal(progressWords(progressOf(shown(note))), "2 of 3 reviewed");
});

test("a confirmed answer stays when the machine has another one since", () => {
  const note = noteOf(TEXT, "fever");
  decide(note, note.machine[0], "confirm");
  note.machine = [link(TEXT, "fever", { ...NIL, probability: 0.1, negated: true })];
  const [fever] = shown(note).links;
  assert.deepEqual([fever.decision, fever.concept.id, fever.nil_reason, fever.probability, fever.negated], ["linked", "X:fever", undefined, 0.8, true]);
});

test("the next open mention and the doubtful ones are found", () => {
  const note = noteOf(TEXT, "fever", "gout", "asthma");
  const [fever, gout, asthma] = note.machine;
  Object.assign(gout, NIL, { probability: 0.4 });
  fever.probability = 0.99;
  assert.deepEqual([doubt(gout, 0.5), Math.round(doubt(asthma, 0.5) * 100)], [0.4, 20]);
  assert.deepEqual(doubtfulFirst(note.machine, 0.5), [gout, asthma, fever]);
  decide(note, gout, "confirm");
  shown(note);
  assert.equal(nextOpen(note.links, 0), asthma);
  assert.equal(nextOpen(note.links, 2), fever);
  assert.deepEqual(doubtfulFirst(note.links, 0.5).map(({ text }) => text), ["asthma", "fever", "gout"]);
});

test("text and decisions are undone and done again together", () => {
  const note = noteOf("fever and gout", "fever", "gout");
  const state = () => [note.text, note.decisions.map(({ start, action }) => `${start} ${action}`).join(), note.added.length];
  const states = [state()];
  const step = (words, work, typed = null) => {
    remember(note, words, { typed });
    work();
    states.push(state());
  };
  step("confirmation", () => decide(note, note.machine[0], "confirm"));
  step("typing", () => editNote(note, "a fever and gout", 2));
  step("mark", () => addMention(note, 8, 11));
  step("typing", () => editNote(note, "a and gout", 2));
  assert.deepEqual([note.decisions, note.lost.count], [[], 1]);
  for (let at = states.length - 2; at >= 0; at -= 1) {
    travel(note, "past");
    assert.deepEqual([state(), note.lost], [states[at], null]);
  }
  assert.equal(travel(note, "past"), null);
  for (const expected of states.slice(1)) {
    travel(note, "future");
    assert.deepEqual(state(), expected);
  }
  travel(note, "past");
  step("rejection", () => decide(note, note.decisions[0], "nil"));
  assert.equal(travel(note, "future"), null);
  // Letters that are typed at once are one step.
  const before = note.history.past.length;
  for (const [at, text] of ["x", "xy", "xyz"].entries()) step("typing", () => editNote(note, `${text} fever`), 100 + at);
  assert.equal(note.history.past.length, before + 1);
});

/** The JSON that the engine writes for a note, as far as the page reads it again. */
function jsonOf(note, reader = "AB") {
  const { links, removed } = reviewed(note, reader);
  const placed = ({ start, end, ...rest }) => ({ ...rest, start_utf16: start, end_utf16: end, start_code_point: 0, end_code_point: 0 });
  const mentions = links.map(({ review, ...rest }) => ({ ...placed(rest), ...review }));
  const gone = removed.map(({ review, ...rest }) => ({ ...placed(rest), text: note.text.slice(rest.start, rest.end), ...review }));
  return JSON.stringify({ doc: note.name, text: note.text, mentions, removed: gone });
}

const told = (decisions) => decisions.map(({ start, end, action, concept, base, by }) =>
  [start, end, action, concept?.id ?? null, base.concept?.id ?? null, by]).sort((a, b) => a[0] - b[0]);

test("an export as JSON is opened again with its decisions", () => {
  const note = reviewedNote();
  addMention(note, TEXT.indexOf("and"), TEXT.indexOf("and") + 3);
  note.machine.push(link(TEXT, "and", { ...NIL, origin: "given" }));
  const json = jsonOf(shown(note));
  const found = readJson(json);
  assert.deepEqual([found.name, found.text, found.misfits, found.total, found.added], ["a", TEXT, 0, 4, note.added]);
  const expected = [[3, 8, "confirm", null, "X:fever", "AB"], [10, 14, "concept", "X:second", "X:gout", "AB"], [19, 25, "remove", null, "X:asthma", "AB"]];
  assert.deepEqual(told(found.decisions), expected);
  const again = createNote("a", TEXT);
  again.machine = note.machine;
  again.decisions = found.decisions;
  const plain = (links) => links.map(({ review: { reviewed_by: _by, ...review } = {}, ...rest }) => ({ ...rest, review }));
  assert.deepEqual(plain(shown(again).links), plain(note.links));
  for (const other of ["", "{}", "[]", '{"doc":"a","text":"b","mentions":[{"text":"b"}]}', "null"]) assert.equal(readJson(other), null);
});

test("an export of a text with other line ends fits the text of the page", () => {
  const json = JSON.parse(jsonOf(noteOf("a\nfever", "fever")));
  json.text = "a\r\nfever";
  Object.assign(json.mentions[0], { start_utf16: 3, end_utf16: 8, review: "confirmed" });
  const found = readJson(JSON.stringify(json));
  assert.deepEqual([found.misfits, told(found.decisions)], [0, [[2, 7, "confirm", null, "X:fever", null]]]);
});

const BRAT = `T1\tDisease 2 7\tfever
N1\tReference T1 KB:X:fever\tfever
#1\tAnnotatorNotes T1\tProbability: 0.8000; Reviewed: confirmed by AB at 2026-11-30T09:30:00Z
T2\tDisease 9 13\tgout
A2000\tNegated T2
N2\tReference T2 KB:X:second\tsecond one
#2\tAnnotatorNotes T2\tLinked: chosen by the user; Reviewed: changed by AB at 2026-11-30T09:30:00Z; Former: X:gout gout
T3\tNIL 14 17\tand
#3\tAnnotatorNotes T3\tNIL: no candidate
#4\tRemoved 18-24\tasthma; Reviewed: changed by AB; Former: X:asthma asthma
`;

test("an export as BRAT is opened again with its decisions", () => {
  const found = readBrat(BRAT, TEXT);
  assert.deepEqual([found.misfits, found.total], [0, 4]);
  const expected = [[3, 8, "confirm", null, "X:fever", "AB"], [10, 14, "concept", "X:second", "X:gout", "AB"], [19, 25, "remove", null, "X:asthma", "AB"]];
  assert.deepEqual(told(found.decisions), expected);
  assert.deepEqual([found.decisions[0].base.probability, found.decisions[1].base.negated, found.decisions[1].concept.name], [0.8, true, "second one"]);
  assert.equal(readBrat(BRAT.replace("fever\nN1", "fevers\nN1"), TEXT).misfits, 1);
});

test("an export of another text says so", () => {
  const notes = { list: [noteOf(TEXT, "fever")], all: () => notes.list, add: (name, text) => notes.list[notes.list.push(createNote(name, text)) - 1] };
  const json = jsonOf(reviewedNote());
  let opened = openAnnotation({ name: "a.json", format: "json", text: json }, notes);
  assert.deepEqual([opened.note, opened.problem, opened.note.decisions.length], [notes.list[0], "", 3]);
  // The note was changed since: the file is a note of its own.
  editNote(notes.list[0], `${TEXT}.`);
  opened = openAnnotation({ name: "a.json", format: "json", text: json }, notes);
  assert.deepEqual([opened.note, notes.list.length], [notes.list[1], 2]);
  assert.match(opened.problem, /text in a\.json is another than that of the open note “a”/);
  opened = openAnnotation({ name: "a.ann", format: "ann", text: BRAT.replaceAll("fever", "cough") }, notes);
  assert.match(opened.problem, /1 of 4 mentions of a\.ann are not in the text/);
  opened = openAnnotation({ name: "b.ann", format: "ann", text: BRAT }, notes);
  assert.deepEqual([opened.note, opened.problem], [null, "b.ann has no text. Open it together with b.txt."]);
  assert.equal(openAnnotation({ name: "c.json", format: "json", text: "{}" }, notes).note, null);
  assert.equal(misfitWords("a.ann", { misfits: 0, total: 3 }), "");
});

test("the summary has a section for each kind, and denied and family apart", () => {
  const text = "metformin 500 mg, metformin, penicillin, no gout, her mother had asthma, creatinine 1.6, zelvip, left knee";
  const at = (words) => ({ start: text.indexOf(words), end: text.indexOf(words) + words.length });
  const code = { system: "RXNORM", code: "6809", match: "exact" };
  const metformin = link(text, "metformin", { group: "drug", attributes: [{ name: "strength", ...at("500 mg") }] });
  metformin.concept.code = code;
  metformin.concept.codes = [code];
  const second = { ...metformin, start: 18, end: 27, attributes: [] };
  const links = [
    metformin, second, link(text, "penicillin", { group: "drug", allergy: "allergen" }), link(text, "gout", { group: "problem", negated: true }),
    link(text, "asthma", { group: "problem", experiencer: "family" }),
    link(text, "creatinine", { group: "measurement", attributes: [{ name: "value", ...at("1.6") }] }),
    link(text, "zelvip", { group: "drug", ...NIL }), link(text, "left knee", { group: "anatomy" }),
  ];
  const sections = summarise(links, text);
  assert.deepEqual(sections.map(({ key, entries }) => [key, entries.map(({ name, beside, links }) => `${name} ${beside} ${links.length}`)]), [
    ["drug", ["metformin 500 mg 2", "zelvip  1"]], ["allergy", ["penicillin  1"]], ["measurement", ["creatinine 1.6 1"]],
    ["denied", ["gout  1"]], ["family", ["asthma  1"]],
  ]);
  assert.match(summaryText(sections, null), /^Medications\n- metformin, 500 mg \[RxNorm 6809\]\n- zelvip \[no match\]\n\nAllergies\n- penicillin \[X:penicillin\]\n/);
});

test("an archive has its files unchanged", async (t) => {
  assert.equal(crc32(new TextEncoder().encode("123456789")), 0xcbf43926);
  const files = [{ name: "a.json", text: "{}" }, { name: "é.txt", text: "😷 fever\n" }, { name: "empty.csv", text: "" }];
  const own = await unzip(new Uint8Array(await zip(files).arrayBuffer()));
  assert.deepEqual(await Promise.all(own.map(async (file) => [file.name, await file.text()])), files.map(({ name, text }) => [name, text]));
  await assert.rejects(unzip(new Uint8Array(100)), /not a ZIP archive/);
  if (spawnSync("python3", ["--version"]).error) return t.skip("Python 3 is not installed");
  const folder = mkdtempSync(join(tmpdir(), "pel-zip-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const bytes = Buffer.from(await zip(files, new Date(2026, 10, 30, 9, 30, 2)).arrayBuffer());
  const path = join(folder, "a.zip");
  writeFileSync(path, bytes);
  const script = "import json, sys, zipfile\nz = zipfile.ZipFile(sys.argv[1])\nassert z.testzip() is None\n" +
    "print(json.dumps([[i.filename, z.read(i).decode(), list(i.date_time)] for i in z.infolist()]))";
  const read = JSON.parse(execFileSync("python3", ["-c", script, path], { encoding: "utf8" }));
  assert.deepEqual(read, files.map(({ name, text }) => [name, text, [2026, 11, 30, 9, 30, 2]]));
  // One that another program has packed.
  const pack = "import sys, zipfile\nwith zipfile.ZipFile(sys.argv[1], 'w', zipfile.ZIP_DEFLATED) as z: z.writestr('x/a.txt', 'fever ' * 900)";
  execFileSync("python3", ["-c", pack, path]);
  const [packed] = await unzip(new Uint8Array(readFileSync(path)));
  assert.deepEqual([packed.name, await packed.text()], ["a.txt", "fever ".repeat(900)]);
});
