// The list of notes, and the examples.

import { byId, closeAsMenu, keepFocus, make, moveWithArrows } from "./dom.js";
import { EXAMPLES } from "./examples.js";
import { ask } from "./question.js";
import { createNote, signature } from "./state.js";
import { whole } from "./words.js";

/**
 * @param {object} on
 * @param {(note: import("./state.js").Note) => void} on.leave another note is about to be shown
 * @param {(note: import("./state.js").Note) => void} on.show
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
  const menu = byId("examples");

  byId("closed-undo").addEventListener("click", reopen);
  byId("closed-dismiss").addEventListener("click", () => {
    closed = [];
    drawClosed();
  });
  closeAsMenu(menu);
  moveWithArrows(list, ".note");
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
    list.children[Math.min(at, notes.length - 1)].querySelector(".note").focus();
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
    const key = notes.map((note) => `${note.id} ${note === current} ${note.links.length}`).join("|");
    if (key === drawn) return;
    drawn = key;
    keepFocus(list, () => list.replaceChildren(...notes.map(drawNote)));
    reveal(list.querySelector(".current"));
  }

  function reveal(item) {
    const strip = byId("notes");
    const [inner, outer] = [item.getBoundingClientRect(), strip.getBoundingClientRect()];
    if (inner.left < outer.left) strip.scrollLeft += inner.left - outer.left;
    else if (inner.right > outer.right) strip.scrollLeft += inner.right - outer.right;
  }

  function drawNote(note) {
    const button = make("button", { type: "button", className: "note", onclick: () => show(note) }, note.name,
      note.links.length > 0 && make("span", { className: "count", "aria-hidden": "true" }, whole(note.links.length)));
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

    /** Whether closing the page would lose the reader's work. */
    hasUnsavedWork: () => notes.some(hasWork),
  };
}

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
