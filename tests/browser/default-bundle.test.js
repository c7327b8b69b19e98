// The bundle that ships, in the page: what it finds, links and says of the context in raw notes equals what the program does, in
// WebAssembly and on WebGPU.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { EMPTY, openPage, serve, WEBGPU } from "./browser.js";
import { built, defaultBundle, linkNotesNatively } from "./bundles.js";

/** Sentences of the kinds that a note has. WebGPU without a graphics card is slow, so they are few. */
const TELEGRAPHIC = `72M w/ HFrEF, CAD s/p CABG 2015, DM2 on Ozempic, p/w DOE, LE edema. Denies CP.
FHx: mother with breast and ovarian cancer.
PMH: h/o DVT
A/P: possible PNA, start CTX. Return if fever or confusion.`;

/** In the page: links texts, all mentions found, once all workers are there. */
async function linkAll([device, workers, texts]) {
  const { Pel } = await import("/pkg/pel.js");
  const pel = await Pel.load("/bundle/", { device, workers, cache: false });
  while (pel.workers() < workers) await pel.addedConcepts();
  const linked = [];
  for (const text of texts) {
    const read = [];
    linked.push({ ...(await pel.link(text, { onRead: (progress) => read.push(progress) })), read });
  }
  pel.free();
  return linked;
}

/** What a reader sees of a link. */
function shown(link) {
  const { text, origin, group, negated, certainty, temporality, experiencer, section, laterality, severity, allergy, decision, read_as: readAs, concept } = link;
  const id = concept?.id ?? null;
  return { text, origin, group, negated, certainty, temporality, experiencer, section, laterality, severity, allergy, decision, readAs, id };
}

for (const [device, workers, flags, names] of [
  ["wasm", 1, [], ["note.txt", "emergency.txt"]],
  ["wasm", 3, [], ["note.txt", "emergency.txt"]],
  ["webgpu", 1, WEBGPU, []],
]) {
  test(`the default bundle on ${device}, workers: ${workers}`, { timeout: 600_000 }, async (t) => {
    const bundle = await defaultBundle(t);
    const server = await serve({ "/pkg/": `${built().page}/pkg`, "/bundle/": bundle }, { "/empty.html": EMPTY });
    t.after(server.close);
    const { page, close } = await openPage(flags);
    t.after(close);
    await page.goto(new URL("empty.html", server.address).href);
    const examples = names.map((name) => readFile(new URL(`../../examples/${name}`, import.meta.url), "utf8"));
    const texts = [TELEGRAPHIC, ...(await Promise.all(examples))];
    const linked = await page.evaluate(linkAll, [device, workers, texts]);
    const expected = await linkNotesNatively(t, bundle, texts);
    for (const [at, text] of texts.entries()) {
      assert.equal(linked[at].device, device);
      // The detector tells each part that it has read.
      const { read } = linked[at];
      assert.ok(read.length > 0 && read.every(({ done, total }, part) => done === part + 1 && total === read.length), JSON.stringify(read));
      assert.ok(linked[at].links.filter(({ decision }) => decision === "linked").length > 8, "most mentions are linked");
      assert.deepEqual(linked[at].links.map(shown), expected[at].map(shown), text);
      for (const [number, { probability }] of linked[at].links.entries()) {
        const near = Math.abs(probability - expected[at][number].probability);
        assert.ok(near < 0.1, `${linked[at].links[number].text}: ${probability} and ${expected[at][number].probability}`);
      }
    }
  });
}
