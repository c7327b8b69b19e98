// Helpers: a server that sends a strict Content-Security-Policy, and a page of it in Chromium.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { openPage } from "../browser/browser.js";
import { networkLog } from "../browser/serving.js";

/** The policy that the README of the package names, and nothing beyond it but styles. */
export const STRICT =
  "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'";

const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json",
  ".wasm": "application/wasm",
};

/** The folder of the site on the server: pages are rarely at its root. */
const BASE = "/some/app/";

/**
 * Serves a folder and a bundle.
 *
 * @param {boolean} fallback whether the server answers with the page to every address that it does not know
 * @returns the address of the site
 */
export async function site(t, folder, bundle, { csp = STRICT, headers = {}, fallback = false } = {}) {
  const server = createServer(async (request, response) => {
    const path = decodeURIComponent(new URL(request.url, "http://localhost").pathname);
    const inside = normalize(path.startsWith(BASE) ? path.slice(BASE.length) || "index.html" : "..");
    const [root, name] = inside.startsWith("bundle/") ? [bundle, inside.slice("bundle/".length)] : [folder, inside];
    try {
      if (inside.startsWith("..")) throw new Error("outside");
      const body = await readFile(join(root, name));
      const type = TYPES[extname(name)] ?? "application/octet-stream";
      response.writeHead(200, { "content-type": type, "content-security-policy": csp, ...headers }).end(body);
    } catch {
      if (fallback) response.writeHead(200, { "content-type": TYPES[".html"] }).end(await readFile(join(folder, "index.html")));
      else response.writeHead(404).end();
    }
  });
  await new Promise((resolve, reject) => server.once("error", reject).listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${server.address().port}${BASE}`;
}

/** The links of "No fever, no chest pain. Known diabetes." by the tiny bundle. */
export const EXPECTED = ["fever: D1", "chest pain: D2", "diabetes: D3"];

/** The items of a list, once there are some. */
export async function items(page, list) {
  await page.waitForSelector(`${list} > li`, { timeout: 60_000 });
  return page.locator(`${list} > li`).allTextContents();
}

/**
 * Opens an address in Chromium and runs `act`. Fails if the page complains, or if it or its workers request anything from elsewhere.
 *
 * @param {string[]} apart prefixes of other addresses that are allowed
 * @param {string} program the prefix of the address of the WebAssembly program; by default that of the server. The network log
 * has no addresses that contain their data: null
 */
export async function inChromium(t, address, act, { apart = [], program = new URL("/", address).href } = {}) {
  const log = await networkLog(t);
  const since = Date.now();
  const { page, complaints, close } = await openPage([log.flag, "--disable-gpu"]);
  try {
    await page.goto(address);
    await act(page);
    assert.deepEqual(complaints, []);
  } catch (error) {
    error.message += `\nthe page complains: ${complaints.join("\n")}`;
    throw error;
  } finally {
    await close();
  }
  const own = [new URL("/", address).href, "data:", "blob:", ...apart];
  const requests = await log.requests(since);
  // Otherwise the log was not read.
  if (program) assert.ok(requests.some((url) => url.startsWith(program) && url.endsWith(".wasm")), "the network log has no program");
  assert.deepEqual(requests.filter((url) => !own.some((prefix) => url.startsWith(prefix))), []);
}

/** Runs the page of tests/npm/fixtures/plain: links in the page and in a worker of the page. */
export async function linksTwice(page) {
  assert.deepEqual(await items(page, "#page"), EXPECTED);
  assert.deepEqual(await items(page, "#worker"), EXPECTED);
}
