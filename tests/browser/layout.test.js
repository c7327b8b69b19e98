// Layout: every panel at common widths, with very long contents.

import assert from "node:assert/strict";
import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { serve } from "./browser.js";
import { inMenu, openMention, openReady, pelServe, write } from "./serving.js";
import { built, calibrate, table, tinyBundle } from "./bundles.js";

const VIEWPORTS = [
  { width: 1024, height: 768 },
  { width: 1280, height: 860 },
  { width: 1440, height: 900 },
  { width: 390, height: 844 },
];

const LONG_WORD = "hydroxyethylmethylaminobenzimidazolecarboxamide".repeat(4);
const LONG_SENTENCE = "An unusually long sentence that somebody wrote into a definition. ".repeat(12);
const NOTE = `No fever, no chest pain. ${LONG_WORD}. Her diabetes is well.\n${"fever ".repeat(40)}`;

/** The knowledge base of the pipeline table with long names, identifiers, types, definitions and cross-references. */
async function longConcepts() {
  const { concepts } = await table();
  return concepts.map((concept, at) => ({
    ...concept,
    id: `${concept.id}:${"0123456789".repeat(6)}`,
    synonyms: [...(concept.synonyms ?? []), LONG_WORD + at],
    types: [`${concept.types?.[0] ?? "Type"} ${LONG_WORD}`],
    definition: `${LONG_SENTENCE}${LONG_WORD}`,
    sources: [LONG_WORD],
  }));
}

/**
 * Overflowing elements: wider than their pane, panes wider than the window, text clipped by its box. Elements that scroll
 * sideways by design (tabs of notes, tables) and invisible ones are skipped.
 */
function overflowing() {
  const name = (element) => element.id || `${element.tagName.toLowerCase()}.${element.className}`;
  const shown = (element) => element.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: true });
  const scrolls = (element, container) => {
    for (let at = element.parentElement; at && at !== container; at = at.parentElement) {
      if (["auto", "scroll"].includes(getComputedStyle(at).overflowX)) return true;
    }
    return false;
  };
  const found = [];
  for (const container of document.querySelectorAll(".pane, .sheet, #details, dialog[open], header, footer, #problem, #loading")) {
    if (!shown(container)) continue;
    const box = container.getBoundingClientRect();
    if (box.right > innerWidth + 0.5 || box.left < -0.5) found.push(`${name(container)} leaves the window`);
    for (const element of container.querySelectorAll("*")) {
      if (!shown(element) || element.closest(".visually-hidden") || scrolls(element, container)) continue;
      // A sheet overlaps its pane; it is its own container.
      if (element.closest(".sheet") && !container.closest(".sheet")) continue;
      const inner = element.getBoundingClientRect();
      if (inner.width > 0 && (inner.right > box.right + 0.5 || inner.left < box.left - 0.5)) {
        found.push(`${name(element)} leaves ${name(container)} by ${Math.round(inner.right - box.right)} px`);
      }
    }
  }
  for (const scroller of document.querySelectorAll("html, .view, #mention-table")) {
    if (shown(scroller) && scroller.scrollWidth > scroller.clientWidth + 1) found.push(`${name(scroller)} scrolls sideways`);
  }
  return found;
}

test("panels contain long contents at every width", { timeout: 240_000 }, async (t) => {
  const { folder, bundle } = await tinyBundle(t, { concepts: await longConcepts() });
  const { address } = await pelServe(t, bundle);
  const conceptFile = join(folder, "own.csv");
  await writeFile(conceptFile, `id,name,synonyms,type\nOWN:1,${LONG_WORD},own name,${LONG_WORD}\n`);
  for (const viewport of VIEWPORTS) {
    const at = `${viewport.width} pixels`;
    const { page, close } = await openReady(t, address, { options: { viewport } });
    await write(page, NOTE);
    await page.locator("#concepts > summary").click();
    await page.locator("#concept-file").setInputFiles(conceptFile);
    await page.locator("#concept-list li").first().waitFor();
    // A calibrated bundle shows its curve, and free text about its calibration.
    await page.evaluate(([word, sentence]) => {
      document.getElementById("calibrated").textContent = `Measured on ${word}/mentions.dev.jsonl.`;
      Object.assign(document.getElementById("calibration"), { hidden: false, open: true });
      document.getElementById("threshold-words").textContent = sentence;
      document.getElementById("curve").removeAttribute("hidden");
    }, [LONG_WORD, LONG_SENTENCE]);
    assert.deepEqual(await page.evaluate(overflowing), [], at);

    await page.locator("#concepts > summary").click();
    await page.locator("#tab-summary").click();
    assert.deepEqual(await page.evaluate(overflowing), [], `${at}, summary`);
    await openMention(page, 0);
    await page.locator("#details").waitFor();
    assert.deepEqual(await page.evaluate(overflowing), [], `${at}, details`);
    await page.locator("#details-close").click();

    for (const menu of ["#privacy", "#all-notes", "#export", "#filters-menu", "#threshold-menu", "#concepts"]) {
      await page.locator(`${menu} > summary`).click();
      const sheet = await page.locator(`${menu} > .sheet`).boundingBox();
      const summary = await page.locator(`${menu} > summary`).boundingBox();
      const below = sheet.y - summary.y - summary.height;
      assert.ok(below >= 0 && below < 60 && sheet.height <= viewport.height, `${at}, ${menu}: ${JSON.stringify({ summary, sheet })}`);
      assert.deepEqual(await page.evaluate(overflowing), [], `${at}, ${menu}`);
      await page.locator(`${menu} > summary`).click();
    }
    await close();
  }
});

