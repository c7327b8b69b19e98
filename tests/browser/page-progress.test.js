// What takes long says how far it is, and does not block the rest.

import assert from "node:assert/strict";
import { test } from "node:test";
import { EMPTY, openPage, serve } from "./browser.js";
import { linkedAfter, mentions, openReady, pelServe, write } from "./serving.js";
import { built, tinyBundle } from "./bundles.js";

/** A table of concepts, each with a name of its own. */
const table = (count) => `id,name\n${Array.from({ length: count }, (_, at) => `OWN:${at},own term ${at} of ${at % 97}`).join("\n")}\n`;

async function served(t, options) {
  const { bundle } = await tinyBundle(t);
  const { address } = await pelServe(t, bundle);
  return openReady(t, address, options);
}

test("a long note that is being read is not said to have no mentions", { timeout: 180_000 }, async (t) => {
  const { page, complaints } = await served(t);
  await write(page, "");
  assert.equal(await page.locator("#no-mentions").textContent(), "No mentions to show.");
  const long = `${"Nothing of note today, and nothing since Monday morning.\n".repeat(4_000)}No fever.`;
  const said = await page.evaluate(async (text) => {
    const places = ["summary", "no-mentions"].map((id) => document.getElementById(id));
    const table = document.getElementById("mention-table");
    const linked = document.documentElement.dataset.linked;
    const said = new Set();
    const area = document.getElementById("note-text");
    area.value = text;
    area.dispatchEvent(new Event("input", { bubbles: true }));
    while (document.documentElement.dataset.linked === linked) {
      if (table.hidden) said.add(places.map((place) => place.textContent).join("|"));
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    return [...said];
  }, long);
  assert.ok(said.length > 0);
  for (const words of said) assert.match(words, /^\|The note is being read: /);
  assert.match(await page.locator("#summary").textContent(), /^\d+ mentions?, 1 linked/);
  assert.deepEqual(complaints, []);
});

test("texts are linked while concepts are added, and an addition can be cancelled", { timeout: 180_000 }, async (t) => {
  const { bundle } = await tinyBundle(t);
  const server = await serve({ "/pkg/": `${built().page}/pkg`, "/bundle/": bundle }, { "/empty.html": EMPTY });
  t.after(server.close);
  const { page, complaints, close } = await openPage();
  t.after(close);
  await page.goto(new URL("empty.html", server.address).href);
  for (const workers of [1, 2]) {
    const found = await page.evaluate(async ([workers, text]) => {
      const { Pel } = await import("/pkg/pel.js");
      const pel = await Pel.load("/bundle/", { device: "wasm", cache: false, workers });
      while (pel.workers() < workers) await pel.addedConcepts();
      const file = { name: "own.csv", format: "csv", text };
      const order = [];
      const steps = [];
      let linking;
      const onProgress = (progress) => {
        steps.push(progress);
        linking ??= pel.link("No fever.").then(({ links }) => {
          order.push("linked");
          return links.map(({ concept }) => concept?.id);
        });
      };
      const { added } = await pel.addConcepts(file, { onProgress });
      order.push("added");
      const ids = await linking;
      const { links } = await pel.link("own term 7 of 7");
      await pel.removeConcepts();
      const given = new AbortController();
      const code = await pel.addConcepts(file, { signal: given.signal, onProgress: () => given.abort() }).then(() => "added", (error) => error.code);
      // One that waits behind another, and one that comes after it.
      const later = new AbortController();
      const both = [
        pel.addConcepts([{ id: "A1", name: "sore toe" }]),
        pel.addConcepts([{ id: "A2", name: "big toe" }], { signal: later.signal }),
        pel.addConcepts([{ id: "A3", name: "cuboid" }]),
      ];
      later.abort();
      const ends = (await Promise.allSettled(both)).map(({ reason }) => reason?.code ?? "added");
      const kept = (await pel.addedConcepts()).map(({ id }) => id);
      pel.free();
      const sums = steps.every(({ done }, at) => done > (steps[at - 1]?.done ?? 0));
      return { added, order, ids, own: links.map(({ concept }) => concept?.id), code, ends, kept, sums, steps: steps.length, last: steps.at(-1) };
    }, [workers, table(800)]);
    const { steps, ...rest } = found;
    assert.ok(steps > 10, `${steps} steps`);
    assert.deepEqual(rest, {
      added: 800, order: ["linked", "added"], ids: ["D1"], own: ["OWN:7"], code: "cancelled", ends: ["added", "cancelled", "added"],
      kept: ["A1", "A3"], sums: true, last: { done: rest.last.total, total: rest.last.total },
    }, `${workers} workers`);
  }
  assert.deepEqual(complaints, []);
});

test("the page shows how far an addition is, and cancels it", { timeout: 180_000 }, async (t) => {
  const { page, complaints } = await served(t);
  await write(page, "fever, own term 5 of 5");
  const ids = async () => (await mentions(page)).map(([, , id]) => id);
  const report = page.locator("#concept-report");
  await page.evaluate(() => {
    const words = document.getElementById("concept-words");
    globalThis.said = [];
    new MutationObserver(() => {
      said.push(words.textContent);
      if (globalThis.cancels && /[1-9]\d* of /.test(words.textContent)) document.getElementById("concept-cancel").click();
    }).observe(words, { childList: true });
  });
  const file = (name) => ({ name, mimeType: "text/csv", buffer: Buffer.from(table(500)) });
  await page.evaluate(() => (globalThis.cancels = true));
  await page.locator("#concept-file").setInputFiles(file("first.csv"));
  await report.filter({ hasText: "first.csv was not added: it was cancelled" }).waitFor();
  assert.equal(await page.locator("#concept-progress").isVisible(), false);
  assert.equal(await page.locator("#concept-count").textContent(), "");
  await page.evaluate(() => (globalThis.cancels = false));
  await linkedAfter(page, () => page.locator("#concept-file").setInputFiles(file("second.csv")));
  assert.match(await report.textContent(), /second\.csv: 500 concepts added/);
  assert.deepEqual(await ids(), ["D1", "OWN:5"]);
  const said = await page.evaluate(() => globalThis.said);
  assert.ok(said.some((words) => /^Adding second\.csv: \d+ of [\d,]+ texts encoded$/.test(words)), `${said}`);
  assert.equal(await page.locator("#concept-progress").isVisible(), false);
  assert.deepEqual(complaints, []);
});
