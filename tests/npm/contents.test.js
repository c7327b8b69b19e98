// What is in the packed package.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { here, project, tarball, tool } from "./project.js";

const run = promisify(execFile);

const FILES = [
  "LICENSE-APACHE",
  "LICENSE-MIT",
  "README.md",
  "THIRD-PARTY.txt",
  "errors.js",
  "fetched.js",
  "gpu-relaxed/pel_web.js",
  "gpu-relaxed/pel_web_bg.wasm",
  "gpu/pel_web.js",
  "gpu/pel_web_bg.wasm",
  "helper.js",
  "package.json",
  "pel.d.ts",
  "pel.js",
  "pel_web.js",
  "pel_web_bg.wasm",
  "program.js",
  "relaxed/pel_web.js",
  "relaxed/pel_web_bg.wasm",
  "source.js",
  "worker.js",
];

/** What npm says of the packed package. */
async function packed() {
  const { stdout } = await run("npm", ["pack", "--json", "--dry-run", "--offline", tarball()]);
  const said = JSON.parse(stdout);
  return Array.isArray(said) ? said[0] : Object.values(said)[0];
}

test("the package has exactly its files, and its manifest leads to them", { timeout: 60_000 }, async (t) => {
  const at = await project(t);
  const { name, files, entryCount, bundled } = await packed();
  assert.equal(name, "pel-linker");
  assert.equal(entryCount, FILES.length);
  assert.deepEqual(files.map(({ path }) => path).sort(), FILES);
  assert.deepEqual(bundled, []);
  const manifest = JSON.parse(await readFile(join(at, "node_modules/pel-linker/package.json"), "utf8"));
  assert.equal(manifest.license, "MIT OR Apache-2.0");
  assert.equal(manifest.type, "module");
  // TypeScript takes the first entry that it knows.
  assert.deepEqual(Object.entries(manifest.exports["."]), [
    ["types", "./pel.d.ts"],
    ["default", "./pel.js"],
  ]);
  assert.deepEqual([manifest.main, manifest.types], ["./pel.js", "./pel.d.ts"]);
  // A bundler may leave out what is not used, but a worker is there for its effects alone.
  assert.deepEqual(manifest.sideEffects, ["./worker.js"]);
  for (const scripts of ["scripts", "dependencies", "peerDependencies", "optionalDependencies"]) assert.ok(!(scripts in manifest), scripts);
});

test("the examples ask for this version", { timeout: 60_000 }, async (t) => {
  const at = await project(t);
  const { version } = JSON.parse(await readFile(join(at, "node_modules/pel-linker/package.json"), "utf8"));
  for (const example of ["page", "react"]) {
    const { dependencies } = JSON.parse(await readFile(here(`../../examples/npm/${example}/package.json`), "utf8"));
    assert.equal(dependencies["pel-linker"], version);
  }
});

test("every import of the package is in it", { timeout: 60_000 }, async (t) => {
  const at = await project(t);
  for (const file of FILES.filter((name) => name.endsWith(".js"))) {
    const source = await readFile(join(at, "node_modules/pel-linker", file), "utf8");
    const named = [...source.matchAll(/^(?:import|export) .* from "(.*)"|new URL\(["'](.*?)["'], import\.meta\.url\)/gm)];
    for (const [, imported, address] of named) {
      const path = join(file, "..", imported ?? address);
      assert.ok(FILES.includes(path), `${file} names ${path}`);
    }
  }
});

test("licences of all parts are in it", { timeout: 60_000 }, async (t) => {
  const at = await project(t);
  const text = await readFile(join(at, "node_modules/pel-linker/THIRD-PARTY.txt"), "utf8");
  for (const part of ["burn", "serde", "wasm-bindgen", "tokenizers"]) assert.match(text, new RegExp(`^ {2}${part}-\\d`, "m"));
  const mit = await readFile(join(at, "node_modules/pel-linker/LICENSE-MIT"), "utf8");
  assert.equal(mit, await readFile(here("../../LICENSE-MIT"), "utf8"));
});

test("the sizes are below those that docs/web.md states", { timeout: 60_000 }, async (t) => {
  const at = await project(t);
  const { size, unpackedSize } = await packed();
  const bytes = (name) => readFile(join(at, "node_modules/pel-linker", name));
  const zipped = async (names) => (await Promise.all(names.map(bytes))).reduce((sum, file) => sum + gzipSync(file, { level: 9 }).length, 0);
  const script = await zipped(FILES.filter((name) => name.endsWith(".js")));
  const program = await zipped(["relaxed/pel_web_bg.wasm"]);
  const withGpu = await zipped(["gpu-relaxed/pel_web_bg.wasm"]);
  const docs = await readFile(here("../../docs/web.md"), "utf8");
  const stated = (row) => {
    const found = docs.match(new RegExp(`^\\| ${row} \\| ([\\d.]+) MB`, "m"));
    assert.ok(found, `docs/web.md states no size of: ${row}`);
    return Number(found[1]) * 1e6;
  };
  for (const [row, size_] of [
    ["the packed package", size],
    ["the installed package", unpackedSize],
    ["the program that a page loads, by gzip", program],
    ["the program that a page loads where there is a GPU, by gzip", withGpu],
    ["the scripts that a page loads, by gzip", script],
  ]) {
    t.diagnostic(`${row}: ${(size_ / 1e6).toFixed(3)} MB`);
    assert.ok(size_ <= stated(row), `${row}: ${size_} bytes, docs/web.md states at most ${stated(row)}`);
  }
});

test("publint and attw have no complaint", { timeout: 60_000 }, async () => {
  const lint = await tool(here("."), ".bin/publint", ["run", "--strict", tarball()]);
  assert.equal(lint.status, 0, lint.output);
  // A page has no CommonJS, and the worker is no module to import.
  const types = await tool(here("."), ".bin/attw", [tarball(), "--profile", "esm-only", "--exclude-entrypoints", "./worker.js", "--no-definitely-typed"]);
  assert.equal(types.status, 0, types.output);
});
