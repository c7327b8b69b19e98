// Times the page in a Chromium, as a reader meets it: first paint, ready at the first visit and from the browser's store, and
// a note's links. Prints one line of JSON.
//
//   node page.mjs --pel PEL --page FOLDER --bundle BUNDLE [--note FILE] [--rounds 5]
//
// PEL is the binary, FOLDER what scripts/build/page made. The browser is that of tests/browser, whose packages must be installed
// (./check browser does it); no other Chromium may run.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { chromium } from "../../tests/browser/node_modules/playwright-core/index.mjs";
import { FLAGS, findChromium } from "../../tests/browser/browser.js";

const { values: options } = parseArgs({
  options: {
    pel: { type: "string" },
    page: { type: "string" },
    bundle: { type: "string" },
    note: { type: "string", default: new URL("../../examples/note.txt", import.meta.url).pathname },
    rounds: { type: "string", default: "5" },
  },
});
if (!options.pel || !options.page || !options.bundle) throw new Error("--pel, --page and --bundle are needed");

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
const medians = (rows) => Object.fromEntries(Object.keys(rows[0]).map((key) => [key, Math.round(median(rows.map((row) => row[key])))]));

/** The first words of a note, in whole lines and sentences as they come. */
const words = (text, most) => text.split(/(?<=\s)/).slice(0, most).join("");

/** Runs in the page before its own scripts: when it was ready. */
function watch() {
  new MutationObserver(() => {
    if (document.documentElement.dataset.ready) globalThis.readyAt ??= performance.now();
  }).observe(document, { attributes: true, subtree: true, attributeFilter: ["data-ready"] });
}

/** In the page: first paint and ready, in milliseconds since the navigation began. */
async function opened() {
  const paint = performance.getEntriesByName("first-contentful-paint")[0];
  return { first_paint_ms: paint.startTime, ready_ms: globalThis.readyAt };
}

/** In the page: milliseconds from typing to the first link on the screen, and to all of them, less the pause for typing. */
async function linked(text) {
  const root = document.documentElement;
  const area = document.querySelector("#note-text");
  const set = async (value) => {
    const before = Number(root.dataset.linked ?? 0);
    const start = performance.now();
    let first;
    area.value = value;
    area.dispatchEvent(new Event("input", { bubbles: true }));
    while (Number(root.dataset.linked ?? 0) === before) {
      await new Promise((resolve) => requestAnimationFrame(resolve));
      if (value && document.querySelector("#mention-rows tr")) first ??= performance.now() - start;
    }
    return { first_links_ms: first ?? performance.now() - start, all_links_ms: performance.now() - start };
  };
  await set("");
  const times = await set(text);
  return { ...times, mentions: Number(document.querySelector("#summary").textContent.match(/\d+/)[0]) };
}

/** The memory of the page's process that it shares with no other, after a while of rest; Linux alone says it. */
async function tabMegabytes(page) {
  await page.waitForTimeout(3000);
  const sizes = [];
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    const read = (name) => readFile(`/proc/${pid}/${name}`, "utf8").catch(() => "");
    if (!(await read("cmdline")).includes("--type=renderer")) continue;
    const kb = [...(await read("smaps_rollup")).matchAll(/^Private_(?:Clean|Dirty): +(\d+) kB/gm)];
    sizes.push(kb.reduce((sum, [, size]) => sum + Number(size), 0) / 1000);
  }
  return Math.max(...sizes);
}

const server = spawn(options.pel, ["serve", "--page", options.page, "--bundle", options.bundle, "--port", "0", "--json"]);
const { address } = JSON.parse(String((await once(server.stdout, "data"))[0]));
const note = words(await readFile(options.note, "utf8"), 300);
const [first, stored, notes, memory] = [[], [], [], []];
try {
  for (let round = 0; round < Number(options.rounds); round += 1) {
    const folder = await mkdtemp(join(tmpdir(), "pel-bench-"));
    const context = await chromium.launchPersistentContext(folder, { executablePath: findChromium(), args: FLAGS });
    const visit = async () => {
      const page = await context.newPage();
      await page.addInitScript(watch);
      await page.goto(address);
      await page.waitForSelector("html[data-ready=true]", { state: "attached", timeout: 120_000 });
      return page;
    };
    const page = await visit();
    first.push(await page.evaluate(opened));
    await page.close();
    const again = await visit();
    stored.push(await again.evaluate(opened));
    // Warm: the browser's best compiler has done its work.
    for (let warm = 0; warm < 3; warm += 1) await again.evaluate(linked, note);
    notes.push(await again.evaluate(linked, note));
    memory.push({ tab_mb: await tabMegabytes(again) });
    await context.close();
    await rm(folder, { recursive: true, force: true });
  }
} finally {
  server.kill("SIGINT");
}
console.log(
  JSON.stringify({
    words: note.split(/\s+/).filter(Boolean).length,
    first_visit: medians(first),
    from_store: medians(stored),
    note: medians(notes),
    memory: medians(memory),
  }),
);
