// The pipeline table in the page: decisions and scores on WebAssembly and WebGPU equal the native ones, and vectors equal
// PyTorch's.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { EMPTY, openPage, serve, WEBGPU } from "./browser.js";
import { built, linkNatively, table, tinyBundle } from "./bundles.js";

const golden = JSON.parse(await readFile(new URL("../goldens/tiny.json", import.meta.url), "utf8"));
/** Tokens of a mention in the bundle. */
const WINDOW = 32;
const bytes = (text, units) => Buffer.byteLength(text.slice(0, units));
const units = (text, bytes) => Buffer.from(text).subarray(0, bytes).toString().length;

/** In the page: links texts with given spans (UTF-16). */
async function linkAll([device, rows]) {
  const { Pel } = await import("/pkg/pel.js");
  const pel = await Pel.load("/bundle/", { device, cache: false });
  const linked = [];
  for (const { text, spans } of rows) {
    const parts = [];
    const { links, device } = await pel.link(text, { spans, onLinks: (part) => parts.push(...part.links) });
    linked.push({ links, parts: parts.length, device });
  }
  const decided = await pel.decide({ threshold: 2 });
  const again = await pel.decide();
  pel.free();
  return { linked, decided, again };
}

/** In the page: the vectors of texts, by parts of the package. */
async function embedAll([gpu, texts]) {
  const pkg = await import(gpu ? "/pkg/gpu/pel_web.js" : "/pkg/pel_web.js");
  await pkg.default();
  const files = new pkg.Files();
  const { files: names } = await (await fetch("/bundle/manifest.json")).json();
  for (const name of ["manifest.json", ...Object.keys(names)]) {
    files.add(name, new Uint8Array(await (await fetch(`/bundle/${name}`)).arrayBuffer()));
  }
  const engine = await pkg.Engine.load(files, gpu);
  const vectors = [];
  for (const text of texts) vectors.push(Array.from(await engine.embed(text)));
  return vectors;
}

for (const [device, native, flags] of [
  ["wasm", "cpu", []],
  ["webgpu", "vulkan", WEBGPU],
]) {
  test(`the table on ${device}`, { timeout: 300_000 }, async (t) => {
    const { rows } = await table();
    const { folder, bundle } = await tinyBundle(t);
    const server = await serve({ "/pkg/": `${built().page}/pkg`, "/bundle/": bundle }, { "/empty.html": EMPTY });
    t.after(server.close);
    const { page, complaints, close } = await openPage(flags);
    t.after(close);
    await page.goto(new URL("empty.html", server.address).href);

    const asked = rows.map(({ text, spans = [] }) => ({
      text,
      spans: spans.map(([start, end]) => ({ start: units(text, start), end: units(text, end) })),
    }));
    const { linked, decided, again } = await page.evaluate(linkAll, [device, asked]);
    for (const [at, { text, links: expected, spans = [] }] of rows.entries()) {
      const { links, parts, device: on } = linked[at];
      assert.equal(on, device);
      assert.equal(parts, links.length, "every link has come in a part too");
      const decisions = links.map(({ start, end, concept }) => [bytes(text, start), bytes(text, end), concept?.id ?? null]);
      assert.deepEqual(decisions, expected, text);
      const found = await linkNatively(folder, bundle, text, spans, native);
      for (const [number, { candidates }] of found.entries()) {
        const scores = (candidates) => candidates.map(({ id, score }) => [id, score]).sort();
        for (const [which, [id, score]] of scores(candidates).entries()) {
          const [here, value] = scores(links[number].candidates)[which];
          assert.equal(here, id, text);
          assert.ok(Math.abs(value - score) < 1e-4, `${text}: ${id} ${value} and ${score}`);
        }
      }
    }
    // The last text, decided with an unreachable threshold, and with the bundle's again.
    assert.deepEqual(new Set(decided.map((link) => link.decision)), new Set(["nil"]));
    assert.deepEqual(again, linked.at(-1).links);

    // Nothing is a mention of which no letter is left, or that is longer than its window; WebGPU without a graphics card is slow.
    const whole = golden.rows.filter(({ text, ids }) => /\p{L}/u.test(text) && ids.length <= WINDOW);
    const known = whole.slice(0, device === "webgpu" ? 4 : undefined);
    const vectors = await page.evaluate(embedAll, [device === "webgpu", known.map((row) => row.text)]);
    for (const [at, row] of known.entries()) {
      for (const [place, value] of row.normalized.values.entries()) {
        assert.ok(Math.abs(vectors[at][place] - value) < 1e-4, `${row.text}: ${vectors[at][place]} and ${value}`);
      }
    }
    assert.deepEqual(complaints.filter((said) => !/Vulkan|WebGPU|powerPreference/.test(said)), []);
  });
}
