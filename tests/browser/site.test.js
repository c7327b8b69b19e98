// The service worker beside other sites: those that come after the page at its address, and those that lie below it.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { EMPTY, serve } from "./browser.js";
import { openReady, ready } from "./serving.js";
import { built, tinyBundle } from "./tiny.js";

test("a neighbour is left alone, and a site that has gone is let go", { timeout: 120_000 }, async (t) => {
  const { bundle } = await tinyBundle(t);
  const index = await readFile(`${built().page}/index.html`, "utf8");
  const second = { "/second/bundle/": bundle, "/second/": built().page };
  const folders = { ...second, "/bundle/": bundle, "/": built().page };
  const pages = { "/": index, "/second/": index, "/blog/": EMPTY };
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

  const beside = await page.context().newPage();
  await beside.goto(`${site.address}/second/`);
  await ready(beside);
  const kept = () => beside.evaluate(async () => (await caches.keys()).filter((name) => name.startsWith("pel-site")).length);
  await beside.waitForFunction(() => navigator.serviceWorker.controller?.scriptURL.endsWith("/second/sw.js"));
  assert.equal(await kept(), 4);

  for (const prefix of Object.keys(folders)) if (!(prefix in second)) delete folders[prefix];
  pages["/"] = "<!doctype html><h1>Another site</h1>";
  await page.goto(`${site.address}/`);
  await page.locator("h1", { hasText: "Another site" }).waitFor();
  const scopes = await page.evaluate(async () => (await navigator.serviceWorker.getRegistrations()).map(({ scope }) => scope));
  assert.deepEqual(scopes, [`${site.address}/second/`]);
  assert.equal(await kept(), 2);
});
