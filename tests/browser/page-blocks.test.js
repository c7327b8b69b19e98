// Blocks of a note: the page redraws only changed blocks.

import assert from "node:assert/strict";
import { test } from "node:test";
import { cut, recut, spread } from "../../www/blocks.js";

const line = `${"x".repeat(700)}\n`;
const apply = (old, { head, tail, middle }) => [...old.slice(0, head), ...middle, ...old.slice(old.length - tail)];

test("blocks are whole lines and concatenate to the text", () => {
  const text = line.repeat(9) + "end";
  const blocks = cut(text);
  assert.equal(blocks.join(""), text);
  assert.ok(blocks.length > 2);
  assert.ok(blocks.slice(0, -1).every((block) => block.endsWith("\n")));
  assert.deepEqual(cut(""), []);
});

test("long lines are split after a space, if there is one", () => {
  const words = "word ".repeat(2000);
  const blocks = cut(words, 1000);
  assert.equal(blocks.join(""), words);
  assert.ok(blocks.every((block) => block.length <= 1000 && block.endsWith(" ")));
  assert.deepEqual(cut("y".repeat(5000), 1000), ["y".repeat(5000)]);
});

test("blocks before and after a change are reused", () => {
  const old = cut(Array.from({ length: 30 }, (_, at) => String(at).padEnd(800, "z")).join("\n"));
  const text = old.join("");
  const at = text.length / 2;
  const edited = `${text.slice(0, at)}new\n${text.slice(at)}`;
  const kept = recut(old, edited);
  assert.equal(apply(old, kept).join(""), edited);
  assert.ok(kept.head > 3 && kept.tail > 3);
});

test("splitting again gives the text after any change", () => {
  let seed = 7;
  const random = (below) => (seed = (seed * 48271) % 2147483647) % below;
  let text = "";
  let blocks = [];
  for (let round = 0; round < 600; round += 1) {
    const start = random(text.length + 1);
    const end = Math.min(text.length, start + (random(3) === 0 ? random(3000) : 0));
    const inserted = ["", "\n", "a", line, "b".repeat(2000), `${line}c\n\n`][random(6)];
    text = text.slice(0, start) + inserted + text.slice(end);
    blocks = apply(blocks, recut(blocks, text));
    assert.equal(blocks.join(""), text);
    assert.ok(blocks.slice(0, -1).every((block) => block.endsWith("\n")), "blocks end with lines");
  }
});

test("marks are distributed over blocks, and of overlapping marks the first is shown", () => {
  const blocks = [{ start: 0, length: 10 }, { start: 10, length: 10 }, { start: 20, length: 5 }];
  const marks = [{ start: 1, end: 3 }, { start: 2, end: 5 }, { start: 8, end: 23 }, { start: 24, end: 25 }];
  const [, , through, last] = marks;
  assert.deepEqual(spread(blocks, marks), [
    [{ from: 1, to: 3, mark: marks[0] }, { from: 8, to: 10, mark: through }],
    [{ from: 0, to: 10, mark: through }],
    [{ from: 0, to: 3, mark: through }, { from: 4, to: 5, mark: last }],
  ]);
});
