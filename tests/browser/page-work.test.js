// The reader's work: it follows edits, and is not lost without a word.

import assert from "node:assert/strict";
import { test } from "node:test";
import { linkedAfter, mentions, openMention, openReady, pelServe, write } from "./serving.js";
import { tinyBundle } from "./bundles.js";

async function served(t, options) {
  const { bundle } = await tinyBundle(t);
  const { address } = await pelServe(t, bundle);
  return openReady(t, address, options);
}

const ids = async (page) => (await mentions(page)).map(([text, , id]) => [text, id]);

/** Sets the mention of a row to NIL. */
async function setToNil(page, at) {
  await openMention(page, at);
  await page.locator("#review-actions .nil").click();
  await page.locator("#details-close").click();
}

/** Replaces a part of the note with the keyboard. */
async function retype(page, words, keys) {
  await page.locator("#note-text").evaluate((area, words) => {
    area.focus();
    const start = area.value.indexOf(words);
    area.setSelectionRange(start, start + words.length);
  }, words);
  await linkedAfter(page, async () => {
    for (const key of keys) await page.keyboard.press(key);
  });
}

/** Whether the browser asks before the page is left; the page stays. */
const asksToLeave = (page) => page.evaluate(() => !dispatchEvent(new Event("beforeunload", { cancelable: true })));

test("a correction stays while its words are changed", { timeout: 120_000 }, async (t) => {
  const { page, complaints } = await served(t);
  await write(page, "No fever, no chest pain.");
  await setToNil(page, 1);
  await retype(page, "pain", ["ArrowRight", "Backspace", "m"]);
  assert.deepEqual(await ids(page), [["fever", "D1"], ["chest paim", ""]]);
  assert.match(await page.locator("#mention-rows tr").nth(1).textContent(), /set by you/);
  assert.equal(await page.locator("#lost").isVisible(), false);
  assert.deepEqual(complaints, []);
});

test("a correction that goes with its words is told, and comes back", { timeout: 120_000 }, async (t) => {
  const { page, complaints } = await served(t);
  await write(page, "No fever, no chest pain.");
  await setToNil(page, 1);
  for (const back of ["Undo", "Control+z"]) {
    await retype(page, "chest pain", ["Delete"]);
    assert.deepEqual(await ids(page), [["fever", "D1"]]);
    assert.match(await page.locator("#lost").textContent(), /^1 of your changes went with the text\./);
    await linkedAfter(page, async () => {
      if (back === "Undo") return page.locator("#lost").getByRole("button", { name: "Undo" }).click();
      return page.locator("#note-text").press(back);
    });
    assert.equal(await page.locator("#note-text").inputValue(), "No fever, no chest pain.");
    assert.deepEqual(await ids(page), [["fever", "D1"], ["chest pain", ""]]);
    assert.equal(await page.locator("#lost").isVisible(), false);
  }
  assert.deepEqual(complaints, []);
});

test("leaving the page asks where the reader's work would be lost", { timeout: 120_000 }, async (t) => {
  const { page } = await served(t);
  // The example.
  assert.equal(await asksToLeave(page), false);
  await write(page, "No fever.");
  assert.equal(await asksToLeave(page), true);
  // A table has not the text; a file of JSON has all.
  await page.locator("#export summary").click();
  for (const [name, asks] of [["Download CSV", true], ["Download JSON", false]]) {
    const saved = page.waitForEvent("download");
    await page.getByRole("button", { name, exact: true }).click();
    await saved;
    await page.locator("#export-status").filter({ hasText: "saved" }).waitFor();
    assert.equal(await asksToLeave(page), asks, name);
  }
  await page.keyboard.press("Escape");
  await setToNil(page, 0);
  assert.equal(await asksToLeave(page), true);
  await openMention(page, 0);
  await page.getByRole("button", { name: "Undo my review" }).click();
  assert.equal(await asksToLeave(page), false);
  // A file that was opened and not changed is on the reader's disk.
  await page.locator("#note-files").setInputFiles({ name: "own.txt", mimeType: "text/plain", buffer: Buffer.from("A cough.") });
  assert.equal(await asksToLeave(page), false);
  await page.locator("#concepts > summary").click();
  await page.getByLabel("Name", { exact: true }).fill("sore toe");
  assert.equal(await asksToLeave(page), true);
});

test("a reload is stopped by the browser's question", { timeout: 120_000 }, async (t) => {
  const { page } = await served(t);
  await page.locator("#note-text").click();
  await linkedAfter(page, () => page.keyboard.type("Cough. "));
  const before = await page.locator("#note-text").inputValue();
  const asked = new Promise((resolve) => page.once("dialog", async (dialog) => {
    await dialog.dismiss();
    resolve(dialog.type());
  }));
  page.evaluate(() => location.reload()).catch(() => {});
  assert.equal(await asked, "beforeunload");
  assert.equal(await page.locator("#note-text").inputValue(), before);
});

test("closing a note with work asks first, and can be undone", { timeout: 120_000 }, async (t) => {
  const { page, complaints } = await served(t);
  const names = () => page.locator("#note-list .note").evaluateAll((all) => all.map((one) => one.firstChild.textContent));
  const question = page.locator("#question");
  await page.getByRole("button", { name: "New", exact: true }).click();
  await write(page, "No fever.");
  await setToNil(page, 0);
  const close = page.getByRole("button", { name: "Close Note 1" });
  await close.click();
  await question.getByRole("button", { name: "Cancel" }).click();
  assert.deepEqual(await names(), ["Discharge note", "Note 1"]);
  await close.click();
  await question.getByRole("button", { name: "Close" }).click();
  await page.locator("#closed").waitFor();
  assert.deepEqual(await names(), ["Discharge note"]);
  // An example closes without a question.
  await page.getByRole("button", { name: "Close Discharge note" }).click();
  await page.locator("#closed").filter({ hasText: "Discharge note" }).waitFor();
  assert.equal(await question.isVisible(), false);
  const undo = page.locator("#closed").getByRole("button", { name: "Undo" });
  await undo.click();
  await undo.click();
  assert.deepEqual(await names(), ["Discharge note", "Note 1"]);
  assert.equal(await page.locator("#note-text").inputValue(), "No fever.");
  assert.deepEqual(await ids(page), [["fever", ""]]);
  assert.equal(await page.locator("#closed").isVisible(), false);
  assert.deepEqual(complaints, []);
});
