// The wasm package loads in a browser and answers. PEL_WASM_PACKAGE names its folder; ./check sets it.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { openPage, serve } from "./browser.js";

const folder = process.env.PEL_WASM_PACKAGE;

const PAGE = `<!doctype html>
<link rel="icon" href="data:,">
<title>PEL</title>
<script type="module">
  import init, { version } from "/pkg/pel_web.js";
  await init();
  document.title = "ready";
  window.version = version;
</script>`;

test("the version in the browser is the workspace's", { timeout: 60_000 }, async () => {
  assert.ok(folder, "PEL_WASM_PACKAGE is not set: run ./check browser");
  const manifest = await readFile(new URL("../../Cargo.toml", import.meta.url), "utf8");
  const expected = manifest.match(/^version = "(.+)"$/m)[1];

  const server = await serve({ "/pkg/": folder }, { "/": PAGE });
  const { page, complaints, expectTitle, close } = await openPage();
  try {
    await page.goto(server.address);
    await expectTitle("ready");
    assert.equal(await page.evaluate(() => window.version()), expected);
    assert.deepEqual(complaints, []);
  } finally {
    await close();
    await server.close();
  }
});
