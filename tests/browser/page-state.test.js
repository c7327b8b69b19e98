// The state of a note: mentions and decisions follow edits.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  addMention, applyDecisions, countTypes, createNote, decide, decisionOf, editNote, findEdit, linkAt, mergeLinks, removeMention,
  restoreRemoved, shiftSpans, signature, summary, typeOf, undo,
} from "../../www/state.js";

function link(text, word, { nil = false, type = "Disease", ...context } = {}) {
  const start = text.indexOf(word);
  const best = { id: `X:${word}`, name: word, types: [type], sources: [], score: 0.9 };
  const second = { ...best, id: "X:second", name: "second", score: 0.5 };
  return {
    start,
    end: start + word.length,
    text: word,
    origin: "name",
    negated: false,
    certainty: "certain",
    temporality: "current",
    experiencer: "patient",
    decision: nil ? "nil" : "linked",
    ...(nil ? { nil_reason: "below_threshold" } : {}),
    concept: nil ? null : best,
    candidates: [best, second],
    cut: { mention: false, context: false },
    ...context,
  };
}

function noteOf(text, ...words) {
  const note = createNote("a", text);
  note.machine = words.map((word) => link(note.text, word));
  return note;
}

const texts = (note) => applyDecisions(note.machine, note.decisions).map((one) => note.text.slice(one.start, one.end));

test("an edit is found, and the caret identifies the new one of several equal letters", () => {
  assert.equal(findEdit("abc", "abc"), null);
  assert.deepEqual(findEdit("abc", "abXc"), { start: 2, removed: 0, inserted: 1 });
  assert.deepEqual(findEdit("abc", "ac"), { start: 1, removed: 1, inserted: 0 });
  assert.deepEqual(findEdit("aaaa", "aaaaa", 2), { start: 1, removed: 0, inserted: 1 });
  assert.deepEqual(findEdit("aaaa", "aaaaa", 5), { start: 4, removed: 0, inserted: 1 });
  assert.deepEqual(findEdit("abcabc", "abXcabc", 0), { start: 2, removed: 0, inserted: 1 });
  assert.deepEqual(findEdit("", "x"), { start: 0, removed: 0, inserted: 1 });
  assert.deepEqual(findEdit("x", ""), { start: 0, removed: 1, inserted: 0 });
});

test("an edit never splits a surrogate pair", () => {
  // Both letters begin with the same unit.
  assert.deepEqual(findEdit("a😀b", "a😁b"), { start: 1, removed: 2, inserted: 2 });
  // Both end with the same unit.
  const edit = findEdit("\u{1f400}", "\u{1f800}");
  assert.deepEqual(edit, { start: 0, removed: 2, inserted: 2 });
});

test("an edit turns one text into the other for any caret", () => {
  const letters = ["a", "b", "\n", "😀", "é"];
  let seed = 1;
  const random = (below) => (seed = (seed * 48271) % 2147483647) % below;
  const word = () => Array.from({ length: random(7) }, () => letters[random(letters.length)]).join("");
  for (let round = 0; round < 2000; round += 1) {
    const [before, after] = [word(), word()];
    const edit = findEdit(before, after, random(after.length + 2));
    if (!edit) {
      assert.equal(before, after);
      continue;
    }
    const { start, removed, inserted } = edit;
    assert.ok(start >= 0 && removed >= 0 && inserted >= 0);
    assert.equal(before.slice(0, start) + after.slice(start, start + inserted) + before.slice(start + removed), after);
  }
});

