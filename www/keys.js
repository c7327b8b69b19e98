// Keys of a review. They work where a mention, or the column beside the note, has the keyboard, and no text field.

import { byId } from "./dom.js";

/**
 * @param {object} on
 * @param {(from: "past" | "future") => void} on.travel undo or redo
 * @param {(name: "confirm" | "nil" | "remove" | "open" | "on" | "back" | "search" | "close" | number) => boolean}
 *   on.act does something
 *   with the mention that is chosen or has the keyboard; a number chooses a candidate; false if there is nothing to do
 */
export function createKeys(on) {
  const acts = {
    c: "confirm",
    x: "nil",
    delete: "remove",
    n: "open",
    j: "on",
    k: "back",
    s: "search",
    escape: "close",
  };

  document.addEventListener("keydown", (event) => {
    const key = event.key.toLowerCase();
    if ((event.ctrlKey || event.metaKey) && !event.altKey) {
      const from = key === "y" || (key === "z" && event.shiftKey) ? "future" : key === "z" ? "past" : null;
      // Other fields undo by themselves.
      if (!from || (isField(event.target) && event.target.id !== "note-text")) return;
      event.preventDefault();
      on.travel(from);
      return;
    }
    if (event.altKey || event.ctrlKey || event.metaKey || event.defaultPrevented) return;
    if (key === "escape" ? !isInside(event.target) : isField(event.target) || !isInside(event.target)) return;
    const name = /^[1-9]$/.test(key) ? Number(key) - 1 : acts[key];
    if (name !== undefined && on.act(name)) event.preventDefault();
  });
}

const isField = (element) =>
  element.matches("textarea, select, input:not([type=checkbox], [type=range], [type=button])");

/** Whether an element is in the column or in the text that is read. Menus and dialogs have keys of their own. */
const isInside = (element) =>
  !element.closest(".menu, dialog") && (byId("side").contains(element) || byId("reading").contains(element));