/** The number of rows of the list that are in view whole, before anything is scrolled. */
function rowsInView() {
  const [table, head] = ["mention-table", "mention-head"].map((id) => document.getElementById(id).getBoundingClientRect());
  const [from, to] = [Math.max(table.top, head.bottom) - 1, Math.min(table.bottom, innerHeight) + 1];
  return [...document.querySelectorAll("#mention-rows tr")].filter((row) => {
    const { top, bottom } = row.getBoundingClientRect();
    return top >= from && bottom <= to;
  }).length;
}

test("several rows of the list are in view on small screens", { timeout: 240_000 }, async (t) => {
  const names = ["fever", "chest pain", "cough", "gout", "asthma", "angina", "anaemia", "sepsis", "nausea", "vertigo"];
  const concepts = names.map((name, at) => ({ id: `D${at + 1}`, name, types: [`A type of number ${at}`] }));
  const { folder, bundle } = await tinyBundle(t, { concepts });
  await calibrate(folder, bundle);
  const { address } = await pelServe(t, bundle);
  const note = `${names.join(", ")}.\nNo fever. Possible cough. Family history of gout. History of asthma. Left angina. Severe nausea.\n`;
  const sizes = [[1440, 900, 10], [1366, 650, 9], [1280, 600, 7], [1024, 768, 9], [768, 1024, 6], [390, 844, 3]];
  for (const [width, height, least] of sizes) {
    const { page, close } = await openReady(t, address, { options: { viewport: { width, height } } });
    await write(page, note);
    const rows = await page.evaluate(rowsInView);
    assert.ok(rows >= least, `${width} x ${height}: ${rows} rows in view`);
    // How the threshold was measured names files by their checksums: only for those who ask.
    const card = page.locator("#deciding");
    await inMenu(page, "#threshold-menu", async () => {
      assert.doesNotMatch(await card.innerText(), /[0-9a-f]{32}/);
      await card.getByText("How it was measured").click();
      assert.match(await card.innerText(), /Measured on .*[0-9a-f]{32}/);
    });
    // The note begins in the first third of a phone, and fills the height of a large window.
    const editor = await page.locator("#editor").boundingBox();
    if (width < 700) assert.ok(editor.y < height / 3, `${width} x ${height}: the note begins at ${editor.y}`);
    if (width >= 1000) assert.ok(editor.height > height * 0.65, `${width} x ${height}: the note is ${editor.height} high`);
    await close();
  }
});

test("marks are seen where the browser knows no functions of colours", { timeout: 120_000 }, async (t) => {
  const { folder, bundle } = await tinyBundle(t);
  const site = join(folder, "site");
  await cp(built().page, site, { recursive: true });
  for (const name of ["style.css", "dark.css"]) {
    const css = await readFile(join(site, name), "utf8");
    await writeFile(join(site, name), css.replaceAll(/light-dark|color-mix/g, "not-known"));
  }
  const server = await serve({ "/bundle/": bundle, "/": site }, {});
  t.after(server.close);
  const papers = [];
  for (const colorScheme of ["light", "dark"]) {
    const { page, close } = await openReady(t, `${server.address}/index.html`, { options: { colorScheme } });
    await write(page, "No fever, possible cough.");
    const { paper, marks } = await page.evaluate(() => {
      const style = (element) => getComputedStyle(element);
      const marks = [...document.querySelectorAll("#marks .mark")].map((mark) => ({
        back: style(mark).backgroundColor,
        lines: [style(mark).boxShadow, style(mark).borderBottomStyle].join(" "),
      }));
      return { paper: style(document.getElementById("note")).backgroundColor, marks };
    });
    const nothing = ["rgba(0, 0, 0, 0)", paper];
    assert.equal(marks.length, 2);
    for (const { back, lines } of marks) {
      assert.ok(!nothing.includes(back), `${colorScheme}: ${back} on ${paper}`);
      assert.match(lines, /rgb\(.*inset|dotted/);
    }
    papers.push(paper);
    await close();
  }
  assert.equal(new Set(papers).size, 2, `${papers}`);
});
