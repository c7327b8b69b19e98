// The package's types: checked by strict TypeScript and compared with answers of the engine.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { EMPTY, openPage, serve } from "./browser.js";
import { built, tinyBundle } from "./bundles.js";

const here = (name) => new URL(name, import.meta.url).pathname;

/** Checks a file with strict TypeScript; returns its output. */
function compiled(file) {
  const options = ["--noEmit", "--strict", "--target", "es2022", "--module", "es2022", "--moduleResolution", "bundler"];
  const { status, stdout } = spawnSync(
    here("node_modules/.bin/tsc"),
    ["--ignoreConfig", ...options, "--lib", "es2022,dom,dom.iterable", file],
    { encoding: "utf8" },
  );
  return status === 0 ? "" : stdout;
}

test("the package's types accept its documented use", { timeout: 120_000 }, () => {
  assert.equal(compiled(here("types.ts")), "");
});

test("the types equal those of real answers, field by field", { timeout: 180_000 }, async (t) => {
  const { folder, bundle } = await tinyBundle(t);
  const server = await serve({ "/pkg/": `${built().page}/pkg`, "/bundle/": bundle }, { "/empty.html": EMPTY });
  t.after(server.close);
  const { page, close } = await openPage();
  t.after(close);
  await page.goto(new URL("empty.html", server.address).href);
  const answers = await page.evaluate(async () => {
    const { Pel } = await import("/pkg/pel.js");
    const pel = await Pel.load("/bundle/", { device: "wasm", cache: false });
    // An abbreviation, an unknown term, a discontinuous mention, an empty one, one beyond the window, an added concept, a section.
    const text = `Diabetes mellitus (DM), DM. Qwertzitis. fever or cough, ${"fever ".repeat(300)}`;
    const concepts = [{ id: "X1", name: "sore toe", synonyms: ["hallux"], types: ["Sign"], definition: "Pain.", xrefs: ["MESH:1"] }];
    const Added = [
      await pel.addConcepts(concepts),
      await pel.addConcepts({ name: "own.csv", format: "csv", text: "id,name,colour\nX2,big toe,red\nD1,taken,\n,nothing,\n" }),
    ];
    const at = (words) => ({ start: text.indexOf(words), end: text.indexOf(words) + words.length });
    const pieces = { ...at("fever or cough"), fragments: [at("fever"), at("cough")] };
    const spans = [pieces, { start: 22, end: 23 }, { start: text.indexOf("fever fever"), end: text.length - 1 }];
    const given = await pel.link(text, { spans, k: 2 });
    const judged = await pel.link("Family history:\nNo fever.");
    const found = await pel.link("fever, Qwertzitis, sore toe, Diabetes mellitus (DM), DM");
    const Explanation = [await pel.explain(found.links[0]), await pel.explain(found.links[0], { k: 0, threshold: 2 })];
    return {
      Added,
      Linked: [given, judged, found],
      Link: [...(await pel.decide({ threshold: 2 })), ...(await pel.decide())],
      Explanation,
      Candidate: await pel.find("toe"),
      Concept: [...(await pel.addedConcepts()), await pel.concept("D1"), await pel.concept("X1")],
      Manifest: [pel.manifest()],
    };
  });
  // The default bundle has probabilities and a detector.
  answers.Manifest.push(JSON.parse(await readFile(here("../../bundle/default/manifest.json"), "utf8")));
  const links = answers.Linked.flatMap((linked) => linked.links).concat(answers.Link);
  const optional = ["fragments", "nil_reason", "read_as", "group", "section"];
  for (const field of optional) assert.ok(links.some((link) => field in link), `no ${field} is seen`);
  assert.ok(answers.Candidate.some((candidate) => candidate.added && candidate.xrefs), "no added concept is seen");
  const lines = Object.entries(answers).map(([type, values]) => `export const ${type}s: pel.${type}[] = ${JSON.stringify(values, null, 1)};\n`);
  const file = join(folder, "answers.ts");
  const check = async (lines) => {
    await writeFile(file, `import type * as pel from ${JSON.stringify(here("../../web/js/pel.js"))};\n${lines.join("")}`);
    return compiled(file);
  };
  assert.equal(await check(lines), "");
  // A field that the types lack is detected.
  assert.match(await check(lines.map((line) => line.replace('"origin"', '"begin"'))), /begin/);
});

test("the package has exactly the documented calls", async () => {
  const { Pel } = await import("../../web/js/pel.js");
  const types = await readFile(new URL("../../web/js/pel.d.ts", import.meta.url), "utf8");
  const body = types.slice(types.indexOf("export class Pel {"));
  const documented = [...body.matchAll(/^ {2}(?:static )?(\w+)\(/gm)].map(([, name]) => name).filter((name) => name !== "constructor");
  const methods = Object.getOwnPropertyNames(Pel.prototype).filter((name) => name !== "constructor");
  assert.deepEqual(new Set(documented), new Set([...methods, "load"]));
});
