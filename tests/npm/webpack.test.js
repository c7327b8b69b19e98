// The package in a project of webpack 5.

import assert from "node:assert/strict";
import { cp, readdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { tinyBundle } from "../browser/bundles.js";
import { project, tool } from "./project.js";
import { inChromium, linksTwice, site } from "./site.js";

test("a page that webpack builds links under a strict policy", { timeout: 300_000 }, async (t) => {
  const { bundle } = await tinyBundle(t);
  const at = await project(t, "fixtures/plain", "fixtures/webpack");
  const { status, output } = await tool(at, ".bin/webpack", ["build"]);
  assert.equal(status, 0, output);
  assert.doesNotMatch(output, /warning/i);
  const files = await readdir(join(at, "dist"));
  assert.equal(files.filter((name) => name.endsWith(".wasm")).length, 4, `${files}`);
  await cp(join(at, "index.html"), join(at, "dist/index.html"));
  await inChromium(t, await site(t, join(at, "dist"), bundle), linksTwice);
});
