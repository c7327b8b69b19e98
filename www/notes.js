// The notes that are open, how far each is reviewed, and the examples.

import { byId, closeAsMenu, keepFocus, make, moveWithArrows } from "./dom.js";
import { EXAMPLES } from "./examples.js";
import { ask } from "./question.js";
import { isOpen, progressOf, progressWords } from "./review.js";
import { createNote, signature } from "./state.js";
import { counted, whole } from "./words.js";

/**
 * @param {object} on
 * @param {(note: import("./state.js").Note) => void} on.leave another note is about to be shown
 * @param {(note: import("./state.js").Note) => void} on.show
 * @param {(note: import("./state.js").Note) => boolean} on.isKept whether the browser keeps a note as it is
 */
export function createNotes(on) {
  /** @type {import("./state.js").Note[]} */
  let notes = [];
  let current = null;
  let untitled = 0;
  let drawn = "";
  /** Notes that were closed, with their places; the last one comes back first. */
  let closed = [];
  const list = byId("note-list");
  const rows = byId("note-rows");
  const menu = byId("all-notes");

  byId("closed-undo").addEventListener("click", reopen);
  byId("closed-dismiss").addEventListener("click", () => {
    closed = [];
    drawClosed();
  });
  closeAsMenu(menu);
  moveWithArrows(list, ".note");
  moveWithArrows(rows, ".note");
  byId("next-note").addEventListener("click", () => {
    const next = nextUnreviewed();
    menu.open = false;
    menu.querySelector("summary").focus();
    if (next) show(next);
  });
  byId("example-list").append(...EXAMPLES.map((example) => make("li", {},
    make("button", { type: "button", onclick: () => take(example) }, example.name))));

  function take({ name, text }) {
    menu.open = false;
    menu.querySelector("summary").focus();
    show(notes.find((note) => note.name === name && note.text === text) ?? add(name, text));
  }

  function add(name = `Note ${(untitled += 1)}`, text = "") {
    const note = createNote(name, text);
    // A note with text replaces empty notes.
    if (text !== "") notes = notes.filter((one) => one.text !== "");
    notes.push(note);
    return note;
  }

  function show(note) {
    if (current && notes.includes(current)) on.leave(current);
    current = note;
    on.show(note);
  }

  async function close(note) {
    if (hasWork(note) && !(await ask(closing(note)))) return;
    const at = notes.indexOf(note);
    if (at < 0) return;
    if (note === current) on.leave(note);
    notes.splice(at, 1);
    if (note.text !== "") closed.push({ note, at });
    drawClosed();
    if (notes.length === 0) add();
    if (note === current) show(notes[Math.min(at, notes.length - 1)]);
    else draw();
    const where = menu.open ? rows : list;
    where.children[Math.min(at, notes.length - 1)].querySelector(".note").focus();
  }

  function reopen() {
    const { note, at } = closed.pop();
    notes = notes.filter((one) => one.text !== "");
    notes.splice(at, 0, note);
    drawClosed();
    show(note);
    list.querySelector(".current .note").focus();
  }

  function drawClosed() {
    const last = closed[closed.length - 1];
    byId("closed").hidden = !last;
    byId("closed-words").textContent = last ? `“${last.note.name}” is closed.` : "";
  }

  function draw() {
    const keyOf = (note) => `${note.id} ${note === current} ${note.links.length} ${progressOf(note).done}`;
    const key = notes.map(keyOf).join("|");
    if (key === drawn) return;
    drawn = key;
    keepFocus(list, () => list.replaceChildren(...notes.map((note) => drawNote(note, false))));
    keepFocus(rows, () => rows.replaceChildren(...notes.map((note) => drawNote(note, true))));
    reveal(list.querySelector(".current"));
    drawSums();
  }

  function drawSums() {
    const all = notes.map(progressOf);
    const sum = { done: 0, total: 0 };
    for (const { done, total } of all) {
      sum.done += done;
      sum.total += total;
    }
    const finished = all.filter(isDone).length;
    for (const id of ["note-name", "print-name"]) byId(id).textContent = current.name;
    byId("note-count").textContent = whole(notes.length);
    byId("note-sums").textContent = `${counted(notes.length, "note")}, ${whole(finished)} done: ${progressWords(sum)}.`;
    byId("next-note").disabled = !nextUnreviewed();
  }

  /** The next note with open mentions, after the current one. */
  function nextUnreviewed() {
    const at = notes.indexOf(current);
    return [...notes.slice(at + 1), ...notes.slice(0, at)].find((note) => note.links.some(isOpen));
  }

  function reveal(item) {
    const strip = byId("notes");
    const [inner, outer] = [item.getBoundingClientRect(), strip.getBoundingClientRect()];
    if (inner.left < outer.left) strip.scrollLeft += inner.left - outer.left;
    else if (inner.right > outer.right) strip.scrollLeft += inner.right - outer.right;
  }

  function drawNote(note, inMenu) {
    const progress = progressOf(note);
    const open = inMenu ? progressWords(progress) : whole(note.links.length);
    const words = progress.total === 0 ? "" : isDone(progress) ? "✓ done" : open;
    const choose = () => {
      show(note);
      if (!inMenu) return;
      menu.open = false;
      menu.querySelector("summary").focus();
    };
    const button = make("button", { type: "button", className: "note", onclick: choose }, note.name,
      words !== "" && make("span", { className: "count", "aria-hidden": inMenu ? null : "true" }, words));
    button.dataset.key = note.id;
    if (note === current) button.setAttribute("aria-current", "true");
    const cross = make("span", { "aria-hidden": "true" }, "×");
    const remove = make("button", { type: "button", className: "close", onclick: () => close(note) }, cross);
    remove.setAttribute("aria-label", `Close ${note.name}`);
    return make("li", { className: note === current ? "current" : "" }, button, remove);
  }

  return {
    all: () => notes,
    current: () => current,
    add,
    show,
    draw,

    /** Shows notes of an earlier visit in place of the others. @param {Partial<import("./state.js").Note>[]} records */
    restore(records) {
      notes = records.map(({ name, text, ...own }) => Object.assign(createNote(name, text), own));
      show(notes[0]);
    },

    /** Whether closing the page would lose the reader's work. */
    hasUnsavedWork: () => notes.some((note) => hasWork(note) && !on.isKept(note)),
  };
}

const isDone = ({ done, total }) => total > 0 && done === total;

const isExample = (note) => EXAMPLES.some(({ text }) => text === note.text);

/** Whether a note has a text, decisions or marks that were not exported, and come from no file. */
function hasWork(note) {
  const own = note.decisions.length > 0 || note.added.length > 0 || (note.text !== "" && !isExample(note));
  return own && note.saved !== signature(note);
}

const closing = ({ name }) => ({
  heading: `Close “${name}”?`,
  words: "Its text, your changes and marks are not exported.",
  yes: "Close",
});
