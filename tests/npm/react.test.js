// The package in a React project in TypeScript that Vite builds: examples/npm/react.

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { openPage } from "../browser/browser.js";
import { tinyBundle } from "../browser/bundles.js";
import { project, tool } from "./project.js";
import { inChromium, items, site } from "./site.js";

const timeout = 300_000;
const EXAMPLE = "../../examples/npm/react";

test("a React component links as one types", { timeout }, async (t) => {
  const { bundle } = await tinyBundle(t);
  const at = await project(t, EXAMPLE);
  const types = await tool(at, ".bin/tsc");
  assert.equal(types.status, 0, types.output);
  const built = await tool(at, "vite/bin/vite.js", ["build"]);
  assert.equal(built.status, 0, built.output);
  await inChromium(t, await site(t, join(at, "dist"), bundle), async (page) => {
    assert.deepEqual(await items(page, "ol"), ["fever: D1, negated", "chest pain: D2, negated", "diabetes: D3"]);
    await page.fill("textarea", "Cough.");
    await page.waitForFunction(() => document.querySelector("ol").textContent.startsWith("Cough"));
    // Strict mode mounts a component twice: what was loaded first has been freed.
    assert.equal(page.workers().length, 1);
  });
});

for (const [fallback, expected] of [
  [false, /manifest\.json cannot be fetched: the server answers 404/],
  [true, /manifest\.json: expected the manifest of a bundle, found a page/],
]) {
  test(`a missing bundle is reported, from a server that answers ${fallback ? "with its page" : "404"}`, { timeout }, async (t) => {
    const at = await project(t, EXAMPLE);
    const built = await tool(at, "vite/bin/vite.js", ["build"]);
    assert.equal(built.status, 0, built.output);
    const { page, close } = await openPage();
    t.after(close);
    await page.goto(await site(t, join(at, "dist"), join(at, "nowhere"), { fallback }));
    await page.waitForFunction(() => /manifest/.test(document.querySelector("[role=status]")?.textContent));
    assert.match(await page.textContent("[role=status]"), expected);
  });
}

for (const external of [true, false]) {
  test(`a server renders the component, with the package ${external ? "outside of" : "within"} its bundle`, { timeout }, async (t) => {
    const at = await project(t, EXAMPLE);
    await writeFile(
      join(at, "src/server.tsx"),
      `import { renderToString } from "react-dom/server";
import { Note } from "./Note";
export const html = renderToString(<Note bundle="./bundle/" first="No fever." />);
`,
    );
    await writeFile(join(at, "server.config.js"), `export default { ssr: { noExternal: ${external ? "[]" : '["pel-linker"]'} } };`);
    const built = await tool(at, "vite/bin/vite.js", ["build", "--config", "server.config.js", "--ssr", "src/server.tsx", "--outDir", "server"]);
    assert.equal(built.status, 0, built.output);
    const { html } = await import(join(at, "server/server.js"));
    assert.match(html, /No fever\..*Loading the model/s);
  });
}
