// Diagnostics for developers: the time of each step, and messages of panics.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { EMPTY, openPage, serve } from "./browser.js";
import { built, tinyBundle } from "./bundles.js";

/** Forwards the performance measures of the worker to the page. */
const OBSERVED = `
new PerformanceObserver((list) => {
  for (const { name, duration } of list.getEntries()) postMessage({ measure: { name, duration } });
}).observe({ type: "measure" });
`;

test("each step of linking is a performance measure", { timeout: 120_000 }, async (t) => {
  const { bundle } = await tinyBundle(t);
  const worker = await readFile(`${built().page}/pkg/worker.js`, "utf8");
  const folders = { "/pkg/": `${built().page}/pkg`, "/bundle/": bundle };
  const server = await serve(folders, { "/empty.html": EMPTY }, { "/pkg/worker.js": OBSERVED + worker });
  t.after(server.close);
  const { page, complaints, close } = await openPage();
  t.after(close);
  await page.goto(new URL("empty.html", server.address).href);
  const { ms, measures } = await page.evaluate(async () => {
    const measures = [];
    const Original = Worker;
    globalThis.Worker = class extends Original {
      constructor(...args) {
        super(...args);
        this.addEventListener("message", ({ data }) => data.measure && measures.push(data.measure));
      }
    };
    const { Pel } = await import("/pkg/pel.js");
    const pel = await Pel.load("/bundle/", { device: "wasm", cache: false });
    const { ms } = await pel.link("No fever, no chest pain.");
    // Observers get measures later than answers.
    while (!["detect", "encode", "search"].every((step) => measures.some(({ name }) => name === `pel: ${step}`))) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    pel.free();
    return { ms, measures };
  });
  for (const step of ["detect", "encode", "search"]) {
    const durations = measures.filter(({ name }) => name === `pel: ${step}`).map(({ duration }) => duration);
    const sum = durations.reduce((sum, duration) => sum + duration, 0);
    assert.ok(ms[step] >= 0 && Math.abs(sum - ms[step]) < 2, `${step}: ${durations} of ${ms[step]} ms`);
  }
  assert.ok(ms.encode > 0, `${ms.encode} ms`);
  assert.deepEqual(complaints, []);
});

test("a panic is printed on the console", { timeout: 60_000 }, async (t) => {
  const server = await serve(
    { "/pkg/": process.env.PEL_WASM_PACKAGE, "/tiny/": new URL("../../shared/tests/fixtures/tiny", import.meta.url).pathname },
    { "/empty.html": EMPTY },
  );
  t.after(server.close);
  const { page, complaints, close } = await openPage();
  t.after(close);
  await page.goto(new URL("empty.html", server.address).href);
  const trap = await page.evaluate(async () => {
    const pkg = await import("/pkg/pel_web.js");
    await pkg.default();
    const [config, weights] = await Promise.all(
      ["config.json", "model.safetensors"].map(async (name) => new Uint8Array(await (await fetch(`/tiny/${name}`)).arrayBuffer())),
    );
    const encoder = new pkg.BenchEncoder(config, weights);
    try {
      encoder.encode(Int32Array.of(1), 1, 0);
      return "nothing";
    } catch (error) {
      return error.constructor.name;
    }
  });
  assert.equal(trap, "RuntimeError");
  assert.equal(complaints.length, 1, `${complaints}`);
  assert.match(complaints[0], /^error: panicked at .*parts\.rs:\d+.*\n.*chunk/);
});
