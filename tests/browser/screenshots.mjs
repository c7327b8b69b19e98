// The pictures of the README and the manual; scripts/build/screenshots calls it.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { openPage } from "./browser.js";

const [pel, site, bundle, out] = process.argv.slice(2);
await mkdir(out, { recursive: true });
const server = spawn(pel, ["serve", "--page", site, "--bundle", bundle, "--port", "0", "--json"]);
const { address } = JSON.parse(String((await once(server.stdout, "data"))[0]));
try {
  for (const [name, options, mention] of [
    ["page", { viewport: { width: 1280, height: 860 }, colorScheme: "light" }, null],
    ["page-dark", { viewport: { width: 1280, height: 860 }, colorScheme: "dark" }, "GERD"],
    ["page-phone", { viewport: { width: 390, height: 844 }, colorScheme: "light", deviceScaleFactor: 1 }, null],
  ]) {
    const { page, close } = await openPage([], options);
    await page.goto(address);
    await page.waitForSelector("html[data-linked]", { state: "attached", timeout: 120_000 });
    if (mention) {
      // Some mentions are reviewed, and the details of one are open.
      await page.locator("#tab-mentions").click();
      await page.locator("#mention-rows button").first().focus();
      for (const key of ["c", "c", "c", "x", "c"]) await page.keyboard.press(key);
      await page.locator("#mention-rows tr", { hasText: mention }).getByRole("button").first().click();
    }
    await page.waitForTimeout(700);
    await page.evaluate(() => scrollTo(0, 0));
    await page.screenshot({ path: join(out, `${name}.png`) });
    await close();
  }
} finally {
  server.kill("SIGINT");
}
