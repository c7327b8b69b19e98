// A reviewer at work in the page: keys and buttons, undo, exports that are opened again, notes that are kept, several notes, long lists, paper.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { linkedAfter, mentions, openMention, openReady, pelServe, ready, write } from "./serving.js";
import { tinyBundle } from "./bundles.js";

const NOTE = "No fever, no chest pain. Her cough and diabetes.";

async function served(t, options) {
  const { bundle } = await tinyBundle(t);
  const { address } = await pelServe(t, bundle);
  return { address, ...(await openReady(t, address, options)) };
}

const states = (page) => page.locator("#mention-rows .state .visually-hidden").allTextContents();
const ids = async (page) => (await mentions(page)).map(([text, , id]) => [text, id]);
const progress = (page) => page.locator("#review-words").textContent();
const textFile = (name, text) => ({ name, mimeType: "text/plain", buffer: Buffer.from(text) });

/** The content of the files that a button saves, by their names. */
async function saved(page, label, count) {
  const files = [];
  const all = new Promise((resolve) => {
    page.on("download", function each(file) {
      if (files.push(file) < count) return;
      page.off("download", each);
      resolve();
    });
  });
  await page.locator("#export > summary").click();
  await page.getByRole("button", { name: label, exact: true }).click();
  await all;
  await page.locator("#export > summary").click();
  return Object.fromEntries(await Promise.all(files.map(async (file) => [file.suggestedFilename(), await readFile(await file.path())])));
}

test("a note is reviewed by keys and by buttons, and everything is undone", { timeout: 120_000 }, async (t) => {
  const { page, complaints } = await served(t);
  await write(page, NOTE);
  assert.equal(await progress(page), "0 of 4 reviewed");
  await page.locator("#mention-rows button").first().focus();
  await page.keyboard.press("c");
  // The keyboard is on the next open mention.
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "chest pain");
  await page.keyboard.press("x");
  await page.keyboard.press("n");
  await page.keyboard.press("Delete");
  assert.deepEqual([await states(page), await progress(page)], [["confirmed", "changed", "open"], "3 of 4 reviewed"]);
  assert.deepEqual(await ids(page), [["fever", "D1"], ["chest pain", ""], ["diabetes", "D3"]]);
  await page.getByRole("button", { name: "Next open" }).click();
  await page.locator("#review-actions").getByRole("button", { name: "Confirm" }).click();
  assert.equal(await progress(page), "4 of 4 reviewed");
  assert.equal(await page.getByRole("button", { name: "Next open" }).isDisabled(), true);
  // Letters in a text field are no commands.
  await linkedAfter(page, () => page.locator("#note-text").press("End").then(() => page.keyboard.type(" c x")));
  assert.equal(await progress(page), "4 of 4 reviewed");
  // The text, and then each decision.
  await linkedAfter(page, () => page.keyboard.press("Control+z"));
  assert.equal(await page.locator("#note-text").inputValue(), NOTE);
  for (const left of [3, 2, 1, 0]) {
    await page.keyboard.press("Control+z");
    assert.equal(await progress(page), `${left} of 4 reviewed`);
  }
  for (const done of [1, 2, 3]) {
    await page.getByRole("button", { name: "Redo" }).click();
    assert.equal(await progress(page), `${done} of 4 reviewed`);
  }
  // A correction lives through edits of other words.
  await page.locator("#note-text").evaluate((area) => area.setSelectionRange(0, 0));
  await linkedAfter(page, () => page.locator("#note-text").press("A").then(() => page.keyboard.type("nd ")));
  await page.locator("#tab-mentions").click();
  assert.deepEqual(await states(page), ["confirmed", "changed", "open"]);
  assert.deepEqual(complaints, []);
});

