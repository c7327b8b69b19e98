// The list of notes, and the examples.

import { byId, closeAsMenu, keepFocus, make, moveWithArrows } from "./dom.js";
import { EXAMPLES } from "./examples.js";
import { createNote } from "./state.js";
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
  const list = byId("note-list");
  const menu = byId("examples");

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

  function close(note) {
    const at = notes.indexOf(note);
    notes.splice(at, 1);
    if (notes.length === 0) add();
    if (note === current) show(notes[Math.min(at, notes.length - 1)]);
    else draw();
    list.children[Math.min(at, notes.length - 1)].querySelector(".note").focus();
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
    hasUnsavedWork: () => notes.some((note) => note.decisions.length > 0 || note.added.length > 0 ||
      (note.text !== "" && !EXAMPLES.some(({ text }) => text === note.text))),
  };
}
