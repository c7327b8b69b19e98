// The package in a project of Vite: built, and served by its development server.

import assert from "node:assert/strict";
import { cp, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { tinyBundle } from "../browser/bundles.js";
import { project, tool } from "./project.js";
import { inChromium, linksTwice, site, STRICT } from "./site.js";

const timeout = 300_000;

test("a page that Vite builds links under a strict policy", { timeout }, async (t) => {
  const { bundle } = await tinyBundle(t);
  const at = await project(t, "fixtures/plain");
  const { status, output } = await tool(at, "vite/bin/vite.js", ["build", "--base", "./"]);
  assert.equal(status, 0, output);
  assert.doesNotMatch(output, /warn/i);
  // Each program once, although the page, its worker and the package's worker name it.
  const files = await readdir(join(at, "dist/assets"));
  assert.equal(files.filter((name) => name.endsWith(".wasm")).length, 4, `${files}`);
  await inChromium(t, await site(t, join(at, "dist"), bundle), linksTwice);
});

test("so does one that Vite 7 builds, with Rollup", { timeout }, async (t) => {
  const { bundle } = await tinyBundle(t);
  const at = await project(t, "fixtures/plain");
  const { status, output } = await tool(at, "vite7/bin/vite.js", ["build", "--base", "./"]);
  assert.equal(status, 0, output);
  await inChromium(t, await site(t, join(at, "dist"), bundle), linksTwice);
});

test("Vite may write workers as modules", { timeout }, async (t) => {
  const { bundle } = await tinyBundle(t);
  const at = await project(t, "fixtures/plain");
  await writeFile(join(at, "vite.config.js"), `export default { base: "./", worker: { format: "es" } };`);
  const { status, output } = await tool(at, "vite/bin/vite.js", ["build"]);
  assert.equal(status, 0, output);
  await inChromium(t, await site(t, join(at, "dist"), bundle), linksTwice);
});

test("Vite may inline all assets, if the policy allows data", { timeout }, async (t) => {
  const { bundle } = await tinyBundle(t);
  const at = await project(t, "fixtures/plain");
  await writeFile(join(at, "vite.config.js"), `export default { base: "./", build: { assetsInlineLimit: 1e9 } };`);
  const { status, output } = await tool(at, "vite/bin/vite.js", ["build"]);
  assert.equal(status, 0, output);
  assert.deepEqual((await readdir(join(at, "dist/assets"))).filter((name) => name.endsWith(".wasm")), []);
  const csp = STRICT.replace("connect-src 'self'", "connect-src 'self' data:");
  await inChromium(t, await site(t, join(at, "dist"), bundle, { csp }), linksTwice, { program: null });
});

for (const [version, vite, optimizeDeps] of [
  ["Vite", await import("vite"), {}],
  // Before version 8 Vite moves a package into a folder of its own, without its worker.
  ["Vite 7", await import("vite7"), { exclude: ["pel-linker"] }],
]) {
  test(`a page that a development server of ${version} serves links`, { timeout }, async (t) => {
    const { bundle } = await tinyBundle(t);
    const at = await project(t, "fixtures/plain");
    await cp(bundle, join(at, "public/bundle"), { recursive: true });
    const options = { root: at, configFile: false, optimizeDeps, server: { port: 0, host: "127.0.0.1" }, logLevel: "warn" };
    const server = await vite.createServer(options);
    t.after(() => server.close());
    await server.listen();
    const { port } = server.httpServer.address();
    await inChromium(t, `http://127.0.0.1:${port}/`, linksTwice, { apart: [`ws://127.0.0.1:${port}/`] });
  });
}