test("candidates are chosen by number, and a filter shows what is open", { timeout: 120_000 }, async (t) => {
  const { page, complaints } = await served(t);
  await write(page, NOTE);
  await openMention(page, 0);
  await page.locator("#details-heading").focus();
  const second = await page.locator("#details-body .candidate .name").nth(1).textContent();
  await page.keyboard.press("2");
  assert.match(await page.locator("#decision").textContent(), new RegExp(`Linked to ${second}.*Changed by you.*Before: fever`));
  await page.keyboard.press("j");
  assert.equal(await page.locator("#details-heading").textContent(), "chest pain");
  await page.keyboard.press("Escape");
  await page.locator("#filters-menu > summary").click();
  await page.getByLabel("Review", { exact: true }).selectOption("open");
  await page.keyboard.press("Escape");
  assert.deepEqual((await ids(page)).map(([text]) => text), ["chest pain", "cough", "diabetes"]);
  assert.equal(await page.locator("#shown").textContent(), "3 of 4 mentions shown");
  await page.getByLabel("Order").selectOption("doubt");
  assert.equal((await ids(page)).length, 3);
  assert.deepEqual(complaints, []);
});

test("an export is opened again with its decisions, and says if its text is another", { timeout: 120_000 }, async (t) => {
  const { page, address, complaints } = await served(t);
  await page.locator("#note-files").setInputFiles(textFile("one.txt", `😷 ${NOTE}`));
  await page.waitForFunction(() => document.querySelectorAll("#mention-rows tr").length === 4);
  await page.locator("#mention-rows button").first().focus();
  await page.keyboard.press("c");
  await page.keyboard.press("x");
  await page.keyboard.press("n");
  await page.keyboard.press("Delete");
  const before = [await states(page), await ids(page), await progress(page)];
  const json = await saved(page, "Download JSON", 1);
  const brat = await saved(page, "Download BRAT", 2);
  assert.deepEqual([Object.keys(json), Object.keys(brat).sort()], [["one.json"], ["one.ann", "one.txt"]]);
  for (const files of [json, brat]) {
    const again = await openReady(t, address);
    const given = Object.entries(files).map(([name, buffer]) => ({ name, mimeType: "text/plain", buffer }));
    await again.page.locator("#note-files").setInputFiles(given);
    await again.page.waitForFunction(() => document.querySelectorAll("#mention-rows tr").length === 3);
    assert.deepEqual([await states(again.page), await ids(again.page), await progress(again.page)], before);
    assert.equal(await again.page.locator("#problem").isVisible(), false);
    await again.close();
  }
  await write(page, `😷 ${NOTE} More.`);
  await page.locator("#note-files").setInputFiles({ name: "one.json", mimeType: "application/json", buffer: json["one.json"] });
  await page.locator("#problem").waitFor();
  assert.match(await page.locator("#problem-words").textContent(), /text in one\.json is another than that of the open note “one\.txt”/);
  assert.deepEqual(complaints, []);
});

test("several notes have counts and states, and one archive", { timeout: 120_000 }, async (t) => {
  const { page, complaints } = await served(t);
  await page.locator("#note-files").setInputFiles([textFile("a.txt", "Fever."), textFile("b.txt", "Cough and fever."), textFile("c.txt", "Diabetes.")]);
  // Notes that are not shown are linked too.
  const rows = page.locator("#note-rows .note");
  await rows.filter({ hasText: "c.txt" }).filter({ hasText: "0 of 1 reviewed" }).waitFor({ state: "attached" });
  // The threshold holds for the note that is shown, whichever was linked last.
  await linkedAfter(page, () => page.locator("#threshold").evaluate((slider) => {
    slider.value = slider.min;
    slider.dispatchEvent(new Event("input", { bubbles: true }));
  }));
  assert.match(await page.locator("#summary").textContent(), /^1 mention, 1 linked/);
  await page.locator("#mention-rows button").first().focus();
  await page.keyboard.press("c");
  await page.locator("#all-notes > summary").click();
  assert.match(await rows.filter({ hasText: "a.txt" }).textContent(), /✓ done/);
  assert.match(await page.locator("#note-sums").textContent(), /^\d notes, 1 done: 1 of \d+ reviewed\.$/);
  await page.getByRole("button", { name: "Next unreviewed note" }).click();
  await page.waitForFunction(() => document.querySelector("#note-text").value === "Cough and fever.");
  await page.locator("#export > summary").click();
  await page.getByLabel("All notes, in one ZIP").check();
  await page.locator("#export > summary").click();
  const files = await saved(page, "Download CSV", 1);
  const bytes = files["notes-csv.zip"];
  for (const name of ["a.csv", "b.csv", "c.csv"]) assert.ok(bytes.includes(name), name);
  assert.deepEqual(complaints, []);
});

