// The package in a page without a bundler: examples/npm/page.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { tinyBundle } from "../browser/bundles.js";
import { project } from "./project.js";
import { inChromium, items, site, STRICT } from "./site.js";

const LINKED = ["fever: D1, negated", "chest pain: D2, negated", "diabetes: D3"];

/** A policy that also allows the import map of a page, by its hash. */
async function withImportMap(at) {
  const [, map] = (await readFile(join(at, "index.html"), "utf8")).match(/<script type="importmap">(.*?)<\/script>/s);
  return STRICT.replace("script-src 'self'", `script-src 'self' 'sha256-${createHash("sha256").update(map).digest("base64")}'`);
}

async function links(page) {
  assert.deepEqual(await items(page, "ol"), LINKED);
  await page.fill("textarea", "Cough.");
  await page.waitForFunction(() => document.querySelector("ol").textContent.startsWith("Cough"));
}

test("a page with an import map links", { timeout: 120_000 }, async (t) => {
  const { bundle } = await tinyBundle(t);
  const at = await project(t, "../../examples/npm/page");
  await inChromium(t, await site(t, at, bundle, { csp: await withImportMap(at) }), links);
});

test("so does one that is isolated from other origins", { timeout: 120_000 }, async (t) => {
  const { bundle } = await tinyBundle(t);
  const at = await project(t, "../../examples/npm/page");
  const headers = { "cross-origin-opener-policy": "same-origin", "cross-origin-embedder-policy": "require-corp" };
  await inChromium(t, await site(t, at, bundle, { csp: await withImportMap(at), headers }), async (page) => {
    assert.equal(await page.evaluate(() => crossOriginIsolated), true);
    await links(page);
  });
});
