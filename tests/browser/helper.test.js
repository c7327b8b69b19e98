// How the work on a text is shared between the worker that links and its helpers, and what happens where a helper fails.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { help, Helper, shared } from "../../web/js/helper.js";
import { EMPTY, openPage, serve } from "./browser.js";
import { built, defaultBundle } from "./bundles.js";

const later = (value) => new Promise((resolve) => setTimeout(() => resolve(value), 1));
const check = () => later();

/** What was done, by whom. */
function record() {
  const done = [];
  const steps = {
    here: (at) => void done.push(["here", at]),
    there: async (helper, at) => {
      if (helper.fails) throw new Error("gone");
      return later(helper.name);
    },
    take: (at, name) => void done.push([name, at]),
  };
  return { done, steps };
}

const places = (done) => done.map(([, at]) => at).sort((a, b) => a - b);

test("each piece is done once, the first one here", async () => {
  const { done, steps } = record();
  await shared(20, [{ name: "a" }, { name: "b" }], check, { ahead: 2, ...steps });
  assert.deepEqual(places(done), Array.from({ length: 20 }, (_, at) => at));
  assert.deepEqual(done[0], ["here", 0]);
  assert.deepEqual([...new Set(done.map(([who]) => who))].sort(), ["a", "b", "here"]);
  await shared(0, [{ name: "a" }], check, steps);
});

test("without helpers the pieces are done in their order", async () => {
  const { done, steps } = record();
  await shared(3, [], check, steps);
  assert.deepEqual(done, [["here", 0], ["here", 1], ["here", 2]]);
});

test("what a helper fails at is done here", async () => {
  const { done, steps } = record();
  await shared(5, [{ fails: true }], check, { ahead: 2, ...steps });
  assert.deepEqual(places(done), [0, 1, 2, 3, 4]);
  assert.ok(done.every(([who]) => who === "here"));
  // After this worker has done all others.
  const late = record();
  const fails = async () => {
    for (let turns = 0; turns < 10; turns += 1) await later();
    throw new Error("gone");
  };
  await shared(3, [{}], check, { ...late.steps, there: fails });
  assert.deepEqual(late.done, [["here", 0], ["here", 2], ["here", 1]]);
});

test("the end of a request ends its pieces, and late answers are not taken", async () => {
  const { done, steps } = record();
  let checks = 0;
  const ends = async () => {
    await later();
    if ((checks += 1) === 2) throw new Error("a newer request");
  };
  const slow = async () => {
    for (let turns = 0; turns < 10; turns += 1) await later();
    return "slow";
  };
  await assert.rejects(shared(9, [{}], ends, { ...steps, there: slow }), /a newer request/);
  for (let turns = 0; turns < 15; turns += 1) await later();
  assert.deepEqual(done, [["here", 0], ["here", 2]]);
});

test("a helper that cannot read its files or fails at a piece says so once", async (t) => {
  class Files {
    add(name, bytes) {
      if (bytes.length === 0) throw Object.assign(new Error(`${name} is empty`), { code: "bundle" });
    }
  }
  const encoders = {
    encode: (rows) => {
      if (rows === "[]") throw new Error("trap");
      return Float32Array.of(rows.length);
    },
  };
  const { port1, port2 } = new MessageChannel();
  t.after(() => port1.close());
  help(port2, { Files, Helper: { load: () => encoders } });
  let lost = 0;
  const helper = new Helper(port1, () => void (lost += 1));
  await assert.rejects(helper.read([["config.json", new Uint8Array(0)]]), { code: "bundle", message: "config.json is empty" });
  assert.equal(lost, 1);
  await helper.read([["config.json", new Uint8Array(3)]]);
  assert.deepEqual(await helper.ask("encode", "[1]"), Float32Array.of(3));
  await assert.rejects(helper.ask("encode", "[]"), { code: "device", message: "trap" });
  assert.equal(lost, 2);
});

test("the page links alone where its helpers fail, and refuses a wrong number of workers", { timeout: 300_000 }, async (t) => {
  const bundle = await defaultBundle(t);
  const { page: folder } = built();
  const script = await readFile(`${folder}/pkg/helper.js`, "utf8");
  const failing = script.replace("encoders[method](rows)", "fail(method)");
  assert.notEqual(failing, script);
  const server = await serve({ "/pkg/": `${folder}/pkg`, "/bundle/": bundle }, { "/empty.html": EMPTY }, { "/pkg/helper.js": failing });
  t.after(server.close);
  const { page, complaints, close } = await openPage();
  t.after(close);
  await page.goto(new URL("empty.html", server.address).href);
  const note = await readFile(new URL("../../examples/note.txt", import.meta.url), "utf8");
  const found = await page.evaluate(async (note) => {
    const { Pel } = await import("/pkg/pel.js");
    const refused = await Pel.load("/bundle/", { workers: 0 }).catch((error) => [error.code, error.message]);
    const linked = [];
    for (const workers of [1, 3]) {
      const pel = await Pel.load("/bundle/", { device: "wasm", workers, cache: false });
      while (pel.workers() < workers) await pel.addedConcepts();
      const { links } = await pel.link(note);
      linked.push({ links, left: pel.workers() });
      pel.free();
    }
    return { refused, linked };
  }, note);
  assert.deepEqual(found.refused, ["input", "workers: expected a whole number from 1 to 16, found 0"]);
  const [alone, failed] = found.linked;
  assert.equal(failed.left, 1);
  assert.ok(alone.links.length > 50);
  assert.deepEqual(failed.links, alone.links);
  assert.deepEqual(complaints, []);
});
