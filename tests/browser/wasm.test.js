// The wasm package loads in a browser and answers. PEL_WASM_PACKAGE names its folder; ./check sets it.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { openPage, serve } from "./browser.js";

const folder = process.env.PEL_WASM_PACKAGE;

const www = new URL("../../www/", import.meta.url).pathname;

test("the version in the browser is the workspace's", { timeout: 60_000 }, async () => {
  assert.ok(folder, "PEL_WASM_PACKAGE is not set: run ./check browser");
  const manifest = await readFile(new URL("../../Cargo.toml", import.meta.url), "utf8");
  const expected = manifest.match(/^version = "(.+)"$/m)[1];

  const server = await serve({ "/pkg/": folder, "/": www }, {});
  const { page, complaints, close } = await openPage();
  try {
    await page.goto(new URL("index.html", server.address).href);
    await page.getByText(`Version: ${expected}`).waitFor({ timeout: 30_000 });
    assert.deepEqual(complaints, []);
  } finally {
    await close();
    await server.close();
  }
});
