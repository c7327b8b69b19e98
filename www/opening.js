// Opens the page's own exports again: puts their decisions on the note that they are about.

import { remember } from "./history.js";
import { misfitWords, readBrat, readJson } from "./reopen.js";
import { normalise, signature } from "./state.js";
import { fileName } from "./words.js";

const stem = (name) => fileName(name.replace(/\.(json|ann)$/i, ""), "").toLowerCase();

/**
 * @param {{ name: string, format: "json" | "ann", text: string }} file
 * @param {{ all: () => import("./state.js").Note[], add: (name: string, text: string) => import("./state.js").Note }}
 *   notes
 * @returns {{ note: import("./state.js").Note | null, problem: string }} the note that was opened, and what to tell
 *   the reader
 */
export function openAnnotation({ name, format, text }, notes) {
  return format === "json" ? openJson(name, text, notes) : openBrat(name, text, notes);
}

function openJson(name, json, notes) {
  const found = readJson(json);
  if (!found) return { note: null, problem: `${name} is not a note that PEL has exported as JSON.` };
  const namesake = notes.all().find((note) => stem(note.name) === stem(found.name));
  const isSame = namesake?.text === normalise(found.text);
  const note = isSame ? namesake : notes.add(found.name, found.text);
  const other =
    namesake && !isSame
      ? `The text in ${name} is another than that of the open note “${namesake.name}”. ` +
        "The file was opened as a note of its own."
      : "";
  take(note, name, found);
  return { note, problem: [other, misfitWords(name, found)].filter(Boolean).join(" ") };
}

function openBrat(name, standoff, notes) {
  const note = notes.all().findLast((one) => stem(one.name) === stem(name));
  if (!note)
    return { note: null, problem: `${name} has no text. Open it together with ${name.replace(/ann$/i, "txt")}.` };
  const found = readBrat(standoff, note.text);
  take(note, name, found);
  return { note, problem: misfitWords(name, found) };
}

function take(note, name, { decisions, added }) {
  if (note.decisions.length + note.added.length > 0) remember(note, `the opening of ${name}`);
  Object.assign(note, { decisions, added, fresh: null });
  note.saved = signature(note);
}
