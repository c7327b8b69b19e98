// What stands beside a mention, in the list and the details, and through edits of the note.

import assert from "node:assert/strict";
import { test } from "node:test";
import { attributeRows, attributeWords, relationRows } from "../../www/attributes.js";
import { createNote, decide, editNote } from "../../www/state.js";

const NOTE = "Start metformin 1000 mg twice daily (was 500 mg).";

function attribute(words, name, more = {}) {
  const start = NOTE.indexOf(words);
  return { name, start, end: start + words.length, ...more };
}

function metformin() {
  const start = NOTE.indexOf("metformin");
  return {
    start, end: start + 9, text: "metformin", decision: "linked", concept: { id: "X:1", name: "metformin", types: ["Drug"], score: 1 },
    candidates: [],
    attributes: [
      attribute("1000 mg", "strength", { value: "1000 mg" }),
      attribute("twice daily", "frequency", { value: "BID" }),
      attribute("500 mg", "strength", { value: "500 mg", prior: true }),
    ],
  };
}

test("the list has the words, the details also normal forms", () => {
  assert.equal(attributeWords(metformin(), NOTE), "1000 mg, twice daily, earlier 500 mg");
  assert.deepEqual(attributeRows(metformin(), NOTE), [
    ["Strength", "1000 mg"], ["Frequency", "twice daily (BID)"], ["Earlier strength", "500 mg"],
  ]);
  assert.equal(attributeWords({ start: 0, end: 5 }, NOTE), "");
});

test("a timing without a code is told in words", () => {
  const value = { frequency: 1, frequency_max: 2, period: 4, period_max: 6, unit: "h", when: "AC" };
  const link = { start: 6, end: 15, attributes: [attribute("twice daily", "frequency", { value })] };
  assert.deepEqual(attributeRows(link, NOTE), [["Frequency", "twice daily (1 to 2 times per 4 to 6 h, AC)"]]);
});

test("a value with its unit is one part, and what is inside the mention is not repeated", () => {
  const text = "chronic anemia, Hgb 9.1 g/dL";
  const at = (words) => ({ start: text.indexOf(words), end: text.indexOf(words) + words.length });
  const hemoglobin = { ...at("Hgb"), attributes: [{ name: "value", ...at("9.1") }, { name: "unit", ...at("g/dL") }] };
  assert.equal(attributeWords(hemoglobin, text), "9.1 g/dL");
  const anemia = { ...at("chronic anemia"), attributes: [{ name: "course", ...at("chronic") }] };
  assert.equal(attributeWords(anemia, text), "");
  assert.deepEqual(attributeRows(anemia, text), [["Course", "chronic"]]);
});

test("attributes follow edits before, between and behind, and go when their words change", () => {
  const edited = (text) => {
    const note = createNote("a", NOTE);
    note.machine = [metformin()];
    editNote(note, text, undefined);
    return note.machine.map((link) => attributeWords(link, note.text));
  };
  assert.deepEqual(edited(`Plan: ${NOTE}`), ["1000 mg, twice daily, earlier 500 mg"]);
  assert.deepEqual(edited(NOTE.replace("mg twice", "mg PO twice")), ["1000 mg, twice daily, earlier 500 mg"]);
  assert.deepEqual(edited(NOTE.replace("1000", "1500")), ["twice daily, earlier 500 mg"]);
  assert.deepEqual(edited(NOTE.replace("(was 500 mg)", "")), ["1000 mg, twice daily"]);
});

test("relations name the other mention, and follow edits", () => {
  const note = createNote("a", "aspirin for pain");
  note.machine = [{ start: 0, end: 7, text: "aspirin", candidates: [], relations: [{ name: "indication", start: 12, end: 16 }] }];
  editNote(note, "aspirin 81 mg for pain", 13);
  assert.deepEqual(relationRows(note.machine[0], note.text), [["Given for", "pain"]]);
  assert.deepEqual(relationRows({ start: 0, end: 7 }, note.text), []);
});

test("a decision of the reader keeps its attributes through edits", () => {
  const note = createNote("a", NOTE);
  note.machine = [metformin()];
  decide(note, note.machine[0], "nil");
  editNote(note, `Plan: ${NOTE}`, 0);
  assert.equal(note.decisions.length, 1);
  for (const { base } of note.decisions) assert.equal(attributeWords(base, note.text), "1000 mg, twice daily, earlier 500 mg");
});