test("50 notes and 200 decisions survive a reload, an edit, undo, and an export that is opened again", { timeout: 240_000 }, async (t) => {
  const { page, address, complaints } = await served(t);
  await page.locator("#privacy > summary").click();
  await page.getByLabel("Keep on this device").check();
  await page.locator("#privacy > summary").click();
  const texts = Array.from({ length: 50 }, (_, at) => `Note ${at}. ${NOTE}`);
  await page.locator("#note-files").setInputFiles(texts.map((text, at) => textFile(`n${String(at).padStart(2, "0")}.txt`, text)));
  await page.getByRole("button", { name: "Close Discharge note" }).click();
  const sums = (page, words) => page.waitForFunction((words) => document.querySelector("#note-sums").textContent === words, words, { timeout: 60_000 });
  await sums(page, "50 notes, 0 done: 0 of 200 reviewed.");
  for (let at = 0; at < 50; at += 1) {
    await page.locator("#note-list .note").nth(at).click();
    await page.locator("#mention-rows button").first().focus();
    for (const key of ["c", "x", "n", "Delete", "c"]) await page.keyboard.press(key);
  }
  const done = "50 notes, 50 done: 200 of 200 reviewed.";
  await sums(page, done);
  await page.waitForTimeout(900);
  await page.reload();
  await ready(page);
  await sums(page, done);
  // The last note is edited, and everything is undone and done again.
  await page.locator("#note-list .note").last().click();
  await page.locator("#note-text").evaluate((area) => area.setSelectionRange(0, 0));
  await linkedAfter(page, () => page.locator("#note-text").press("A"));
  await linkedAfter(page, () => page.keyboard.press("Control+z"));
  await page.locator("#tab-mentions").click();
  const last = [await states(page), await ids(page)];
  await page.locator("#export > summary").click();
  await page.getByLabel("All notes, in one ZIP").check();
  await page.locator("#export > summary").click();
  const [[name, buffer]] = Object.entries(await saved(page, "Download JSON", 1));
  const again = await openReady(t, address);
  await again.page.locator("#note-files").setInputFiles({ name, mimeType: "application/zip", buffer });
  await again.page.getByRole("button", { name: "Close Discharge note" }).click();
  await sums(again.page, done);
  await again.page.locator("#note-list .note").last().click();
  await again.page.waitForFunction(() => document.querySelectorAll("#mention-rows tr").length === 3);
  assert.deepEqual([await states(again.page), await ids(again.page)], last);
  assert.equal(await page.locator("#request-count").textContent(), "0 requests since loading");
  assert.deepEqual([...complaints, ...again.complaints].filter((said) => !said.includes("beforeunload")), []);
});

const databases = (page) => page.evaluate(async () => (await indexedDB.databases()).map(({ name }) => name));