test("spans move with an edit, and touched ones are dropped", () => {
  const spans = () => [{ start: 0, end: 5 }, { start: 6, end: 9 }, { start: 12, end: 15 }];
  assert.deepEqual(shiftSpans(spans(), { start: 5, removed: 0, inserted: 2 }), [
    { start: 0, end: 5 }, { start: 8, end: 11 }, { start: 14, end: 17 },
  ]);
  assert.deepEqual(shiftSpans(spans(), { start: 6, removed: 0, inserted: 1 })[1], { start: 7, end: 10 });
  assert.deepEqual(shiftSpans(spans(), { start: 7, removed: 0, inserted: 1 }), [
    { start: 0, end: 5 }, { start: 13, end: 16 },
  ]);
  assert.deepEqual(shiftSpans(spans(), { start: 4, removed: 4, inserted: 0 }), [{ start: 8, end: 11 }]);
  assert.deepEqual(shiftSpans(spans(), { start: 0, removed: 15, inserted: 3 }), []);
  const fragments = [{ start: 6, end: 7 }, { start: 8, end: 9 }];
  const [moved] = shiftSpans([{ start: 6, end: 9, fragments }], { start: 0, removed: 0, inserted: 4 });
  assert.deepEqual(moved, { start: 10, end: 13, fragments: [{ start: 10, end: 11 }, { start: 12, end: 13 }] });
  // A copy of the link may share its fragments, and moves them itself.
  assert.deepEqual(fragments[0], { start: 6, end: 7 });
});

test("line ends of a note are normalised as in a text field", () => {
  assert.equal(createNote("a", "x\r\ny\rz").text, "x\ny\nz");
});

test("mentions and decisions of a note follow an edit", () => {
  const note = noteOf("fever and gout", "fever", "gout");
  decide(note, note.machine[1], "nil");
  addMention(note, 6, 9);
  note.chosen = { start: 10, end: 14 };
  note.fresh = {};
  editNote(note, "high fever and gout", 5);
  assert.deepEqual(texts(note), ["fever", "gout"]);
  assert.deepEqual(note.chosen, { start: 15, end: 19 });
  assert.deepEqual(note.added, [{ start: 11, end: 14 }]);
  assert.equal(decisionOf(note, { start: 15, end: 19 }).base.start, 15);
  assert.equal(note.fresh, null);
  // A change of the words of a decided mention leaves it decided, and open.
  editNote(note, "high fever and gut", 17);
  assert.deepEqual(texts(note), ["fever", "gut"]);
  assert.deepEqual([decisionOf(note, { start: 15, end: 18 }).base.text, note.chosen], ["gut", { start: 15, end: 18 }]);
});

/** A note with one mention that the reader has decided, after some edits of its text. */
function edited(text, word, ...later) {
  const note = noteOf(text, word);
  decide(note, note.machine[0], "nil");
  note.chosen = { start: note.machine[0].start, end: note.machine[0].end };
  for (const next of later) editNote(note, next, firstDifference(note.text, next));
  return note;
}

