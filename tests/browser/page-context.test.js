// What the text says of a mention: words, marks and filters of the page.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import {
  ALL, contextMarks, contextRows, contextsIn, contextWords, isStated, KINDS, kindsIn, NO_KIND, passes, spoken, STATED, valuesIn,
} from "../../www/context.js";

const link = (context = {}) => ({
  text: "fever",
  negated: false,
  certainty: "certain",
  temporality: "current",
  experiencer: "patient",
  ...context,
});

/** One mention for each value that is not the usual one. */
const UNUSUAL = [
  { negated: true },
  { certainty: "uncertain" },
  { certainty: "hypothetical" },
  { temporality: "historical" },
  { temporality: "future" },
  { experiencer: "family" },
  { experiencer: "other" },
  { allergy: "allergen" },
  { allergy: "reaction" },
].map(link);

/** One mention for each value of laterality and severity. */
const DESCRIBED = [
  { laterality: "left" },
  { laterality: "right" },
  { laterality: "bilateral" },
  { severity: "mild" },
  { severity: "moderate" },
  { severity: "severe" },
].map(link);

test("the context of a mention is told in words", () => {
  assert.equal(contextWords(link()), "");
  assert.equal(spoken(link()), "fever");
  const both = link({ experiencer: "family", negated: true });
  assert.equal(contextWords(both), "negated, family");
  assert.equal(spoken(both), "fever, negated, family");
  assert.equal(contextWords(link({ experiencer: "other" })), "someone else");
  assert.equal(new Set(UNUSUAL.map(contextWords)).size, UNUSUAL.length);
});

test("a mention without these fields is stated of the patient now", () => {
  assert.equal(isStated({ text: "fever" }), true);
  assert.deepEqual(contextMarks({ text: "fever" }), { lines: [], signs: "" });
});

test("each value has a mark of its own, and the style sheet has its lines", async () => {
  const style = await readFile(new URL("../../www/style.css", import.meta.url), "utf8");
  const marks = [...UNUSUAL, ...DESCRIBED].map(contextMarks);
  assert.equal(new Set(marks.map((mark) => JSON.stringify(mark))).size, marks.length);
  for (const { lines, signs } of marks) {
    assert.ok(lines.length + signs.length === 1, "a line or a sign");
    for (const line of lines) assert.match(style, new RegExp(`\\.mark\\.${line} \\{`));
  }
  assert.deepEqual(contextMarks(link()), { lines: [], signs: "" });
  const all = link({ negated: true, certainty: "uncertain", temporality: "historical", experiencer: "family" });
  assert.deepEqual(contextMarks(all), { lines: ["negated", "uncertain"], signs: "←F" });
});

test("laterality and severity are told, and do not matter to whether a mention is stated", () => {
  const described = link({ laterality: "left", severity: "severe" });
  assert.equal(contextWords(described), "left, severe");
  assert.equal(spoken(described), "fever, left, severe");
  assert.deepEqual(contextRows(described), [
    ["Context", "stated of the patient now"], ["Laterality", "left"], ["Severity", "severe"],
  ]);
  assert.ok(DESCRIBED.every((one) => isStated(one) && passes({ context: STATED, kind: "" }, one)));
  assert.ok(!isStated(link({ negated: true, laterality: "left" })));
  assert.equal(new Set(DESCRIBED.map(contextWords)).size, DESCRIBED.length);
});

test("what belongs to an allergy is not stated of the patient", () => {
  const [allergen, reaction] = [link({ allergy: "allergen" }), link({ allergy: "reaction" })];
  assert.equal(contextWords(allergen), "allergy");
  assert.equal(contextWords(reaction), "allergic reaction");
  assert.ok(!isStated(allergen) && !isStated(reaction));
  assert.equal(contextWords(link({ negated: true, allergy: "allergen" })), "negated, allergy");
});

test("the legend has the values that occur, in a constant order", () => {
  const words = (links) => valuesIn(links).map(({ word }) => word);
  assert.deepEqual(words([]), []);
  assert.deepEqual(words([link(), link()]), []);
  assert.deepEqual(words([link({ temporality: "future" }), link(), link({ negated: true }), link({ negated: true })]),
    ["negated", "future"]);
  assert.equal(words(UNUSUAL).length, UNUSUAL.length);
});

test("the details have context, section and kind", () => {
  assert.deepEqual(contextRows(link()), [["Context", "stated of the patient now"]]);
  assert.deepEqual(contextRows(link({ negated: true, section: "past history", group: "problem" })), [
    ["Context", "negated"], ["Section", "past history"], ["Kind", "problem"],
  ]);
});

test("mentions are filtered by context and kind", () => {
  const all = { context: ALL, kind: "" };
  const stated = { ...all, context: STATED };
  assert.ok([link(), ...UNUSUAL].every((one) => passes(all, one)));
  assert.ok(passes(stated, link()));
  assert.ok(!UNUSUAL.some((one) => passes(stated, one)));
  const drug = link({ group: "drug" });
  assert.ok(passes({ ...all, kind: "drug" }, drug) && !passes({ ...all, kind: "drug" }, link()));
  assert.ok(passes({ ...all, kind: NO_KIND }, link()) && !passes({ ...all, kind: NO_KIND }, drug));
  assert.ok(!passes({ context: STATED, kind: "drug" }, { ...drug, negated: true }));
  // Each value alone.
  for (const one of [...UNUSUAL, ...DESCRIBED]) {
    const only = { ...all, context: contextWords(one) };
    assert.deepEqual([...UNUSUAL, ...DESCRIBED, link()].filter((other) => passes(only, other)), [one]);
  }
  assert.ok(passes({ context: "family", kind: "drug" }, { ...drug, negated: true, experiencer: "family" }));
});

test("the filter of context offers the values that occur", () => {
  const usual = [[ALL, "All"], [STATED, "Stated of the patient now"]];
  assert.deepEqual(contextsIn([link()]), usual);
  const links = [link({ experiencer: "other" }), link({ negated: true, laterality: "left" })];
  assert.deepEqual(contextsIn(links), [...usual, ["negated", "Negated"], ["someone else", "Someone else"], ["left", "Left"]]);
});

test("the kinds that occur can be chosen, in a constant order", () => {
  assert.deepEqual(kindsIn([]), []);
  assert.deepEqual(kindsIn([link(), link({ group: "drug" }), link({ group: "problem" }), link()]), ["problem", "drug", NO_KIND]);
});

test("the page knows the kinds that the package names", async () => {
  const types = await readFile(new URL("../../web/js/pel.d.ts", import.meta.url), "utf8");
  const [, kinds] = /group\?: (.*);/.exec(types);
  assert.deepEqual(Object.keys(KINDS), [...kinds.split(" | ").map((kind) => JSON.parse(kind)), NO_KIND]);
});
