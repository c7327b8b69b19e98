// Codes of concepts in standard systems: of the package, and on the page.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { EMPTY, openPage, serve } from "./browser.js";
import { built, tinyBundle } from "./bundles.js";
import { openMention, openReady, pelServe, write } from "./serving.js";

const CONCEPTS = [
  { id: "D1", name: "fever", synonyms: ["pyrexia"], types: ["Sign or symptom"] },
  { id: "D2", name: "chest pain", types: ["Sign or symptom"] },
  { id: "D4", name: "aspirin", types: ["Drug or chemical"] },
];

const CODES = `id\tsystem\tcode\tmatch
D1\tSNOMEDCT\t386661006\texact
D1\tICD10CM\tR50.9\texact
D2\tICD10CM\tR07\tbroader
D4\tRXNORM\t1191\texact
`;

const NAMES = "system\tcode\tdisplay\tbillable\nICD10CM\tR50.9\tFever, unspecified\t1\nICD10CM\tR07\tPain in throat and chest\t0\n";

const TEXT = "Fever and chest pain. Takes aspirin.";

/** The tiny bundle with codes. */
async function coded(t) {
  const { folder, bundle } = await tinyBundle(t, { concepts: CONCEPTS });
  const [codes, names, out] = ["codes.tsv", "names.tsv", "coded"].map((name) => join(folder, name));
  await writeFile(codes, CODES);
  await writeFile(names, NAMES);
  await promisify(execFile)(built().pel, ["update", bundle, "--codes", codes, "--code-names", names, "--out", out]);
  return { plain: bundle, bundle: out };
}

test("links have codes, and code systems can be chosen", { timeout: 120_000 }, async (t) => {
  const { plain, bundle } = await coded(t);
  const server = await serve({ "/pkg/": `${built().page}/pkg`, "/bundle/": bundle, "/plain/": plain }, { "/empty.html": EMPTY });
  t.after(server.close);
  const { page, complaints, close } = await openPage();
  t.after(close);
  await page.goto(new URL("empty.html", server.address).href);
  const seen = await page.evaluate(async (text) => {
    const { Pel } = await import("/pkg/pel.js");
    const options = { device: "wasm", cache: false };
    const failed = (promise) => promise.then(() => null, ({ code, message }) => [code, message]);
    const pel = await Pel.load("/bundle/", options);
    const concept = (links, id) => links.map((link) => link.concept).find((one) => one?.id === id);
    const { links } = await pel.link(text);
    const seen = { fever: concept(links, "D1"), pain: concept(links, "D2") };
    seen.chosen = concept((await pel.link(text, { codes: ["UMLS", "SNOMEDCT"] })).links, "D1");
    seen.decided = concept(await pel.decide(), "D1");
    seen.concept = await pel.concept("D1");
    seen.unknown = await failed(pel.link(text, { codes: ["OPCS4"] }));
    seen.twice = await failed(pel.link(text, { codes: ["UMLS", "UMLS"] }));
    // A reader chooses a candidate, which has no codes.
    const own = { ...links[0], decided_by: "reader", concept: links[1].candidates[0] };
    const written = (format, codes) => pel.write(format, { name: "note", text, links: [own], codes });
    seen.table = await written("csv", ["ICD10CM"]);
    seen.json = JSON.parse(await written("json")).mentions[0].concept;
    const plain = await Pel.load("/plain/", options);
    seen.plain = await failed(plain.link(text, { codes: ["ICD10CM"] }));
    return seen;
  }, TEXT);
  const icd = { system: "ICD10CM", code: "R50.9", display: "Fever, unspecified", match: "exact", billable: true };
  const snomed = { system: "SNOMEDCT", code: "386661006", match: "exact" };
  assert.deepEqual(seen.fever.codes, [snomed, icd]);
  assert.deepEqual(seen.fever.code, icd);
  assert.equal(seen.pain.code.match, "broader");
  for (const chosen of [seen.chosen, seen.decided]) assert.deepEqual([chosen.codes, chosen.code], [[snomed], snomed]);
  assert.deepEqual([seen.concept.code, seen.concept.codes], [icd, [snomed, icd]]);
  assert.equal(seen.unknown[0], "input");
  assert.match(seen.unknown[1], /codes: .*SNOMEDCT, ICD10CM.*"OPCS4"/);
  assert.match(seen.twice[1], /UMLS twice/);
  assert.match(seen.plain[1], /expected a bundle with codes/);
  const [head, row] = seen.table.split("\r\n");
  assert.match(head, /,ICD10CM,ICD10CM_match$/);
  assert.match(row, /,R07,broader$/);
  assert.equal(seen.json.code.code, "R07");
  assert.deepEqual(complaints, []);
});

test("the page shows codes and explains broader ones", { timeout: 120_000 }, async (t) => {
  const { bundle } = await coded(t);
  const { address } = await pelServe(t, bundle);
  const { page, complaints } = await openReady(t, address);
  await write(page, TEXT);
  const shown = async () => Object.fromEntries(await page.locator("#mention-rows tr").evaluateAll((rows) => rows.map((row) =>
    [row.querySelector("button").textContent, [...row.querySelectorAll("td.id .code")].map((code) => code.textContent)])));
  const pain = ["~ICD-10-CM R07"];
  const fever = ["ICD-10-CM R50.9", "SNOMED CT 386661006"];
  assert.deepEqual(await shown(), { Fever: fever, "chest pain": pain, aspirin: ["RxNorm 1191"] });
  await page.locator("#tab-summary").click();
  await page.getByLabel("Codes", { exact: true }).selectOption("SNOMEDCT");
  assert.deepEqual((await shown()).Fever, ["SNOMED CT 386661006"]);
  await page.getByLabel("Codes", { exact: true }).selectOption("");
  await openMention(page, 1);
  await page.locator("#concept-codes").waitFor();
  assert.match(await page.locator("#concept-codes").textContent(), /ICD-10-CM R07.*Pain in throat and chest.*broader, not billable/);
  assert.match(await page.locator("#matches").textContent(), /contains that of the concept/);
  // A candidate that the reader chooses gets its codes too.
  await page.getByLabel("Search for another concept").fill("fever");
  await page.keyboard.press("Enter");
  await page.locator("#found button").first().click();
  await page.waitForFunction(() => document.querySelectorAll("#mention-rows tr:nth-child(2) td.id .code").length === 2);
  assert.deepEqual((await shown())["chest pain"], fever);
  assert.deepEqual(complaints, []);
});
