// Which codes of a concept the page shows, and how it tells them.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { codeWords, exported, hasCodes, identifierOf, matchesExplained, matchWords, rowCodes, SYSTEMS, systemName } from "../../www/codes.js";
import { siteOf } from "../../www/ontologies.js";

const ICD = { system: "ICD10CM", code: "I50.20", display: "Unspecified systolic heart failure", match: "broader", billable: true };
const SNOMED = { system: "SNOMEDCT", code: "703272007", match: "exact" };
const ASPIRIN = { system: "RXNORM", code: "1191", match: "parts" };
const CAFFEINE = { system: "RXNORM", code: "1886", match: "parts" };
const UMLS = { system: "UMLS", code: "C0018801", match: "exact" };

test("a row shows the code that a reader of the kind expects", () => {
  assert.deepEqual(rowCodes({ code: ICD, codes: [SNOMED, ICD, UMLS] }), ["~ICD-10-CM I50.20", "SNOMED CT 703272007"]);
  assert.deepEqual(rowCodes({ code: ICD, codes: [ICD] }), ["~ICD-10-CM I50.20"]);
  const lab = { system: "LOINC", code: "2823-3", match: "exact" };
  assert.deepEqual(rowCodes({ code: lab, codes: [SNOMED, lab] }), ["LOINC 2823-3"]);
  assert.deepEqual(rowCodes({ codes: [UMLS, ASPIRIN, CAFFEINE] }), ["RxNorm 1191 + 1886"]);
  assert.deepEqual(rowCodes({ codes: [UMLS] }), []);
  assert.deepEqual(rowCodes({}), []);
});

test("a system that the reader chose comes first, where the concept has a code in it", () => {
  const concept = { code: ICD, codes: [SNOMED, ICD, UMLS] };
  assert.deepEqual(rowCodes(concept, "UMLS"), ["UMLS C0018801"]);
  assert.deepEqual(rowCodes(concept, "LOINC"), rowCodes(concept));
  assert.deepEqual(rowCodes({ codes: [ASPIRIN] }, "RXNORM"), ["RxNorm 1191"], "a part is no code of the whole");
});

test("matches are told in words", () => {
  assert.equal(matchWords(ICD), "broader");
  assert.equal(matchWords({ ...ICD, match: "exact", billable: false }), "not billable");
  assert.equal(matchWords({ ...ICD, billable: false }), "broader, not billable");
  assert.equal(matchWords(SNOMED), "");
  assert.match(matchesExplained([SNOMED, ICD]), /^Broader.*contains.*says less than the text\.$/);
  assert.match(matchesExplained([ASPIRIN]), /^Part: /);
  assert.equal(matchesExplained([SNOMED, UMLS]), "");
});

test("codes have their sites", () => {
  const sites = [ICD, SNOMED, ASPIRIN, UMLS, { system: "LOINC", code: "2823-3" }, { system: "ATC", code: "N02BE01" }]
    .concat([{ system: "HPO", code: "HP:0001945" }, { system: "MONDO", code: "MONDO:0005148" }, { system: "CVX", code: "88" }])
    .concat([{ system: "MESH", code: "D016108" }, { system: "UNII", code: "362O9ITL9D" }]);
  for (const code of sites) assert.match(siteOf(identifierOf(code))?.address ?? "", /^https:\/\//, codeWords(code));
  assert.equal(siteOf(identifierOf({ system: "SNOMEDCT", code: "1/../2" })), null);
});

test("exports have the chosen system first, and tables the columns that hospitals ask for", () => {
  assert.equal(exported("json", null), undefined);
  assert.deepEqual(exported("csv", null), ["SNOMEDCT", "ICD10CM", "RXNORM", "LOINC"]);
  assert.deepEqual(exported("csv", "UMLS"), ["UMLS", "SNOMEDCT", "ICD10CM", "RXNORM", "LOINC"]);
  const json = exported("json", "RXNORM");
  assert.equal(json[0], "RXNORM");
  assert.deepEqual([...json].sort(), [...SYSTEMS].sort());
  assert.ok(hasCodes({ files: { "codes.bin": {} } }) && !hasCodes({ files: {} }));
});

test("the page offers exactly the systems of the package", async () => {
  const types = await readFile(new URL("../../web/js/pel.d.ts", import.meta.url), "utf8");
  const [, union] = types.match(/export type CodeSystem =([^;]+);/);
  const named = [...union.matchAll(/"(\w+)"/g)].map(([, name]) => name);
  assert.deepEqual([...SYSTEMS].sort(), named.sort());
  for (const system of SYSTEMS) assert.notEqual(systemName(system), undefined);
});
