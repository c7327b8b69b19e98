// Helpers: `pel serve` with the page and a bundle, and the page in Chromium.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openPage } from "./browser.js";
import { built } from "./bundles.js";

/** Starts `pel serve`; returns its address and `stop`. */
export async function pelServe(t, bundle) {
  const { pel, page } = built();
  const server = spawn(pel, ["serve", "--page", page, "--bundle", bundle, "--port", "0", "--json"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const stop = async () => {
    if (server.exitCode !== null) return server.exitCode;
    server.kill("SIGINT");
    const [code] = await once(server, "exit");
    return code;
  };
  t.after(stop);
  const [line] = await once(server.stdout, "data");
  return { address: JSON.parse(String(line)).address, stop };
}

/** Opens the page and waits until it is ready. */
export async function openReady(t, address, { flags = [], options = {}, before = async () => {} } = {}) {
  const opened = await openPage(flags, options);
  t.after(opened.close);
  await before(opened.page);
  await opened.page.goto(address);
  await ready(opened.page);
  await opened.page.locator("#tab-mentions").click();
  return opened;
}

/** Waits until the page is ready and has linked its first note. */
export const ready = (page) => page.waitForSelector("html[data-ready=true][data-linked]", { state: "attached", timeout: 60_000 });

/** Puts a note into the page and waits until it is linked. */
export async function write(page, text) {
  await linkedAfter(page, () => page.locator("#note-text").fill(text));
}

/** Runs an action and waits until the page has linked its note again. */
export async function linkedAfter(page, act) {
  const before = await page.evaluate(() => Number(document.documentElement.dataset.linked ?? 0));
  await act();
  await page.waitForFunction((before) => Number(document.documentElement.dataset.linked ?? 0) > before, before, {
    timeout: 60_000,
  });
}

/** Opens the details of the mention in a row of the list. */
export async function openMention(page, at) {
  await page.locator("#tab-mentions").click();
  await page.locator("#mention-rows button").nth(at).click();
}

/** Does something in a menu: opens it, and closes it again. */
export async function inMenu(page, menu, act) {
  await page.locator(`${menu} > summary`).click();
  const done = await act();
  await page.locator(`${menu} > summary`).click();
  return done;
}

/** The rows of the list of mentions: mention, concept, identifier. */
export const mentions = (page) =>
  page.locator("#mention-rows tr").evaluateAll((rows) =>
    rows.map((row) => Array.from(row.cells, (cell) => (cell.querySelector("button") ?? cell).textContent.trim()).slice(1, 4)),
  );

/**
 * A file for Chromium's network log; `requests(from)` returns the addresses that pages and workers have requested since. Requests
 * of the browser itself (autofill, accounts) have no origin, and are skipped.
 */
export async function networkLog(t) {
  const folder = await mkdtemp(join(tmpdir(), "pel-netlog-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, "net.json");
  const requests = async (from) => {
    const { constants, events } = JSON.parse(await readFile(file, "utf8"));
    const { logEventTypes, timeTickOffset } = constants;
    const started = events.filter(({ type }) => type === logEventTypes.URL_REQUEST_START_JOB);
    return started
      .map(({ time, params }) => ({ ...params, at: Number(time) + Number(timeTickOffset) }))
      .filter(({ url, initiator, at }) => url && initiator !== "not an origin" && at >= from)
      .map(({ url }) => url);
  };
  return { flag: `--log-net-log=${file}`, requests };
}
