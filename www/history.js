// Undo and redo of everything in a note: its text, the decisions and the marks together. Pure.

import { copied, editNote } from "./state.js";

/**
 * A note before a change, and the words of that change.
 *
 * @typedef {{ text: string, decisions: import("./state.js").Decision[], added: { start: number, end: number }[],
 *   lost: import("./state.js").Lost | null, caret: number, words: string, typed: number | null }} Step
 * @typedef {{ past: Step[], future: Step[] }} History
 */

/** Steps that are kept, and letters of text in all of them. */
const [STEPS, LETTERS] = [500, 20_000_000];

/** Milliseconds within which letters that are typed are one step. */
const TYPING = 1500;

/**
 * Remembers a note before a change.
 *
 * @param {import("./state.js").Note} note
 * @param {string} words what the change is: "typing"
 * @param {{ caret?: number, typed?: number | null }} [change] the caret before it; the time in milliseconds if it is
 *   a letter that is typed
 */
export function remember(note, words, { caret = note.view.caret, typed = null } = {}) {
  const { past } = note.history;
  const last = past[past.length - 1];
  note.history.future = [];
  if (typed !== null && last?.typed && typed - last.typed < TYPING) {
    last.typed = typed;
    return;
  }
  past.push({ ...snapshot(note), caret, words, typed });
  let letters = 0;
  const from = past.findLastIndex((step, at) => {
    letters += step.text.length;
    return past.length - at > STEPS || (letters > LETTERS && at < past.length - 1);
  });
  past.splice(0, from + 1);
}

const snapshot = ({ text, decisions, added, lost }) => ({
  text,
  decisions: decisions.map(copied),
  added: added.map((span) => ({ ...span })),
  lost,
});

/**
 * Takes back the last change, or does it again.
 *
 * @param {import("./state.js").Note} note
 * @param {"past" | "future"} from
 * @param {typeof editNote} [edit] changes the text
 * @returns {{ words: string, caret: number, changed: boolean } | null} `changed`: whether the note has to be linked
 *   again; null if there is
 *   nothing to take back
 */
export function travel(note, from, edit = editNote) {
  const to = from === "past" ? "future" : "past";
  const step = note.history[from].pop();
  if (!step) return null;
  note.history[to].push({ ...snapshot(note), caret: step.caret, words: step.words, typed: null });
  const marks = JSON.stringify(note.added);
  const isText = note.text !== step.text;
  if (isText) edit(note, step.text, step.caret);
  note.decisions = step.decisions.map(copied);
  note.added = step.added.map((span) => ({ ...span }));
  note.lost = step.lost;
  const changed = isText || JSON.stringify(note.added) !== marks;
  if (changed) note.fresh = null;
  return { words: step.words, caret: Math.min(step.caret, note.text.length), changed };
}
