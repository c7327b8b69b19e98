// Failures while the page loads: each shows a message with its cause and what to do.

import assert from "node:assert/strict";
import { cp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { EMPTY, openPage, serve } from "./browser.js";
import { mentions, openReady, pelServe, ready, write } from "./serving.js";
import { built, damaged, packed, tinyBundle } from "./bundles.js";

/** Opens the page with a bundle and returns the message that it shows. */
async function problem(t, bundle, before = async () => {}) {
  const server = await serve({ "/bundle/": bundle, "/": built().page }, {});
  t.after(server.close);
  const { page, close } = await openPage();
  t.after(close);
  await before(page);
  await page.goto(new URL("index.html", server.address).href);
  await page.locator("#problem-words").filter({ hasText: /\w/ }).waitFor({ timeout: 60_000 });
  return { page, said: await page.locator("#problem-words").textContent() };
}

test("a damaged bundle is refused with the name of the damaged file", { timeout: 300_000 }, async (t) => {
  const { bundle } = await tinyBundle(t);
  const manifest = (change) => (bytes) => {
    const json = JSON.parse(bytes);
    change(json);
    return JSON.stringify(json);
  };
  const flipped = (bytes) => {
    bytes[bytes.length >> 1] ^= 1;
    return bytes;
  };
  for (const [name, change, expected] of [
    ["index.bin", (bytes) => bytes.subarray(0, -9), /index\.bin.* cut or extended/],
    ["model.safetensors", flipped, /model\.safetensors.* altered/],
    ["manifest.json", manifest((json) => (json.format = 99)), /older than the bundle.*format version 99/],
    ["manifest.json", manifest((json) => (json.index.dim = 7)), /manifest\.json has been altered/],
    ["manifest.json", (bytes) => bytes.subarray(0, 40), /manifest/],
    ["manifest.json", () => "[]", /manifest/],
  ]) {
    const { said } = await problem(t, await damaged(t, bundle, name, change));
    assert.match(said, expected);
  }
});

test("a missing bundle, WebAssembly, SIMD or WebGPU is an error with a message", { timeout: 180_000 }, async (t) => {
  const { bundle } = await tinyBundle(t);
  assert.match((await problem(t, `${bundle}-missing`)).said, /manifest\.json.*404/);
  const without = (what) => (page) => page.addInitScript(what);
  assert.match((await problem(t, bundle, without("delete globalThis.WebAssembly"))).said, /WebAssembly/);
  assert.match((await problem(t, bundle, without("WebAssembly.validate = () => false"))).said, /SIMD/);
  const { said, page } = await problem(t, bundle, (page) =>
    page.addInitScript(() => sessionStorage.setItem("pel-device", "webgpu")),
  );
  assert.match(said, /WebGPU/);
  // Another device works.
  await page.locator("#device").selectOption("wasm");
  await ready(page);
});

test("closing the tab during loading leaves no partial bundle", { timeout: 120_000 }, async (t) => {
  const { bundle } = await tinyBundle(t);
  const { address } = await pelServe(t, bundle);
  const first = await openPage();
  t.after(first.close);
  const context = first.page.context();
  for (const wait of [30, 150, 400]) {
    const page = await context.newPage();
    await page.goto(address, { waitUntil: "commit" });
    await page.waitForTimeout(wait);
    await page.close();
  }
  const page = await context.newPage();
  await page.goto(address);
  await ready(page);
  await openReady(t, address);
});

test("a bundle damaged in the browser's store is fetched again", { timeout: 120_000 }, async (t) => {
  const { bundle } = await tinyBundle(t);
  const { address } = await pelServe(t, bundle);
  const { page } = await openReady(t, address);
  const stored = await page.evaluate(async () => {
    const store = await caches.open("pel-bundles");
    const keys = await store.keys();
    for (const key of keys.filter(({ url }) => url.includes("index.bin"))) await store.put(key, new Response("damaged"));
    return keys.map(({ url }) => new URL(url).pathname).sort();
  });
  assert.ok(stored.includes("/bundle/index.bin") && stored.includes("/bundle/manifest.json"), `${stored}`);
  await page.reload();
  await ready(page);
  await write(page, "No fever.");
  assert.deepEqual((await mentions(page)).map(([, , id]) => id), ["D1"]);
  const healed = await page.evaluate(async () => {
    const store = await caches.open("pel-bundles");
    const [key] = (await store.keys()).filter(({ url }) => url.includes("index.bin"));
    return (await (await store.match(key)).blob()).size;
  });
  assert.ok(healed > 100, `${healed} bytes`);
});

test("a single-file bundle is fetched again only if the server has another", { timeout: 120_000 }, async (t) => {
  const { folder, bundle } = await tinyBundle(t);
  const other = await damaged(t, bundle, "manifest.json", (bytes) => {
    const manifest = JSON.parse(bytes);
    manifest.nil.threshold /= 2;
    return JSON.stringify(manifest);
  });
  const file = join(folder, "served.pel");
  const server = await serve({ "/served/": folder, "/pkg/": join(built().page, "pkg") }, { "/": EMPTY });
  t.after(server.close);
  const { page, close } = await openPage();
  t.after(close);
  await page.goto(server.address);
  const load = () =>
    page.evaluate(async () => {
      const { Pel } = await import("/pkg/pel.js");
      let cached;
      const onProgress = (progress) => progress.phase === "bundle" && (cached = progress.cached);
      const pel = await Pel.load("/served/served.pel", { device: "wasm", onProgress });
      const { nil } = pel.manifest();
      pel.free();
      return { cached, threshold: nil.threshold };
    });
  await packed(bundle, file);
  const first = await load();
  assert.equal(first.cached, false);
  assert.deepEqual(await load(), { ...first, cached: true });
  await rm(file);
  assert.deepEqual(await load(), { ...first, cached: true });
  await packed(other, file, "--edited");
  const second = await load();
  assert.equal(second.cached, false);
  assert.notEqual(second.threshold, first.threshold);
  assert.deepEqual(await load(), { ...second, cached: true });
});

test("aborted loading reports the abort at any time", { timeout: 120_000 }, async (t) => {
  const { bundle } = await tinyBundle(t);
  const server = await serve({ "/bundle/": bundle, "/": built().page }, { "/empty.html": EMPTY });
  t.after(server.close);
  const { page, close } = await openPage();
  t.after(close);
  await page.goto(new URL("empty.html", server.address).href);
  const codes = await page.evaluate(async () => {
    const { Pel } = await import("/pkg/pel.js");
    const ended = async (phase) => {
      const controller = new AbortController();
      if (!phase) controller.abort();
      const onProgress = (progress) => progress.phase === phase && controller.abort();
      const loading = Pel.load("/bundle/", { device: "wasm", cache: false, signal: controller.signal, onProgress });
      return loading.then(() => "loaded", (error) => error.code);
    };
    // Also after some milliseconds, at any stage of loading.
    const after = (ms) => Pel.load("/bundle/", { device: "wasm", cache: false, signal: AbortSignal.timeout(ms) }).then(() => "loaded", (error) => error.code);
    const late = new Set();
    for (let ms = 0; ms < 60; ms += 3) late.add(await after(ms));
    late.delete("loaded");
    return [await ended(), await ended("program"), await ended("bundle"), await ended("start"), await ended("never"), ...late];
  });
  assert.deepEqual(codes, ["cancelled", "cancelled", "cancelled", "cancelled", "loaded", "cancelled"]);
});

test("a browser that cannot write blobs to its disk keeps the bundle in memory", { timeout: 120_000 }, async (t) => {
  const { bundle } = await tinyBundle(t);
  const server = await serve({ "/pkg/": `${built().page}/pkg`, "/bundle/": bundle }, { "/empty.html": EMPTY });
  t.after(server.close);
  const { page, close } = await openPage();
  t.after(close);
  await page.goto(new URL("empty.html", server.address).href);
  // Fetched, and out of the store.
  for (const cached of [false, true]) {
    const found = await page.evaluate(async () => {
      const blob = Response.prototype.blob;
      Response.prototype.blob = async function () {
        await this.arrayBuffer();
        throw new TypeError("Failed to fetch");
      };
      const { Pel } = await import("/pkg/pel.js");
      const stored = [];
      const pel = await Pel.load("/bundle/", { device: "wasm", onProgress: ({ phase, cached }) => phase === "bundle" && stored.push(cached) });
      const { links } = await pel.link("No fever.");
      pel.free();
      Response.prototype.blob = blob;
      return { ids: links.map(({ concept }) => concept?.id), stored: stored.at(-1) };
    });
    assert.deepEqual(found, { ids: ["D1"], stored: cached });
  }
});

test("the page loads where the browser's store has no room for it", { timeout: 120_000 }, async (t) => {
  const { bundle } = await tinyBundle(t);
  const { address } = await pelServe(t, bundle);
  for (const quotaSize of [5_000_000, 100_000]) {
    const before = async (page) => {
      const session = await page.context().newCDPSession(page);
      await session.send("Storage.overrideQuotaForOrigin", { origin: new URL(address).origin, quotaSize });
    };
    const { page, close } = await openReady(t, address, { before });
    await page.reload();
    await ready(page);
    await write(page, "No fever.");
    assert.deepEqual((await mentions(page)).map(([, , id]) => id), ["D1"], `${quotaSize} bytes`);
    assert.equal(await page.locator("#problem").isVisible(), false);
    await close();
  }
});

test("what still comes after an error shows no progress", { timeout: 120_000 }, async (t) => {
  const { bundle } = await tinyBundle(t);
  const server = await serve({ "/bundle/": bundle, "/": built().page }, {});
  t.after(server.close);
  const { page, close } = await openPage([], { serviceWorkers: "block" });
  t.after(close);
  const after = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  let ask;
  const asked = new Promise((resolve) => (ask = resolve));
  await page.route("**/bundle/index.bin", async (route) => {
    ask();
    await after(2000);
    await route.continue().catch(() => {});
  });
  await page.route("**/*.wasm", async (route) => {
    await asked;
    await route.fulfill({ status: 404 });
  });
  await page.goto(new URL("index.html", server.address).href);
  await page.locator("#problem-words").filter({ hasText: /404/ }).waitFor();
  await after(3000);
  assert.deepEqual([await page.locator("#problem").isVisible(), await page.locator("#loading").isVisible()], [true, false]);
});

test("a page that is older than its bundle says so, and gets the newer one", { timeout: 120_000 }, async (t) => {
  const { folder, bundle } = await tinyBundle(t);
  const site = join(folder, "site");
  await cp(built().page, site, { recursive: true });
  const server = await serve({ "/bundle/": bundle, "/": site }, {});
  t.after(server.close);
  const { page } = await openReady(t, `${server.address}/index.html`);
  await page.waitForFunction(() => navigator.serviceWorker.controller);
  const older = await page.title();
  const manifest = await readFile(join(bundle, "manifest.json"), "utf8");
  await writeFile(join(bundle, "manifest.json"), JSON.stringify({ ...JSON.parse(manifest), format: 99 }));
  // The operator publishes a page that reads it too, but the browser has stored the older one.
  const html = await readFile(join(site, "index.html"), "utf8");
  await writeFile(join(site, "index.html"), html.replace(/<title>[^<]*/, "<title>newer"));
  await page.reload();
  const problem = page.locator("#problem");
  await problem.filter({ hasText: /older than the bundle.*format version 99/ }).waitFor();
  assert.equal(await page.title(), older);
  await writeFile(join(bundle, "manifest.json"), manifest);
  await problem.getByRole("button", { name: "Reload" }).click();
  await page.waitForFunction(() => document.title === "newer");
  await ready(page);
});