test("notes are kept on this device only if the reader wants it", { timeout: 180_000 }, async (t) => {
  const { page, address, complaints } = await served(t);
  await write(page, NOTE);
  assert.deepEqual(await databases(page), []);
  const keep = () => page.getByLabel("Keep on this device");
  await page.locator("#privacy > summary").click();
  await keep().check();
  await page.locator("html[data-kept=on]").waitFor({ state: "attached" });
  await page.locator("#privacy > summary").click();
  await page.locator("#mention-rows button").first().focus();
  await page.keyboard.press("c");
  await page.waitForTimeout(900);
  // What is kept is not lost, so the browser does not ask.
  assert.equal(await page.evaluate(() => !dispatchEvent(new Event("beforeunload", { cancelable: true }))), false);
  await page.reload();
  await ready(page);
  assert.equal(await page.locator("#note-text").inputValue(), NOTE);
  await page.waitForFunction(() => document.querySelector("#review-words").textContent === "1 of 4 reviewed");
  // A second tab keeps nothing.
  const other = await page.context().newPage();
  await other.goto(address);
  await ready(other);
  assert.notEqual(await other.locator("#note-text").inputValue(), NOTE);
  assert.match(await other.locator("#kept-words").textContent(), /^Another tab of this page keeps its notes/);
  // It may delete everything.
  await other.locator("#privacy > summary").click();
  await other.getByRole("button", { name: /Delete everything/ }).click();
  await other.locator("#question").getByRole("button", { name: "Delete" }).click();
  await other.locator("#deleted").filter({ hasText: "Deleted." }).waitFor();
  assert.deepEqual(await databases(page), []);
  assert.equal(await page.evaluate(() => localStorage.getItem("pel-keep")), null);
  await page.locator("html[data-kept=off]").waitFor({ state: "attached" });
  await other.close();
  assert.deepEqual(complaints.filter((said) => !said.includes("beforeunload")), []);
});

test("a full store is told, and the notes stay in the tab", { timeout: 120_000 }, async (t) => {
  const { page } = await served(t);
  await write(page, NOTE);
  await page.evaluate(() => {
    IDBObjectStore.prototype.put = () => {
      throw new DOMException("no room", "QuotaExceededError");
    };
  });
  await page.locator("#privacy > summary").click();
  await page.getByLabel("Keep on this device").check();
  await page.locator("#problem").waitFor();
  assert.match(await page.locator("#problem-words").textContent(), /no room left: the last changes are not kept/);
  assert.equal(await page.locator("#note-text").inputValue(), NOTE);
  assert.equal(await page.evaluate(() => !dispatchEvent(new Event("beforeunload", { cancelable: true }))), true);
});

test("a long list has few rows in the page, and all by keyboard", { timeout: 120_000 }, async (t) => {
  const { page, complaints } = await served(t);
  await write(page, "No fever, no chest pain since Monday.\n".repeat(1500));
  await page.waitForFunction(() => /3,000 mentions/.test(document.querySelector("#summary").textContent));
  assert.ok((await page.locator("#mention-rows tr").count()) < 80);
  assert.equal(await page.locator("#mention-list").getAttribute("aria-rowcount"), "3001");
  await page.locator("#mention-rows button").first().focus();
  for (const [key, at] of [["End", 2999], ["ArrowUp", 2998], ["Home", 0], ["ArrowDown", 1]]) {
    await page.keyboard.press(key);
    assert.equal(await page.evaluate(() => Number(document.activeElement.closest("tr")?.dataset.at)), at, key);
  }
  await page.locator("#mention-table").evaluate((box) => (box.scrollTop = box.scrollHeight / 2));
  await page.waitForFunction(() => {
    const at = Number(document.querySelector("#mention-rows tr").dataset.at);
    return at > 1300 && at < 1700;
  });
  assert.deepEqual(complaints, []);
});

test("the page prints the note with its marks, and the summary", { timeout: 120_000 }, async (t) => {
  const { page } = await served(t);
  await write(page, NOTE);
  await page.emulateMedia({ media: "print" });
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  const seen = await page.evaluate(() => Object.fromEntries(["note-text", "marks", "summary-body", "mentions", "export", "views"].map((id) =>
    [id, document.getElementById(id).checkVisibility()])));
  assert.deepEqual(seen, { "note-text": false, marks: true, "summary-body": true, mentions: false, export: false, views: false });
  assert.match(await page.locator("#summary-body").innerText(), /cough[\s\S]*Denied[\s\S]*fever/);
  assert.equal(await page.locator("#marks").evaluate((marks) => getComputedStyle(marks).color), "rgb(0, 0, 0)");
});
