// What could carry a note away, or stay behind in the browser.

import assert from "node:assert/strict";
import { test } from "node:test";
import { EMPTY, serve } from "./browser.js";
import { mentions, openReady, pelServe, ready, write } from "./serving.js";
import { tinyBundle } from "./bundles.js";

async function served(t, options) {
  const { bundle } = await tinyBundle(t);
  const { address } = await pelServe(t, bundle);
  return { address, ...(await openReady(t, address, options)) };
}

test("translation, spelling and writing aids are asked to leave notes alone", { timeout: 60_000 }, async (t) => {
  const { page } = await served(t);
  const fields = await page.evaluate(() => ({
    page: [document.documentElement.translate, document.querySelector("meta[name=google]").content],
    fields: [...document.querySelectorAll("textarea, input:not([type=file], [type=checkbox], [type=range])")].map((field) => [
      field.id, field.spellcheck, field.translate,
      ...["writingsuggestions", "data-gramm", "data-gramm_editor", "data-enable-grammarly", "data-lt-active"].map((name) => field.getAttribute(name)),
    ]),
  }));
  assert.deepEqual(fields.page, [false, "notranslate"]);
  const ids = ["reviewer", "note-text", "concept-name", "concept-id", "concept-synonyms", "concept-type", "concept-definition", "find-words"];
  assert.deepEqual(fields.fields, ids.map((id) => [id, false, false, "false", "false", "false", "false", "false"]));
});

test("a loaded page has no WebRTC, and its scripts lead to no other address", { timeout: 120_000 }, async (t) => {
  const { page, address } = await served(t);
  const elsewhere = await serve({}, { "/": EMPTY, "/taken": EMPTY });
  t.after(elsewhere.close);
  assert.equal(await page.evaluate(() => typeof RTCPeerConnection), "undefined");
  await write(page, "No fever.");
  // Exports and the places of the page work.
  await page.locator(".skip").evaluate((link) => link.click());
  assert.match(page.url(), /#note$/);
  await page.locator("#export summary").click();
  const saved = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download CSV", exact: true }).click();
  await saved;
  const here = page.url();
  for (const to of [`${elsewhere.address}/taken?No%20fever`, `${address}?No%20fever`]) {
    for (const way of ["assign", "link", "form"]) {
      await page.evaluate(([to, way]) => {
        if (way === "assign") return location.assign(to);
        if (way === "link") return Object.assign(document.createElement("a"), { href: to }).click();
        const form = Object.assign(document.createElement("form"), { action: to });
        document.body.append(form);
        return form.submit();
      }, [to, way]).catch(() => {});
      await page.waitForTimeout(200);
      const now = await page.evaluate(() => [location.href, document.getElementById("note-text").value]);
      assert.deepEqual(now, [here, "No fever."], `${way} to ${to}`);
    }
  }
});

test("a request of a worker counts once, for its own page alone", { timeout: 120_000 }, async (t) => {
  const { page, address } = await served(t);
  await page.waitForFunction(() => navigator.serviceWorker.controller);
  /** A worker of a page asks for a file that is not stored. */
  const ask = (page) => page.evaluate(async () => {
    const file = new URL("pkg/helper.js", location.href).href;
    const name = (await caches.keys()).find((name) => name.startsWith("pel-site "));
    const store = await caches.open(name);
    const stored = await store.match(file);
    await store.delete(file);
    const told = new Promise((resolve) => navigator.serviceWorker.addEventListener("message", resolve, { once: true }));
    new Worker("pkg/worker.js", { type: "module" });
    await told;
    await store.put(file, stored);
    await new Promise((resolve) => setTimeout(resolve, 500));
  });
  const count = (page) => page.locator("#request-count").textContent();
  await ask(page);
  assert.equal(await count(page), "1 request since loading");
  const second = await page.context().newPage();
  await second.goto(address);
  await ready(second);
  assert.deepEqual([await count(page), await count(second)], ["1 request since loading", "0 requests since loading"]);
  await ask(second);
  assert.deepEqual([await count(page), await count(second)], ["1 request since loading", "1 request since loading"]);
});

test("what the browser stores can be deleted", { timeout: 120_000 }, async (t) => {
  const { page, complaints } = await served(t);
  await page.waitForFunction(async () => navigator.serviceWorker.controller && (await caches.keys()).length === 3);
  await page.locator("#theme").click();
  await page.evaluate(() => {
    sessionStorage.setItem("pel-device", "wasm");
    localStorage.setItem("other", "of another site of this origin");
  });
  await page.evaluate(() => caches.open("other"));
  const remove = page.getByRole("button", { name: "Delete everything from this browser" });
  const stored = () => page.evaluate(async () => ({
    caches: await caches.keys(),
    workers: (await navigator.serviceWorker.getRegistrations()).length,
    keys: [...Object.keys(localStorage), ...Object.keys(sessionStorage)],
  }));
  await page.locator("#privacy summary").click();
  await remove.click();
  await page.locator("#question").getByRole("button", { name: "Cancel" }).click();
  assert.equal((await stored()).caches.length, 4);
  await remove.click();
  await page.locator("#question").getByRole("button", { name: "Delete" }).click();
  await page.locator("#deleted", { hasText: "Deleted." }).waitFor();
  assert.deepEqual(await stored(), { caches: ["other"], workers: 0, keys: ["other"] });
  // The page goes on until it is closed.
  await page.keyboard.press("Escape");
  await write(page, "No fever.");
  assert.deepEqual((await mentions(page)).map(([, , id]) => id), ["D1"]);
  assert.deepEqual(complaints, []);
});
