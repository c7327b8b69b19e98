// The whole page, served by `pel serve`, with the tiny model in WebAssembly.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { inMenu, linkedAfter, mentions, networkLog, openMention, openReady, pelServe, ready, write } from "./serving.js";
import { calibrate, tinyBundle } from "./bundles.js";

const NOTE = "😷 No fever, no chest pain. Qwertz <b>diabetes</b>.";

async function served(t, options, changes) {
  const { folder, bundle } = await tinyBundle(t, changes);
  const { address, stop } = await pelServe(t, bundle);
  const opened = await openReady(t, address, options);
  return { folder, bundle, address, stop, ...opened };
}

/** The content of a download, or of the first of several. */
async function download(page, name, count = 1) {
  const files = [];
  const all = new Promise((resolve) => {
    page.on("download", function each(file) {
      if (files.push(file) < count) return;
      page.off("download", each);
      resolve();
    });
  });
  await page.getByRole("button", { name, exact: true }).click();
  await all;
  return readFile(await files[0].path(), "utf8");
}

/** Chooses a value of a filter. */
const filter = (page, label, value) => inMenu(page, "#filters-menu", () => page.getByLabel(label, { exact: true }).selectOption(value));

test("a note is linked, changed by its reader, and exported", { timeout: 120_000 }, async (t) => {
  const { page, complaints } = await served(t);
  await write(page, NOTE);
  const ids = async () => (await mentions(page)).map(([text, , id]) => [text, id]);
  assert.deepEqual(await ids(), [["fever", "D1"], ["chest pain", "D2"], ["diabetes", "D3"]]);
  // Markup in a note is shown as text.
  assert.equal(await page.locator("#marks b, #reading b").count(), 0);

  // The reader sets one mention to NIL, and another concept for the next.
  await openMention(page, 0);
  await page.locator("#review-actions .nil").click();
  await openMention(page, 1);
  await page.getByLabel("Search for another concept").fill("cough");
  await page.keyboard.press("Enter");
  await page.locator("#found button").first().click();
  // The reader marks one more.
  const start = NOTE.indexOf("Qwertz");
  await page.locator("#note-text").evaluate((area, [start, end]) => {
    area.focus();
    area.setSelectionRange(start, end);
  }, [start, start + 6]);
  await linkedAfter(page, () => page.getByRole("button", { name: "Mark selection as mention" }).click());
  const changed = await ids();
  assert.deepEqual(changed.map(([text]) => text), ["fever", "chest pain", "Qwertz", "diabetes"]);
  assert.deepEqual([changed[1][1], changed[3][1]], ["D4", "D3"]);
  assert.match(await page.locator("#summary").textContent(), /4 mentions, 2 linked, 2 without a match/);
  // A filter hides mentions of the list and the marks, not of exports.
  await filter(page, "Show", "stated");

  await page.locator("#export summary").click();
  await page.getByLabel("Reviewed by").fill("AB");
  const json = JSON.parse(await download(page, "Download JSON"));
  assert.equal(json.text, NOTE);
  assert.deepEqual(
    json.mentions.map(({ text, negated, decision, nil_reason, concept, decided_by: by }) =>
      [text, negated, decision, nil_reason ?? concept.id, by]),
    [
      ["fever", true, "nil", "reader", "reader"],
      ["chest pain", true, "linked", "D4", "reader"],
      ["Qwertz", false, "nil", "below_threshold", undefined],
      ["diabetes", false, "linked", "D3", undefined],
    ],
  );
  assert.deepEqual(json.mentions.map(({ review, reviewed_by: by, former }) => [review, by, former?.id]), [
    ["changed", "AB", "D1"], ["changed", "AB", "D2"], [undefined, undefined, undefined], [undefined, undefined, undefined],
  ]);
  assert.deepEqual([json.mentions[0].start_utf16, json.mentions[0].start_code_point, json.mentions[0].start], [6, 5, 8]);
  const standoff = await download(page, "Download BRAT", 2);
  assert.match(standoff, /^#2\tAnnotatorNotes T2\tLinked: chosen by the user; Reviewed: changed by AB at \S+; Former: D2 chest pain$/m);
  assert.match(standoff, /^T1\tNIL 5 10\tfever\nA1000\tNegated T1\n#1\tAnnotatorNotes T1\tNIL: marked as NIL by the user; Reviewed: changed by AB at /);
  const rows = (await download(page, "Download CSV")).split("\r\n");
  assert.match(rows[0], /^doc,start_code_point,end_code_point,text,.*,review,reviewed_by,reviewed_at,former_id,former_name/);
  assert.match(rows[2], /,changed,AB,\d{4}-[^,]+Z,D2,chest pain/);
  assert.match(rows[2], /chest pain,,linked,D4,cough.*,patient,,,,,reader,/);
  assert.match(rows[4], /diabetes,,linked,D3,.*,patient,,,,,,/);
  assert.match(await download(page, "Download PubTator"), /\t5\t10\tfever\tNIL\t-\n/);
  const html = await download(page, "Download Annotated HTML");
  assert.ok(html.includes("&lt;b&gt;") && !html.includes("<b>"), html);
  assert.match(html, /chosen by the user/);
  assert.deepEqual(complaints, []);
});

test("the details show which candidates are in the sets of answers", { timeout: 120_000 }, async (t) => {
  const { folder, bundle } = await tinyBundle(t);
  await calibrate(folder, bundle);
  const { address } = await pelServe(t, bundle);
  const { page, complaints } = await openReady(t, address);
  await write(page, "Fever and cough.");
  await openMention(page, 0);
  await page.locator("#answer-sets").waitFor();
  assert.match(await page.locator("#answer-sets").textContent(), /concepts?.* in 90\u00a0% of mentions; .* in 95\u00a0% of mentions/);
  const best = page.locator("#details-body .candidate").first();
  assert.match(await best.textContent(), /^fever .*90\u00a0% set/);
  assert.deepEqual(complaints, []);
});

test("an export has the machine's probability where the machine has decided alone", { timeout: 120_000 }, async (t) => {
  const { folder, bundle } = await tinyBundle(t);
  await calibrate(folder, bundle);
  const { address } = await pelServe(t, bundle);
  const { page, complaints } = await openReady(t, address);
  await write(page, "Fever and cough.");
  await openMention(page, 0);
  const other = page.locator("#details-body .candidate").nth(1);
  const id = (await other.locator(".quiet").first().textContent()).split(" · ").at(-1);
  await other.click();
  assert.equal(await page.locator("#likelihood").textContent(), " Chosen by you.");
  await page.locator("#export summary").click();
  const { mentions: [fever, cough] } = JSON.parse(await download(page, "Download JSON"));
  assert.deepEqual([fever.concept.id, fever.decided_by, "probability" in fever], [id, "reader", false]);
  assert.deepEqual(["decided_by" in cough, typeof cough.probability], [false, "number"]);
  const [, own, machine] = (await download(page, "Download CSV")).split("\r\n").map((row) => row.split(","));
  assert.deepEqual([own[13], own[23]], ["", "reader"]);
  assert.deepEqual([Number(machine[13]) > 0, machine[23]], [true, ""]);
  assert.doesNotMatch(await download(page, "Download BRAT", 2), /T1\t.*Probability/);
  assert.deepEqual(complaints, []);
});

test("what the text says of a mention is marked, listed and filtered", { timeout: 120_000 }, async (t) => {
  const { page, complaints } = await served(t);
  await write(page, "No fever. Possible cough. Family history of diabetes.\nHe has chest pain.");
  assert.deepEqual(await page.locator("#mention-rows .context").allTextContents(), ["negated", "uncertain", "family"]);
  assert.deepEqual(await page.locator("#marks .mark.negated").allTextContents(), ["fever"]);
  assert.deepEqual(await page.locator("#marks .mark.uncertain").allTextContents(), ["cough"]);
  assert.deepEqual(await page.locator("#marks [data-signs=F]").allTextContents(), ["diabetes"]);
  const legend = page.getByRole("list", { name: "Marks in the note" }).getByRole("listitem");
  await page.locator("#filters-menu > summary").click();
  assert.deepEqual(await legend.allTextContents(), ["abcnegated", "abcuncertain", "abcfamily"]);
  await page.locator("#filters-menu > summary").click();

  // The list, the reading view and the details tell it in words.
  assert.equal(await page.locator("#mention-rows").getByRole("button", { name: "fever, negated", exact: true }).count(), 1);
  await page.locator("#mode-read").click();
  await page.locator("#reading").getByRole("button", { name: /^diabetes, family: / }).click();
  const facts = page.locator("#context-facts");
  assert.deepEqual(await facts.locator("dt").allTextContents(), ["Context", "Kind"]);
  assert.deepEqual(await facts.locator("dd").allTextContents(), ["family", "problem"]);
  await page.locator("#details-close").click();

  const texts = async () => (await mentions(page)).map(([text]) => text);
  await filter(page, "Show", { label: "Stated of the patient now" });
  assert.deepEqual(await texts(), ["chest pain"]);
  assert.deepEqual(await page.locator("#reading .mark").allTextContents(), ["chest pain"]);
  assert.equal(await page.locator("#shown").textContent(), "1 of 4 mentions shown");
  assert.equal(await page.locator("#marks-key").isVisible(), false);
  for (const [label, text] of [["Negated", "fever"], ["Uncertain", "cough"], ["Family", "diabetes"]]) {
    await filter(page, "Show", { label });
    assert.deepEqual(await texts(), [text]);
    assert.deepEqual(await page.locator("#reading .mark").allTextContents(), [text]);
  }
  await filter(page, "Show", { label: "Stated of the patient now" });
  await filter(page, "Kind", { label: "Problems" });
  assert.deepEqual(await texts(), ["chest pain"]);
  await filter(page, "Show", { label: "All" });
  assert.deepEqual(await texts(), ["fever", "cough", "diabetes", "chest pain"]);
  await filter(page, "Kind", { label: "All kinds" });
  assert.equal((await texts()).length, 4);
  assert.deepEqual(complaints, []);
});

test("nested mentions come on request, and the note marks the longest", { timeout: 120_000 }, async (t) => {
  const concepts = [{ id: "D13", name: "lung cancer" }, { id: "D14", name: "lung" }];
  const { page, complaints } = await served(t, undefined, { concepts });
  await write(page, "No lung cancer.");
  const texts = async () => (await mentions(page)).map(([text]) => text);
  assert.deepEqual(await texts(), ["lung cancer"]);
  const nested = page.getByLabel("Nested mentions", { exact: true });
  await linkedAfter(page, () => inMenu(page, "#filters-menu", () => nested.check()));
  assert.deepEqual(await texts(), ["lung", "lung cancer"]);
  assert.deepEqual(await page.locator("#marks .mark").allTextContents(), ["lung cancer"]);
  // A mention that is chosen is marked inside the longer one.
  await openMention(page, 0);
  assert.deepEqual(await page.locator("#marks .mark").allTextContents(), ["lung", " cancer"]);
  await page.locator("#details-close").click();
  await linkedAfter(page, () => inMenu(page, "#filters-menu", () => nested.uncheck()));
  assert.deepEqual(await texts(), ["lung cancer"]);
  assert.deepEqual(complaints, []);
});

test("a discontinuous mention is marked at its fragments", { timeout: 120_000 }, async (t) => {
  const concepts = [{ id: "D13", name: "breast cancer" }, { id: "D14", name: "ovarian cancer" }];
  const { page, complaints } = await served(t, undefined, { concepts });
  await write(page, "Family history of breast and ovarian cancer.");
  const ids = async () => (await mentions(page)).map(([text, , id]) => [text, id]);
  assert.deepEqual(await ids(), [["breast cancer", "D13"], ["ovarian cancer", "D14"]]);
  // The last word belongs to both mentions; the first that contains it whole marks it.
  assert.deepEqual(await page.locator("#marks .mark").allTextContents(), ["breast", "ovarian cancer"]);

  // A click between the fragments opens nothing; a click on a fragment opens its mention.
  const caret = (word) => page.locator("#note-text").evaluate((area, word) => {
    const at = area.value.indexOf(word) + 1;
    area.setSelectionRange(at, at);
    area.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  }, word);
  await caret("and ovarian");
  assert.equal(await page.locator("#details").isVisible(), false);
  await caret("breast");
  assert.equal(await page.locator("#details-heading").textContent(), "breast cancer");
  assert.deepEqual(await page.locator("#marks .mark.chosen").allTextContents(), ["breast", "cancer"]);
  assert.deepEqual(await page.locator("#marks .mark").allTextContents(), ["breast", "ovarian ", "cancer"]);
  await caret("ovarian");
  assert.equal(await page.locator("#details-heading").textContent(), "ovarian cancer");
  assert.deepEqual(await page.locator("#marks .mark.chosen").allTextContents(), ["ovarian cancer"]);

  // In the reading view each fragment is a button; a decision on one mention does not change the other.
  await page.locator("#mode-read").click();
  await page.locator("#reading .mark", { hasText: "breast" }).click();
  assert.equal(await page.locator("#details-heading").textContent(), "breast cancer");
  await page.locator("#review-actions .nil").click();
  assert.deepEqual(await ids(), [["breast cancer", ""], ["ovarian cancer", "D14"]]);
  assert.deepEqual(await page.locator("#reading .mark").allTextContents(), ["breast", "ovarian ", "cancer"]);
  assert.deepEqual(complaints, []);
});

test("an export contains the note as it was at the request", { timeout: 120_000 }, async (t) => {
  const { page } = await served(t);
  await write(page, "No fever.");
  await page.locator("#export summary").click();
  const saved = [page.waitForEvent("download", (file) => file.suggestedFilename().endsWith(".ann"))];
  saved.push(page.waitForEvent("download", (file) => file.suggestedFilename().endsWith(".txt")));
  // The note changes while the engine writes the file.
  await page.evaluate(() => {
    document.querySelector("[aria-label='Download BRAT']").click();
    setTimeout(() => {
      const area = document.getElementById("note-text");
      area.value = "A cough.";
      area.dispatchEvent(new Event("input", { bubbles: true }));
    });
  });
  const [standoff, text] = await Promise.all(saved.map(async (file) => readFile(await (await file).path(), "utf8")));
  assert.deepEqual([standoff.split("\n")[0], text], ["T1\tSign 3 8\tfever", "No fever."]);
});

test("the threshold can be moved, and the reader's own concepts are found", { timeout: 120_000 }, async (t) => {
  const { page, complaints } = await served(t);
  await write(page, "fever and a sore toe");
  assert.deepEqual((await mentions(page)).map(([, , id]) => id), ["D1"]);
  await page.locator("#concepts > summary").click();
  await page.getByLabel("Name", { exact: true }).fill("sore toe");
  await page.getByLabel("Identifier", { exact: true }).fill("LOCAL:1");
  await linkedAfter(page, () => page.getByRole("button", { name: "Add concept" }).click());
  assert.deepEqual((await mentions(page)).map(([, , id]) => id), ["D1", "LOCAL:1"]);
  const csv = "id,name,synonyms,type\nLOCAL:2,big toe,hallux|toe,\nD1,taken,,\n,nothing,,\n";
  await linkedAfter(page, () =>
    page.locator("#concept-file").setInputFiles({ name: "own.csv", mimeType: "text/csv", buffer: Buffer.from(csv) }),
  );
  assert.match(await page.locator("#concept-report").textContent(), /taken by another concept/);
  await write(page, "fever, hallux");
  assert.deepEqual((await mentions(page)).map(([, , id]) => id), ["D1", "LOCAL:2"]);
  // The file again, with another name for its concept and one more: only new texts are encoded.
  const next = "id,name,synonyms,type\nLOCAL:2,hallux,big toe|toe,\nLOCAL:3,cuboid,,\n";
  await linkedAfter(page, () =>
    page.locator("#concept-file").setInputFiles({ name: "own.csv", mimeType: "text/csv", buffer: Buffer.from(next) }),
  );
  assert.match(
    await page.locator("#concept-report").textContent(),
    /1 concept added, 0 removed, 1 changed \(1 renamed\), 0 unchanged\. 1 text encoded, 3 reused\./,
  );
  await write(page, "fever, cuboid");
  assert.deepEqual((await mentions(page)).map(([, , id]) => id), ["D1", "LOCAL:3"]);
  await page.locator("#concepts").evaluate((menu) => (menu.open = true));
  await page.getByRole("button", { name: "Remove all" }).click();
  await linkedAfter(page, () => page.locator("#question").getByRole("button", { name: "Remove" }).click());
  assert.deepEqual((await mentions(page)).map(([, , id]) => id), ["D1"]);

  const slider = page.locator("#threshold");
  await slider.evaluate((input) => {
    input.value = input.max;
    input.dispatchEvent(new Event("input", { bubbles: true }));
  });
  const best = Number(await slider.getAttribute("max"));
  await page.waitForFunction(() => document.querySelector("#summary").textContent !== "", null);
  if (best > 1) assert.match(await page.locator("#summary").textContent(), /0 linked, 1 without a match/);
  await inMenu(page, "#threshold-menu", () => page.getByRole("button", { name: "Reset" }).click());
  await page.waitForFunction(() => /1 linked, 0 without a match/.test(document.querySelector("#summary").textContent));
  assert.deepEqual(complaints, []);
});

test("a loaded page makes no network request and opens offline", { timeout: 180_000 }, async (t) => {
  const log = await networkLog(t);
  const { folder, bundle } = await tinyBundle(t);
  const { address, stop } = await pelServe(t, bundle);
  const { page, close, complaints } = await openReady(t, address, { flags: [log.flag] });
  const from = Date.now();
  await write(page, NOTE);
  await openMention(page, 0);
  await page.locator("#export summary").click();
  await download(page, "Download JSON");
  assert.match(await page.locator("#request-count").textContent(), /^0 requests since loading/);
  // Explicit requests fail too.
  const tried = await page.evaluate(() => fetch("bundle/manifest.json?asked").then(() => "answered", () => "refused"));
  assert.equal(tried, "refused");
  const until = Date.now();
  assert.deepEqual(complaints.filter((said) => !said.includes("Content Security Policy") && !said.includes("?asked")), []);

  // The page opens again after the server has stopped.
  assert.equal(await stop(), 0);
  await page.reload();
  await ready(page);
  await write(page, "fever and cough");
  assert.deepEqual((await mentions(page)).map(([, , id]) => id), ["D1", "D4"]);
  await close();
  const asked = await log.requests(from);
  const mine = asked.filter((url) => url.startsWith(address));
  assert.ok(mine.every((url) => !/asked|fever|Qwertz/.test(url)), `${mine}`);
  // Between loading and the reload the log is empty, for all hosts. The browser's own services are switched off.
  const between = (await log.requests(from)).length - (await log.requests(until)).length;
  assert.equal(between, 0, `${asked}`);
  assert.ok(folder);
});

test("any text is linked and shown unchanged", { timeout: 180_000 }, async (t) => {
  const { page, complaints } = await served(t);
  for (const [text, expected] of [
    ["الحمى fever الحمى", ["fever"]],
    ["Fe\u0301vrier: fever. 👩🏽‍⚕️ cough, e\u0301 diabetes", ["fever", "cough", "diabetes"]],
    ["\u202Efever\u202C and <script>alert(1)</script> cough", ["fever", "cough"]],
    ["発熱 fever、 cough。", ["fever", "cough"]],
    ["\ud83d fever", ["fever"]],
    ["", []],
  ]) {
    await write(page, text);
    assert.deepEqual((await mentions(page)).map(([text]) => text), expected, text);
  }
  // A megabyte: the page responds while it is linked.
  const long = "No fever today, and no chest pain since Monday morning.\n".repeat(18_500);
  assert.ok(long.length > 1_000_000);
  await page.locator("#note-text").evaluate((area, text) => {
    area.value = text;
    area.dispatchEvent(new Event("input", { bubbles: true }));
  }, long);
  let slowest = 0;
  const linked = page.waitForFunction(() => /37,000 mentions/.test(document.querySelector("#summary").textContent), null, {
    timeout: 120_000,
    polling: 500,
  });
  let done = false;
  linked.then(() => (done = true));
  while (!done) {
    const start = Date.now();
    await page.evaluate(() => new Promise((resolve) => setTimeout(resolve)));
    slowest = Math.max(slowest, Date.now() - start);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.ok(slowest < 5000, `the page did not answer for ${slowest} ms`);
  assert.deepEqual(complaints, []);
});
