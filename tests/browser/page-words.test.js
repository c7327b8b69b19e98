// Texts, web addresses and colours of the page.

import assert from "node:assert/strict";
import { test } from "node:test";
import { colourOf, TYPES } from "../../www/colours.js";
import { at, line, place, range } from "../../www/curve.js";
import { EXAMPLES } from "../../www/examples.js";
import { conceptFormat, decode } from "../../www/files.js";
import { siteOf } from "../../www/ontologies.js";
import {
  additionWords, errorWords, fileName, licenceOf, likelihoodWords, nilWords, originWords, progressWords, setOf, setsWords,
  shownWords,
} from "../../www/words.js";

test("identifiers of known vocabularies have a web address", () => {
  const addresses = {
    C0011849: "https://uts.nlm.nih.gov/uts/umls/concept/C0011849",
    "UMLS:C0000821": "https://uts.nlm.nih.gov/uts/umls/concept/C0000821",
    "MONDO:0005148": "https://purl.obolibrary.org/obo/MONDO_0005148",
    "DOID:9352": "https://purl.obolibrary.org/obo/DOID_9352",
    "HP:0001945": "https://purl.obolibrary.org/obo/HP_0001945",
    "NCIT:C3199": "https://purl.obolibrary.org/obo/NCIT_C3199",
    "Orphanet:303": "https://bioregistry.io/orphanet.ordo:303",
    "MESH:D016108": "https://meshb.nlm.nih.gov/record/ui?ui=D016108",
    "OMIM:PS104500": "https://omim.org/phenotypicSeries/PS104500",
    "ICD10:E78.6": "https://icd.who.int/browse10/2019/en#/E78.6",
  };
  for (const [id, address] of Object.entries(addresses)) assert.equal(siteOf(id)?.address, address);
  const others = ["UBERON:0000916", "CHEBI:15366", "GO:0001508", "CL:0000127", "SYMP:0000002", "NBO:0000590"];
  const more = ["MPATH:608", "PATO:0001579", "PR:000003918", "BIRNLEX:876", "SNOMED:38341003", "DRUGBANK:DB00316"];
  for (const id of [...others, ...more, "MAXO:0001394"]) {
    assert.match(siteOf(id)?.address ?? "", /^https:\/\//, id);
  }
});

test("other identifiers have no web address", () => {
  const unknown = ["PEL:fever", "LOCAL:1", "", "MESH:A01.047", "UBERON:Commissure-MA_0002723"];
  const wrong = ["MONDO:", "MONDO:1/../..", "MONDO:0005148?x=1", "xMONDO:0005148", "MONDO:0005148\n", "C001184"];
  for (const id of [...unknown, ...wrong, "DOID:9352#a", "javascript:alert(1)"]) {
    assert.equal(siteOf(id), null, id);
  }
});

test("the colour of a type is constant", () => {
  assert.equal(new Set(TYPES.map(colourOf)).size, TYPES.length);
  assert.equal(colourOf("NIL"), "type-nil");
  assert.match(colourOf("T047 <b>"), /^type-1[0-3]$/);
  assert.equal(colourOf("Gene"), colourOf("Gene"));
});

const CURVE = [
  { threshold: 0.5, precision: 0.9, recall: 0.1 },
  { threshold: 0.7, precision: 0.7, recall: 0.5 },
  { threshold: 0.9, precision: 0.5, recall: 0.9 },
];

test("the curve is interpolated between its points", () => {
  const near = (point, precision, recall) => {
    assert.ok(Math.abs(point.precision - precision) < 1e-9 && Math.abs(point.recall - recall) < 1e-9);
  };
  near(at(CURVE, 0.6), 0.8, 0.3);
  near(at(CURVE, 0.7), 0.7, 0.5);
  near(at(CURVE, 0), 0.9, 0.1);
  near(at(CURVE, 1), 0.5, 0.9);
  assert.equal(at([], 0.5), null);
  assert.deepEqual(place(CURVE[1], 200, 100), [100, 30.000000000000004]);
  assert.equal(line(CURVE, 100, 100), "10.0,10.0 50.0,30.0 90.0,50.0");
});

test("the slider covers the possible scores", () => {
  const nil = { threshold: 0.78, curve: CURVE };
  assert.deepEqual(range({ nil, index: { score: "cosine" } }), { min: 0, max: 1, step: 0.001 });
  const dot = range({ nil: { threshold: 20 }, index: { score: "dot" } });
  assert.ok(dot.min <= 0 && dot.max > 20);
  assert.ok(range({ nil: { threshold: null }, index: { score: "dot" } }).max > 0);
});

test("each origin of a mention has its words", () => {
  const words = ["name", "unknown_term", "detector", "given"].map(originWords);
  assert.equal(new Set(words).size, words.length);
  assert.match(originWords("detector"), /detector/);
});

test("the filters tell how many mentions they show", () => {
  assert.equal(shownWords(3, 1200), "3 of 1,200 mentions shown");
  assert.equal(shownWords(0, 1), "0 of 1 mention shown");
});

test("NIL decisions have a reason", () => {
  const nearest = { id: "X:1", name: "gout", types: [], sources: [], score: 0.5424 };
  const below = nilWords({ nil_reason: "below_threshold", candidates: [nearest] }, 0.783);
  assert.match(below, /gout, scores 0\.542.*0\.783/);
  const unlike = nilWords({ nil_reason: "unlike_any_name", probability: 0.071, candidates: [nearest] }, 0.375);
  assert.match(unlike, /unlike the names .* probability of 7\u00a0%/);
  assert.match(nilWords({ nil_reason: "type_clash", candidates: [nearest] }, null), /another kind/);
  assert.equal(likelihoodWords({ probability: 0.93, same_name: 2 }), "Right with a probability of 93\u00a0%. 2 concepts have this name.");
  assert.equal(likelihoodWords({}), "");
  assert.match(nilWords({ nil_reason: "reader", candidates: [] }, null), /You decided/);
  assert.match(nilWords({ nil_reason: "no_candidate", candidates: [] }, null), /no candidate/);
});

test("sets of answers are told in words", () => {
  const sets = [{ coverage: 0.9, concepts: ["X:1"], nil: false }, { coverage: 0.95, concepts: ["X:1", "X:2"], nil: true }];
  const words = setsWords(sets);
  assert.match(words, /: 1 concept in 90\u00a0% of mentions; 2 concepts or no match in 95\u00a0% of mentions\. .*calibration/);
  assert.match(setsWords([{ coverage: 0.9, concepts: [], nil: true }]), /: no match in 90\u00a0%/);
  assert.equal(setsWords([]), "");
  assert.deepEqual(["X:1", "X:2", "X:3"].map((id) => setOf(sets, id)), ["90\u00a0% set", "95\u00a0% set", ""]);
});

test("error messages contain advice", () => {
  const codes = ["bundle", "newer-bundle", "network", "no-wasm", "no-webgpu", "device", "freed"];
  for (const code of codes) assert.match(errorWords({ code }), /(Try again|try again|Update|Choose|Reload)/, code);
  assert.match(errorWords(new Error("x")), /Try again/);
});

test("progress is shown in bytes", () => {
  const words = progressWords({ phase: "bundle", loaded: 12_300_000, total: 37_400_000, cached: false });
  assert.match(words, /12\.3 of 37\.4 MB/);
  assert.match(progressWords({ phase: "program", loaded: 5e6, total: 0, cached: true }), /store: 5\.0 MB/);
});

test("the licence of a source is found by its whole name", () => {
  const licences = ["DOID2016: CC BY 3.0", "DOID: CC0 1.0"];
  assert.equal(licenceOf(licences, "DOID"), "CC0 1.0");
  assert.equal(licenceOf(licences, "MONDO"), null);
});

test("file names are valid on every system", () => {
  assert.equal(fileName("one.txt", "json"), "one.json");
  assert.equal(fileName("../a/b:c", "ann"), "-a-b-c.ann");
  assert.equal(fileName("", "csv"), "note.csv");
});

test("files are decoded by encoding and classified by extension", () => {
  assert.deepEqual(decode(Uint8Array.of(0xc3, 0xa9)), { text: "é", guessed: false });
  assert.deepEqual(decode(Uint8Array.of(0xe9, 0x61)), { text: "éa", guessed: true });
  assert.deepEqual(decode(Uint8Array.of(0xff, 0xfe, 0xe9, 0)), { text: "é", guessed: false });
  assert.deepEqual(decode(Uint8Array.of(0xef, 0xbb, 0xbf, 0x61)), { text: "a", guessed: false });
  assert.equal(conceptFormat("a.CSV"), "csv");
  assert.equal(conceptFormat("a.ndjson"), "jsonl");
  assert.equal(conceptFormat("a.txt"), null);
});

test("examples have unique names", () => {
  assert.equal(new Set(EXAMPLES.map(({ name }) => name)).size, EXAMPLES.length);
  assert.ok(EXAMPLES.every(({ text }) => text.length > 500 && !text.includes("\r")));
});

test("an addition tells what has changed since the earlier file of its name", () => {
  const first = { added: 1, removed: 0, changed: 0, renamed: 0, unchanged: 0, texts_encoded: 2, rows_reused: 0 };
  assert.equal(additionWords(first), "1 concept added.");
  const again = { added: 0, removed: 2, changed: 3, renamed: 1, unchanged: 1200, texts_encoded: 1, rows_reused: 1204 };
  assert.equal(
    additionWords(again),
    "0 concepts added, 2 removed, 3 changed (1 renamed), 1,200 unchanged. 1 text encoded, 1,204 reused.",
  );
});
