// The service worker when the site is replaced by a newer version or another site, and with other sites of the origin.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { EMPTY, serve } from "./browser.js";
import { openReady, ready } from "./serving.js";
import { built, tinyBundle } from "./bundles.js";

/** Changes the title and version of the site; `integrity` is the hash of the page in its list. */
async function release(site, title, integrity) {
  const html = (await readFile(join(site, "index.html"), "utf8")).replace(/<title>[^<]*/, `<title>${title}`);
  const list = JSON.parse(await readFile(join(site, "files.json"), "utf8"));
  list.files["index.html"] = integrity ?? `sha256-${createHash("sha256").update(html).digest("base64")}`;
  await writeFile(join(site, "index.html"), html);
  await writeFile(join(site, "files.json"), JSON.stringify({ ...list, version: title }));
}

test("a newer version is used only when complete and when no page of the older one is open", { timeout: 120_000 }, async (t) => {
  const { folder, bundle } = await tinyBundle(t);
  const here = join(folder, "site");
  await cp(built().page, here, { recursive: true });
  const site = await serve({ "/bundle/": bundle, "/": here }, {});
  t.after(site.close);
  const address = `${site.address}/index.html`;
  const { page } = await openReady(t, address);
  await page.waitForFunction(() => navigator.serviceWorker.controller);
  const older = await page.title();
  const waits = (version) =>
    page.waitForFunction(async (version) => {
      for (const name of await caches.keys()) {
        const next = name.startsWith("pel-site-state") && (await (await caches.open(name)).match("next-version"));
        if (next && (await next.text()) === version) return true;
      }
      return false;
    }, version);
  const opened = async (again) => {
    await again();
    await ready(page);
    return page.title();
  };

  const taken = async (version) => {
    // A closed page may still be listed for a moment.
    for (let tries = 0; tries < 10 && (await page.title()) !== version; tries += 1) await opened(() => page.reload());
    assert.equal(await page.title(), version);
  };

  await release(here, "second");
  assert.equal(await opened(() => page.reload()), older);
  await waits("second");
  const beside = await page.context().newPage();
  await beside.goto(address);
  assert.deepEqual([await beside.title(), await opened(() => page.reload())], [older, older]);
  await beside.close();
  await taken("second");

  // Truncated in transfer, or published only in part.
  await release(here, "third", `sha256-${createHash("sha256").update("another page").digest("base64")}`);
  assert.equal(await opened(() => page.reload()), "second");
  await page.waitForFunction(async () => !(await caches.keys()).some((name) => name.endsWith(" third")));
  assert.equal(await opened(() => page.reload()), "second");
  await release(here, "fourth");
  assert.equal(await opened(() => page.reload()), "second");
  await waits("fourth");
  await taken("fourth");
  assert.equal((await page.evaluate(() => caches.keys())).filter((name) => name.startsWith("pel-site ")).length, 1);
});

test("other sites of the origin are not affected, and a removed site is forgotten", { timeout: 120_000 }, async (t) => {
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
