// The service worker beside other sites: those that come after the page at its address, and those that lie below it.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { EMPTY, serve } from "./browser.js";
import { openReady } from "./serving.js";
import { built, tinyBundle } from "./tiny.js";

test("a neighbour is left alone, and a site that has gone is let go", { timeout: 120_000 }, async (t) => {
  const { bundle } = await tinyBundle(t);
  const folders = { "/bundle/": bundle, "/": built().page };
  const pages = { "/": await readFile(`${built().page}/index.html`, "utf8"), "/blog/": EMPTY };
  const site = await serve(folders, pages);
  t.after(site.close);
  const elsewhere = await serve({}, { "/": EMPTY });
  t.after(elsewhere.close);
  const { page } = await openReady(t, `${site.address}/`);
  await page.waitForFunction(async () => navigator.serviceWorker.controller && (await caches.keys()).some((name) => name.startsWith("pel-site-state")));

  const neighbour = await page.context().newPage();
  await neighbour.goto(`${site.address}/blog/`);
  const asked = await neighbour.evaluate(async (address) => {
    const { type } = await fetch(address, { mode: "no-cors" });
    return { type, controlled: Boolean(navigator.serviceWorker.controller) };
  }, `${elsewhere.address}/`);
  assert.deepEqual(asked, { type: "opaque", controlled: true });
  await neighbour.close();

  for (const prefix of Object.keys(folders)) delete folders[prefix];
  pages["/"] = "<!doctype html><h1>Another site</h1>";
  await page.goto(`${site.address}/`);
  await page.locator("h1", { hasText: "Another site" }).waitFor();
  const left = await page.evaluate(async () => [...(await navigator.serviceWorker.getRegistrations()), ...(await caches.keys())]);
  assert.deepEqual(left, ["pel-bundles"]);
});
