// Helpers: the bundles that the tests open, and the folders of the page. The tiny bundle is that of tests/pipeline.json with the tiny model, built by
// `pel index`.

import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const here = (name) => new URL(name, import.meta.url).pathname;

/** The folder of the page with its WebAssembly package, and the program. ./check sets both. */
export function built() {
  const { PEL_PAGE: page, PEL: pel } = process.env;
  if (!page || !pel) throw new Error("PEL_PAGE and PEL are not set: run ./check browser");
  return { page, pel };
}

/** The program; scripts/test/npm-test sets it without a page. */
function program() {
  if (!process.env.PEL) throw new Error("PEL is not set: run ./check browser");
  return process.env.PEL;
}

/** The rows of the table: texts with expected decisions, offsets in bytes. */
export async function table() {
  return JSON.parse(await readFile(here("../pipeline.json"), "utf8"));
}

/**
 * A temporary folder with the bundle in `bundle`; removed at the end of the test.
 *
 * @param {import("node:test").TestContext} t
 * @param {{ concepts?: object[] }} changes concepts instead of those of the table
 */
export async function tinyBundle(t, { concepts: others } = {}) {
  const folder = await mkdtemp(join(tmpdir(), "pel-browser-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const { concepts: own, threshold } = await table();
  const concepts = others ?? own;
  const kb = join(folder, "table.jsonl");
  await writeFile(kb, concepts.map((concept) => `${JSON.stringify(concept)}\n`).join(""));
  const bundle = join(folder, "bundle");
  await run(program(), [
    ...["index", "--device", "cpu", "--kb", kb, "--encoder", here("../../shared/tests/fixtures/tiny"), "--out", bundle],
    ...["--nil-threshold", String(threshold)],
  ]);
  return { folder, bundle };
}

/** Gives the bundle of the table probabilities: of three mentions of each note, the best candidate of the first is right. */
export async function calibrate(folder, bundle) {
  const corpus = join(folder, "corpus");
  await mkdir(corpus);
  const notes = Array.from({ length: 40 }, (_, at) => ({ doc_id: String(at), text: `Fever, chest pain and plumbago, note ${at}.` }));
  const mentions = notes.flatMap(({ doc_id, text }) => [["Fever", "D1"], ["chest pain", "D3"], ["plumbago", "none"]].map(([words, id]) => {
    const start = text.indexOf(words);
    return { doc_id, start, end: start + words.length, text: words, id };
  }));
  const lines = (all) => all.map((one) => `${JSON.stringify(one)}\n`).join("");
  await writeFile(join(corpus, "documents.jsonl"), lines(notes));
  await writeFile(join(corpus, "mentions.dev.jsonl"), lines(mentions));
  await run(program(), ["calibrate", bundle, "--corpus", corpus, "--by", "probability", "--device", "cpu"]);
}

/** The bundle as one file, by `pel pack` with more options. */
export async function packed(bundle, out, ...more) {
  await run(program(), ["pack", ...more, bundle, out]);
}

/** The JSON lines of `pel link` for a text. */
export async function linkNatively(folder, bundle, text, spans, device) {
  const [note, given] = [join(folder, "note.txt"), join(folder, "spans.jsonl")];
  await writeFile(note, text);
  await writeFile(given, spans.map(([start, end]) => `${JSON.stringify({ start, end, unit: "bytes" })}\n`).join(""));
  const { stdout } = await run(program(), [
    ...["link", "--bundle", bundle, "--device", device, "--format", "jsonl", "--spans", given, note],
  ]);
  return stdout.trim().split("\n").filter(Boolean).map((line) => JSON.parse(line));
}

/** A copy of a bundle's folder with one file changed. */
export async function damaged(t, bundle, name, change) {
  const folder = await mkdtemp(join(tmpdir(), "pel-damaged-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  await cp(bundle, folder, { recursive: true });
  const path = join(folder, name);
  await writeFile(path, change(await readFile(path)));
  return folder;
}

/**
 * A temporary folder with the bundle that ships, as `./run` unpacks it; removed at the end of the test.
 *
 * @param {import("node:test").TestContext} t
 */
export async function defaultBundle(t) {
  const folder = await mkdtemp(join(tmpdir(), "pel-browser-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const packed = here("../../bundle/default");
  for (const name of await readdir(packed)) {
    await cp(join(packed, name), join(folder, name));
    if (name.endsWith(".xz")) await run("xz", ["-d", join(folder, name)]);
  }
  return folder;
}

/**
 * The JSON lines of `pel link` for each of some texts, all mentions found.
 *
 * @param {import("node:test").TestContext} t
 */
export async function linkNotesNatively(t, bundle, texts) {
  const folder = await mkdtemp(join(tmpdir(), "pel-browser-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const all = [];
  for (const [at, text] of texts.entries()) {
    const note = join(folder, `${at}.txt`);
    await writeFile(note, text);
    const { stdout } = await run(program(), ["link", "--bundle", bundle, "--device", "cpu", "--format", "jsonl", note]);
    all.push(stdout.trim().split("\n").map((line) => JSON.parse(line)));
  }
  return all;
}
