// A lost GPU: the handle continues in WebAssembly with the added concepts, and reports the change.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { EMPTY, openPage, serve, WEBGPU } from "./browser.js";
import { built, tinyBundle } from "./bundles.js";

/** Exposes the worker's GPU device to the test. */
const REACHABLE = `
const request = GPUAdapter.prototype.requestDevice;
GPUAdapter.prototype.requestDevice = async function (...args) {
  const device = await request.apply(this, args);
  addEventListener("message", ({ data }) => data.destroy && device.destroy());
  return device;
};
`;

test("WebAssembly replaces a lost GPU", { timeout: 300_000 }, async (t) => {
  const { bundle } = await tinyBundle(t);
  const worker = await readFile(`${built().page}/pkg/worker.js`, "utf8");
  const folders = { "/pkg/": `${built().page}/pkg`, "/bundle/": bundle };
  const server = await serve(folders, { "/empty.html": EMPTY }, { "/pkg/worker.js": REACHABLE + worker });
  t.after(server.close);
  const { page, close } = await openPage(WEBGPU);
  t.after(close);
  await page.goto(new URL("empty.html", server.address).href);
  const seen = await page.evaluate(async () => {
    // The page's workers, so that the test can destroy a device.
    const workers = [];
    const Original = Worker;
    globalThis.Worker = class extends Original {
      constructor(...args) {
        super(...args);
        workers.push(this);
      }
    };
    const { Pel } = await import("/pkg/pel.js");
    const changes = [];
    const pel = await Pel.load("/bundle/", { device: "webgpu", cache: false, onDevice: (change) => changes.push(change) });
    const before = await pel.link("fever and a sore toe");
    await pel.addConcepts([{ id: "X1", name: "sore toe" }], { list: "own" });
    const own = await pel.link("fever and a sore toe");
    const lost = pel.link("cough, sore toe, fever, chest pain. ".repeat(50));
    workers[0].postMessage({ destroy: true });
    const during = await lost;
    const after = await pel.link("fever and a sore toe");
    // The list is known under its name on the next device too.
    const again = await pel.addConcepts([{ id: "X1", name: "sore toe" }, { id: "X2", name: "cuboid" }], { list: "own" });
    // The next device is lost too: the last text is decided again.
    workers[1].dispatchEvent(new ErrorEvent("error", { message: "gone" }));
    const all = await pel.decide({ threshold: -Infinity });
    const none = await pel.decide({ threshold: Infinity });
    const odd = await pel.decide({ threshold: NaN }).catch((error) => error.code);
    const written = await pel.write("json", { name: "a", text: "\ud83d fever", links: [] });
    const stopped = new AbortController();
    const ending = pel.link("fever ".repeat(500), { signal: stopped.signal }).catch((error) => error.code);
    stopped.abort();
    const ended = await ending;
    const decided = [all, none].map((links) => links.map((link) => Boolean(link.concept)));
    const device = pel.device();
    pel.free();
    const late = await pel.link("fever").catch((error) => error.code);
    const ids = ({ links }) => links.map((link) => link.concept?.id ?? null);
    return { devices: [before.device, after.device, device], ids: [before, own, after].map(ids), during: during.links.length, changes, late,
      decided, odd, written: JSON.parse(written).text, ended, again: [again.added, again.unchanged, again.texts_encoded] };
  });
  assert.deepEqual(seen.devices, ["webgpu", "wasm", "wasm"]);
  assert.deepEqual(seen.ids, [["D1"], ["D1", "X1"], ["D1", "X1"]]);
  assert.equal(seen.during, 200);
  assert.deepEqual(seen.again, [1, 1, 1]);
  assert.equal(seen.changes.length, 1);
  assert.equal(seen.changes[0].device, "wasm");
  assert.match(seen.changes[0].why, /GPU was lost/);
  assert.equal(seen.late, "freed");
  assert.deepEqual(seen.decided, [[true, true], [false, false]]);
  assert.deepEqual([seen.odd, seen.written], ["input", "\ufffd fever"]);
  assert.equal(seen.ended, "cancelled");
});
