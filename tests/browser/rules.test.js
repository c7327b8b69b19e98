// The rules of context: built-in ones of another language, and rules of one's own.

import assert from "node:assert/strict";
import { test } from "node:test";
import { EMPTY, openPage, serve } from "./browser.js";
import { built, tinyBundle } from "./bundles.js";

test("rules of context can be chosen on loading and later", { timeout: 120_000 }, async (t) => {
  const { bundle } = await tinyBundle(t);
  const server = await serve({ "/pkg/": `${built().page}/pkg`, "/bundle/": bundle }, { "/empty.html": EMPTY });
  t.after(server.close);
  const { page, complaints, close } = await openPage();
  t.after(close);
  await page.goto(new URL("empty.html", server.address).href);
  const seen = await page.evaluate(async () => {
    const { Pel } = await import("/pkg/pel.js");
    const options = { device: "wasm", cache: false };
    const negated = async (pel) => (await pel.link("No fever. Kein cough. Geen chest pain.")).links.map((link) => link.negated);
    const failed = (promise) => promise.then(() => null, ({ code, message }) => [code, message]);
    const pel = await Pel.load("/bundle/", { ...options, contextRules: "german" });
    const seen = { german: await negated(pel) };
    await pel.setContextRules({ name: "dutch.rules", text: "cue negated forward: geen, zonder\n" });
    seen.own = await negated(pel);
    seen.invalid = await failed(pel.setContextRules({ name: "ward.rules", text: "cue negated forward: geen\ncue nonsense\n" }));
    seen.unknown = await failed(pel.setContextRules("klingon"));
    seen.shapeless = await failed(pel.setContextRules({ rules: "cue" }));
    seen.kept = await negated(pel);
    await pel.setContextRules("english");
    seen.english = await negated(pel);
    pel.free();
    seen.onLoading = await failed(Pel.load("/bundle/", { ...options, contextRules: "klingon" }));
    const plain = await Pel.load("/bundle/", options);
    seen.first = await negated(plain);
    plain.free();
    return seen;
  });
  assert.deepEqual(seen.german, [false, true, false]);
  assert.deepEqual(seen.own, [false, false, true]);
  assert.deepEqual(seen.kept, seen.own);
  assert.deepEqual(seen.english, [true, false, false]);
  assert.deepEqual(seen.first, seen.english);
  assert.equal(seen.invalid[0], "input");
  assert.match(seen.invalid[1], /ward\.rules.*2/);
  for (const [code, message] of [seen.unknown, seen.onLoading]) {
    assert.equal(code, "input");
    assert.match(message, /expected english, german, french, spanish, contextkit or a text of rules, found "klingon"/);
  }
  assert.equal(seen.shapeless[0], "input");
  assert.deepEqual(complaints, []);
});
