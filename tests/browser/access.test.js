// Accessibility: axe finds no problem, in light and dark colours, with details open and closed; a mention can be reached,
// read and changed by keyboard.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { test } from "node:test";
import { mentions, openMention, openReady, pelServe, write } from "./serving.js";
import { tinyBundle } from "./bundles.js";

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

async function findings(page) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document));
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
}

for (const [colorScheme, viewport] of [
  ["light", { width: 1280, height: 900 }],
  ["dark", { width: 1280, height: 900 }],
  ["light", { width: 360, height: 740 }],
]) {
  test(`axe finds no problem: ${colorScheme}, ${viewport.width} wide`, { timeout: 120_000 }, async (t) => {
    const { bundle } = await tinyBundle(t);
    const { address } = await pelServe(t, bundle);
    const { page } = await openReady(t, address, { options: { colorScheme, viewport } });
    await write(page, "No fever, no chest pain. Her sore toe and diabetes.");
    assert.deepEqual(await findings(page), []);
    await page.locator("#tab-summary").click();
    assert.deepEqual(await findings(page), []);
    await openMention(page, 0);
    await page.keyboard.press("c");
    for (const menu of ["#filters-menu", "#threshold-menu", "#concepts", "#all-notes", "#export", "#privacy"]) {
      await page.locator(`${menu} > summary`).click();
      assert.deepEqual(await findings(page), [], menu);
      await page.locator(`${menu} > summary`).click();
    }
    // Nothing is wider than the screen.
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.equal(wide, 0);
  });
}

test("a mention can be reached and changed by keyboard", { timeout: 120_000 }, async (t) => {
  const { bundle } = await tinyBundle(t);
  const { address } = await pelServe(t, bundle);
  const { page } = await openReady(t, address);
  await write(page, "No fever, no cough.");
  await page.locator("#note-text").focus();
  let steps = 0;
  const inRows = () => page.evaluate(() => Boolean(document.activeElement?.closest("#mention-rows")));
  while (!(await inRows()) && steps < 40) {
    await page.keyboard.press("Tab");
    steps += 1;
  }
  assert.ok(await inRows(), "Tab leads to the list of mentions");
  await page.keyboard.press("Enter");
  await page.locator("#details").waitFor();
  const nil = page.locator("#review-actions .nil");
  await nil.focus();
  await page.keyboard.press("Enter");
  assert.equal((await mentions(page))[0][2] === "D1", false);
  await page.keyboard.press("Escape");
  assert.equal(await page.locator("#details").isVisible(), false);
});
