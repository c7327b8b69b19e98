// Helpers of all browser tests: a server and a page in Chromium.

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, normalize, sep } from "node:path";
import { chromium } from "playwright-core";

const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".mjs": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".wasm": "application/wasm",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".webmanifest": "application/manifest+json",
};

// Chromium's own network services would wait for hosts that a test machine cannot reach.
export const FLAGS = [
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** WebGPU without a graphics card: correct, but slow. */
export const WEBGPU = [
  "--enable-unsafe-webgpu",
  "--use-webgpu-adapter=swiftshader",
  "--enable-features=Vulkan",
  "--use-vulkan=swiftshader",
];

/** An empty page. */
export const EMPTY = `<!doctype html><link rel="icon" href="data:,"><title>empty</title>`;

const PROGRAMS = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/** The Chromium for the tests: the environment variable CHROMIUM, or the first installed one. */
export function findChromium() {
  const found = (process.env.CHROMIUM ? [process.env.CHROMIUM] : PROGRAMS)
    .map((name) => spawnSync("sh", ["-c", 'command -v "$1"', "sh", name], { encoding: "utf8" }).stdout.trim())
    .find((path) => path !== "");
  if (!found) throw new Error("no Chromium: install it (Debian: apt-get install chromium) or name it in CHROMIUM");
  return found;
}

/**
 * Serves folders and generated pages on a free port of this machine.
 *
 * @param {Record<string, string>} folders a folder for each URL prefix, such as { "/pkg/": "/path/to/pkg" }
 * @param {Record<string, string>} pages the HTML for each path
 * @param {Record<string, string>} scripts the JavaScript for each path
 * @returns the address, and `close`
 */
export async function serve(folders, pages, scripts = {}) {
  const server = createServer(async (request, response) => {
    const path = decodeURIComponent(new URL(request.url, "http://localhost").pathname);
    if (path in pages) {
      response.writeHead(200, { "content-type": TYPES[".html"] }).end(pages[path]);
      return;
    }
    if (path in scripts) {
      response.writeHead(200, { "content-type": TYPES[".js"] }).end(scripts[path]);
      return;
    }
    const prefix = Object.keys(folders).find((prefix) => path.startsWith(prefix));
    const inside = prefix && normalize(path.slice(prefix.length));
    if (!inside || inside.startsWith("..") || inside.startsWith(sep)) {
      response.writeHead(404).end();
      return;
    }
    try {
      const body = await readFile(join(folders[prefix], inside));
      const etag = `"${createHash("sha256").update(body).digest("hex")}"`;
      response.writeHead(200, { "content-type": TYPES[extname(inside)] ?? "application/octet-stream", etag }).end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve, reject) => server.once("error", reject).listen(0, "127.0.0.1", resolve));
  return {
    address: `http://127.0.0.1:${server.address().port}`,
    close: () => {
      const closed = new Promise((resolve) => server.close(resolve));
      // Chromium opens connections in advance. `close` waits for them until they have had a request, which may never come.
      server.closeAllConnections();
      return closed;
    },
  };
}

/**
 * Opens an empty page. `complaints` collects console errors, exceptions and failed requests.
 */
export async function openPage(flags = [], options = {}) {
  const gpu = flags.length > 0;
  const args = [...FLAGS.filter((flag) => !(gpu && flag === "--disable-gpu")), ...flags];
  const browser = await chromium.launch({ executablePath: findChromium(), args });
  const page = await (await browser.newContext(options)).newPage();
  const complaints = [];
  page.on("console", (message) => {
    // Printed on machines without a graphics card; not an error of the page.
    if (/No available adapters/.test(message.text())) return;
    if (["error", "warning"].includes(message.type())) complaints.push(`${message.type()}: ${message.text()}`);
  });
  page.on("pageerror", (error) => complaints.push(`thrown: ${error.message}`));
  page.on("requestfailed", (request) => complaints.push(`not loaded: ${request.url()}`));
  page.on("response", (response) => {
    if (response.status() >= 400) complaints.push(`${response.status()}: ${response.url()}`);
  });

  return { page, complaints, close: () => browser.close() };
}
