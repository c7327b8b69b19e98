// Reads dropped or chosen files: notes and concept tables.

import { unzip } from "./zip.js";

/** Extensions of concept tables; other files are notes. */
const CONCEPTS = { csv: "csv", tsv: "tsv", obo: "obo", jsonl: "jsonl", ndjson: "jsonl" };

/** Extensions of annotations on a note: the exports of the page that it opens again. */
const ANNOTATIONS = ["json", "ann"];

/** The greatest size of a note in bytes. */
const LONGEST = 8_000_000;

/**
 * @param {string} name
 * @returns {"csv" | "tsv" | "obo" | "jsonl" | null} null if it is a note
 */
export function conceptFormat(name) {
  return CONCEPTS[ending(name)] ?? null;
}

const ending = (name) => name.slice(name.lastIndexOf(".") + 1).toLowerCase();

/**
 * Decodes a file: by its byte order mark, else as UTF-8 if it is valid, else as Windows-1252.
 *
 * @param {Uint8Array} bytes
 * @returns {{ text: string, guessed: boolean }}
 */
export function decode(bytes) {
  const read = (encoding, fatal = false) => new TextDecoder(encoding, { fatal }).decode(bytes);
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return { text: read("utf-16le"), guessed: false };
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return { text: read("utf-16be"), guessed: false };
  try {
    return { text: read("utf-8", true), guessed: false };
  } catch {
    return { text: read("windows-1252"), guessed: true };
  }
}

/** Whether a file is a program, picture or office file instead of text. @param {string} text */
const isBinary = (text) => text.slice(0, 4000).includes("\u0000");

/**
 * Reads files; `problems` lists those that are not text.
 *
 * @param {Iterable<File>} files
 * @returns {Promise<{ notes: { name: string, text: string }[],
 *   annotations: { name: string, format: "json" | "ann", text: string }[], tables: import("./pkg/pel.js").ConceptFile[], problems: string[] }>}
 */
export async function readFiles(files) {
  const read = { notes: [], annotations: [], tables: [], problems: [] };
  for (const file of await unpacked(files, read.problems)) {
    const format = conceptFormat(file.name);
    const isAnnotation = ANNOTATIONS.includes(ending(file.name));
    // The mentions of a note are much longer than its text.
    if (!format && file.size > LONGEST * (isAnnotation ? 50 : 1)) {
      read.problems.push(`${file.name} is too long for a note (${(file.size / 1e6).toFixed(1)} MB; 8 MB at most).`);
      continue;
    }
    let bytes;
    try {
      bytes = new Uint8Array(await file.arrayBuffer());
    } catch {
      read.problems.push(`${file.name} could not be read.`);
      continue;
    }
    const { text, guessed } = decode(bytes);
    if (isBinary(text)) {
      read.problems.push(`${file.name} is not a text file. Save it as plain text (.txt) first.`);
      continue;
    }
    if (guessed) read.problems.push(`${file.name} is not UTF-8 and was read as Windows-1252: check its accented letters.`);
    if (format) read.tables.push({ name: file.name, format, text });
    else if (isAnnotation) read.annotations.push({ name: file.name, format: ending(file.name), text });
    else read.notes.push({ name: file.name, text });
  }
  return read;
}

/** The files, and those of archives instead of the archives. */
async function unpacked(files, problems) {
  const all = [];
  for (const file of files) {
    if (ending(file.name) !== "zip") {
      all.push(file);
      continue;
    }
    try {
      all.push(...(await unzip(new Uint8Array(await file.arrayBuffer()))));
    } catch (error) {
      problems.push(`${file.name} could not be opened: ${error.message}.`);
    }
  }
  return all;
}

/**
 * Calls `take` with files that are dropped anywhere on the page.
 *
 * @param {(files: File[]) => void} take
 */
export function onDrop(take) {
  let depth = 0;
  const over = (is) => document.documentElement.classList.toggle("dropping", is);
  const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
  addEventListener("dragenter", (event) => {
    if (!hasFiles(event)) return;
    depth += 1;
    over(true);
  });
  addEventListener("dragleave", (event) => {
    if (!hasFiles(event)) return;
    depth -= 1;
    if (depth <= 0) over(false);
  });
  addEventListener("dragover", (event) => {
    if (hasFiles(event)) event.preventDefault();
  });
  addEventListener("drop", (event) => {
    depth = 0;
    over(false);
    if (!hasFiles(event)) return;
    event.preventDefault();
    take([...event.dataTransfer.files]);
  });
}