/** The caret after an edit that typed or removed text there. */
function firstDifference(before, after) {
  let tail = 0;
  while (tail < Math.min(before.length, after.length) && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
  return after.length - tail;
}

test("a decision follows a change of the words that it is about", () => {
  for (const [steps, word] of [
    [["her gt, gone", "her gut, gone"], "gut"],
    [["her gou, gone", "her gout, gone"], "gout"],
    [["her gouty, gone"], "gouty"],
    [["her agout, gone"], "agout"],
    [["her gout , gone"], "gout"],
    [["her acute gout, gone"], "gout"],
    [["her go ut, gone", "her gout, gone"], "gout"],
    [["her gout, all gone"], "gout"],
    [["gout, gone"], "gout"],
  ]) {
    const note = edited("her gout, gone", "gout", ...steps);
    assert.deepEqual(applyDecisions([], note.decisions).map(({ text, start, end }) => [text, note.text.slice(start, end)]), [[word, word]]);
    assert.deepEqual([note.chosen, note.lost], [{ start: note.decisions[0].start, end: note.decisions[0].end }, null]);
  }
  const note = createNote("a", "left knee pain");
  addMention(note, 5, 14);
  editNote(note, "left knee joint pain", 15);
  assert.deepEqual(note.added, [{ start: 5, end: 20 }]);
  editNote(note, "left knee joint ", 16);
  assert.deepEqual(note.added, [{ start: 5, end: 15 }]);
});

test("a decision on a discontinuous mention follows a change between its fragments", () => {
  const note = noteOf("breast and ovarian cancer", "breast and ovarian cancer");
  note.machine[0].fragments = [{ start: 0, end: 6 }, { start: 19, end: 25 }];
  decide(note, note.machine[0], "nil");
  editNote(note, "breast and also ovarian cancer", 16);
  const [link] = applyDecisions([], note.decisions);
  assert.deepEqual([link.text, link.fragments], ["breast cancer", [{ start: 0, end: 6 }, { start: 24, end: 30 }]]);
});

test("decisions whose words are gone are kept, and return with the text", () => {
  for (const text of ["her , gone", "her asthma, gone", "hone", "", "her go\n\nut, gone", `her go${" many words".repeat(4)}ut, gone`]) {
    const note = edited("her gout, gone", "gout", text);
    assert.deepEqual([note.decisions, note.chosen, note.lost.count], [[], null, 1], text);
    assert.equal(note.lost.text, "her gout, gone");
    editNote(note, "her gout, gone");
    assert.deepEqual([note.decisions.map(({ start, end }) => [start, end]), note.lost], [[[4, 8]], null], text);
  }
  // Two at different times, and a newer decision where one was.
  const note = noteOf("fever and gout", "fever", "gout");
  for (const one of note.machine) decide(note, one, "nil");
  editNote(note, " and gout", 0);
  editNote(note, " and ", 5);
  assert.deepEqual([note.decisions.length, note.lost.count], [0, 2]);
  editNote(note, " and gout", 9);
  note.machine = [link(note.text, "gout")];
  decide(note, note.machine[0], "concept", note.machine[0].candidates[1]);
  editNote(note, "fever and gout", 5);
  assert.deepEqual(note.decisions.map(({ action, start }) => [action, start]), [["concept", 10], ["nil", 0]]);
});

test("newer links replace overlapping ones", () => {
  const spans = (...all) => all.map(([start, end]) => ({ start, end }));
  assert.deepEqual(mergeLinks(spans([0, 2], [5, 9], [20, 22]), spans([4, 6], [8, 10], [30, 31])),
    spans([0, 2], [4, 6], [8, 10], [20, 22], [30, 31]));
  assert.deepEqual(mergeLinks([], spans([1, 2])), spans([1, 2]));
  assert.deepEqual(mergeLinks(spans([1, 2]), []), spans([1, 2]));
  assert.deepEqual(mergeLinks(spans([1, 2], [3, 4]), spans([0, 9])), spans([0, 9]));
  // Nested mentions of one linking arrive in parts.
  const [old, knee, pain] = spans([0, 3], [5, 9], [0, 14]);
  assert.deepEqual(mergeLinks([old, knee], spans([0, 4], [0, 14]), new Set([knee])), spans([0, 4], [0, 14], [5, 9]));
  assert.deepEqual(mergeLinks([pain], spans([5, 9]), new Set([pain])), spans([0, 14], [5, 9]));
});

test("decisions of the reader are shown and can be undone", () => {
  const note = noteOf("fever and gout", "fever", "gout");
  const [fever, gout] = note.machine;
  const other = { id: "Y:1", name: "other", types: ["Cell"], sources: [], score: 0.2 };
  decide(note, fever, "concept", other);
  decide(note, gout, "nil");
  let [first, second] = applyDecisions(note.machine, note.decisions);
  assert.equal(first.concept, other);
  assert.equal(first.decision, "linked");
  assert.ok(first.candidates.includes(other));
  assert.equal(second.decision, "nil");
  assert.equal(second.nil_reason, "reader");
  assert.equal(second.concept, null);
  undo(note, gout);
  [, second] = applyDecisions(note.machine, note.decisions);
  assert.equal(second, gout);
  decide(note, fever, "concept", fever.candidates[1]);
  assert.equal(note.decisions.length, 1);
  [first] = applyDecisions(note.machine, note.decisions);
  assert.deepEqual(first.candidates, fever.candidates);
  assert.equal("nil_reason" in first, false);
});

test("a decision says that it is the reader's, without the machine's probability", () => {
  const note = noteOf("fever and gout", "fever", "gout");
  for (const one of note.machine) Object.assign(one, { probability: 0.93, answer_sets: [] });
  const [fever, gout] = note.machine;
  decide(note, fever, "concept", fever.candidates[1]);
  for (const action of ["nil", "concept"]) {
    decide(note, fever, action, fever.candidates[1]);
    const [own, machine] = applyDecisions(note.machine, note.decisions);
    assert.deepEqual([own.decided_by, "probability" in own, "answer_sets" in own], ["reader", false, false]);
    assert.deepEqual([machine, "decided_by" in machine], [gout, false]);
  }
});

test("the signature of a note changes with what an export would save", () => {
  const note = noteOf("fever and gout", "fever", "gout");
  const seen = new Set([signature(note)]);
  decide(note, note.machine[0], "nil");
  seen.add(signature(note));
  decide(note, note.machine[0], "concept", note.machine[0].candidates[1]);
  seen.add(signature(note));
  addMention(note, 6, 9);
  seen.add(signature(note));
  editNote(note, "fever and gout.");
  seen.add(signature(note));
  assert.equal(seen.size, 5);
  note.machine = [];
  assert.ok(seen.has(signature(note)));
});

test("a decision keeps the context of the mention", () => {
  const text = "No fever.";
  const note = createNote("a", text);
  note.machine = [link(text, "fever", { negated: true, section: "plan", group: "problem" })];
  for (const action of ["nil", "concept"]) {
    decide(note, note.machine[0], action, note.machine[0].candidates[1]);
    const [{ negated, section, group }] = applyDecisions(note.machine, note.decisions);
    assert.deepEqual([negated, section, group], [true, "plan", "problem"]);
  }
});

test("a decision remains when the engine no longer finds the mention", () => {
  const note = noteOf("fever and gout", "fever", "gout");
  decide(note, note.machine[0], "nil");
  note.machine = [note.machine[1]];
  assert.deepEqual(texts(note), ["fever", "gout"]);
});

test("mentions are removed, restored and added", () => {
  const note = noteOf("fever and gout", "fever", "gout");
  assert.equal(removeMention(note, note.machine[0]), false);
  assert.deepEqual(texts(note), ["gout"]);
  restoreRemoved(note);
  assert.deepEqual(texts(note), ["fever", "gout"]);
  assert.equal(addMention(note, 5, 6), null);
  assert.deepEqual(addMention(note, 5, 10), { start: 6, end: 9 });
  addMention(note, 6, 14);
  assert.deepEqual(note.added, [{ start: 6, end: 14 }]);
  assert.equal(removeMention(note, { start: 6, end: 14 }), true);
  assert.deepEqual(note.added, []);
});

test("mentions are counted by type, NIL last", () => {
  const text = "a b c d";
  const nil = ["a", "b"].map((word) => link(text, word, { nil: true }));
  const links = [...nil, link(text, "c"), link(text, "d", { type: "Cell" })];
  assert.deepEqual(countTypes(links), [["Cell", 1], ["Disease", 1], ["NIL", 2]]);
  assert.equal(summary(links), "4 mentions, 2 linked, 2 without a match");
  assert.equal(summary([links[2]]), "1 mention, 1 linked, 0 without a match");
  assert.equal(typeOf(links[0]), "NIL");
});

test("of nested mentions the longest is at an offset that starts both", () => {
  const text = "lung cancer";
  const note = noteOf(text, "lung", text, "cancer");
  const [, whole] = note.machine;
  for (const offset of [0, 2, 4, 8, 11]) assert.equal(linkAt(note.machine, offset), whole);
});

test("mentions that share a word are decided and found separately", () => {
  const text = "breast and ovarian cancer";
  const note = noteOf(text, text, "ovarian cancer");
  const [breast, ovarian] = note.machine;
  breast.fragments = [{ start: 0, end: 6 }, { start: 19, end: 25 }];
  assert.equal(linkAt(note.machine, 3), breast);
  assert.equal(linkAt(note.machine, 8), undefined);
  assert.equal(linkAt(note.machine, 15), ovarian);
  decide(note, breast, "nil");
  assert.deepEqual(applyDecisions(note.machine, note.decisions).map((one) => one.decision), ["nil", "linked"]);
  decide(note, ovarian, "remove");
  assert.deepEqual(applyDecisions(note.machine, note.decisions).map((one) => one.decision), ["nil"]);
  // The engine has found another mention there since: the reader's replaces it.
  note.machine = [link(text, "and ovarian")];
  assert.deepEqual(texts(note), [text]);
});
