// The note: a text field with the marks behind it for writing, and the same text with buttons for reading.

import { colourOf } from "./colours.js";
import { contextMarks, spoken } from "./context.js";
import { byId, moveWithArrows } from "./dom.js";
import { TextLayer } from "./layer.js";
import { SIGNS, stateOf } from "./review.js";
import { findEdit, overlap, piecesOf, same, typeOf } from "./state.js";

/** Scripts that are written from right to left. Only with them does each paragraph need a direction of its own. */
const RIGHT_TO_LEFT =
  /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe\u{10800}-\u{10fff}\u{1e800}-\u{1efff}\u200f\u202b\u202e\u2067]/u;

const HINTS = {
  write: "Click a mention for details, or press Ctrl+Enter in it.",
  read: "Each mention is a button. The arrow keys move between them.",
  overlong: "A line of this note is too long to be coloured here. Choose Read.",
};

/**
 * @param {object} on
 * @param {(text: string, caret: number, before: number, typed: boolean) => void} on.edit `before`: the caret before;
 *   `typed`: one letter
 * @param {(from: "past" | "future") => void} on.travel undo or redo
 * @param {(link: import("./state.js").Link, focus: boolean) => void} on.open a mention has been chosen
 * @param {(start: number, end: number) => void} on.add the selection is to be a mention
 * @param {(offset: number) => import("./state.js").Link | undefined} on.linkAt
 */
export function createEditor(on) {
  const field = byId("note-text");
  const scroller = byId("editor");
  const reading = byId("reading");
  const addButton = byId("add-mention");
  const behind = new TextLayer(byId("marks"), { buttons: false });
  const readable = new TextLayer(reading, { buttons: true });
  let shown = { text: "", marks: [] };

  const isReading = () => !reading.hidden;

  function draw() {
    const layer = isReading() ? readable : behind;
    layer.render(shown.text, shown.marks);
    for (const element of [scroller, reading]) element.classList.toggle("two-ways", RIGHT_TO_LEFT.test(shown.text));
    const hint = HINTS[isReading() ? "read" : layer.overlong ? "overlong" : "write"];
    if (byId("note-hint").textContent !== hint) byId("note-hint").textContent = hint;
  }

  function setMode(read) {
    const share = current().scrollTop / Math.max(1, current().scrollHeight);
    reading.hidden = !read;
    scroller.hidden = read;
    byId("mode-read").setAttribute("aria-pressed", String(read));
    byId("mode-edit").setAttribute("aria-pressed", String(!read));
    draw();
    current().scrollTop = share * current().scrollHeight;
    selectionChanged();
  }

  const current = () => (isReading() ? reading : scroller);

  /** What is selected, in the field or in the text that is read. */
  function selection() {
    if (!isReading()) return { start: field.selectionStart, end: field.selectionEnd };
    const chosen = getSelection();
    if (chosen.rangeCount === 0 || chosen.isCollapsed) return { start: 0, end: 0 };
    const range = chosen.getRangeAt(0);
    if (!reading.contains(range.startContainer) || !reading.contains(range.endContainer)) return { start: 0, end: 0 };
    const before = document.createRange();
    before.selectNodeContents(reading);
    before.setEnd(range.startContainer, range.startOffset);
    const start = before.toString().length;
    return { start, end: start + range.toString().length };
  }

  function selectionChanged() {
    const inside = isReading() || document.activeElement === field;
    if (!inside) return;
    const { start, end } = selection();
    addButton.disabled = start === end;
  }

  function add() {
    const { start, end } = selection();
    if (start === end) return false;
    on.add(start, end);
    return true;
  }

  let before = 0;
  field.addEventListener("beforeinput", (event) => {
    before = field.selectionEnd;
    const from = { historyUndo: "past", historyRedo: "future" }[event.inputType];
    if (!from) return;
    event.preventDefault();
    on.travel(from);
  });
  field.addEventListener("input", ({ inputType, data }) => {
    const isLetter = inputType === "insertText" && data?.length === 1;
    const typed = isLetter || /^(deleteContent(Back|For)ward|insertCompositionText)$/.test(inputType);
    on.edit(field.value, field.selectionEnd, before, typed);
  });
  field.addEventListener("click", () => {
    if (field.selectionStart !== field.selectionEnd) return;
    const link = on.linkAt(field.selectionStart);
    if (link) on.open(link, false);
  });
  const keys = (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    if (add() || isReading()) return;
    const link = on.linkAt(field.selectionStart);
    if (link) on.open(link, true);
  };
  field.addEventListener("keydown", keys);
  reading.addEventListener("keydown", keys);
  addButton.addEventListener("click", add);
  document.addEventListener("selectionchange", selectionChanged);
  reading.addEventListener("click", (event) => {
    const button = event.target.closest(".mark");
    const mark = button && readable.markOf(button);
    if (mark) on.open(mark.link, event.detail === 0);
  });
  /** The mention whose button has the keyboard. */
  const focused = () => {
    const button = document.activeElement?.closest?.("#reading .mark");
    return button ? readable.markOf(button)?.link : undefined;
  };
  moveWithArrows(reading, ".mark");
  byId("mode-edit").addEventListener("click", () => setMode(false));
  byId("mode-read").addEventListener("click", () => setMode(true));

  /** Replaces what differs, as if it were typed, so that the browser can undo it too. */
  function replace(text) {
    setMode(false);
    const edit = findEdit(field.value, text);
    if (!edit) return;
    field.focus();
    field.setSelectionRange(edit.start, edit.start + edit.removed);
    const words = text.slice(edit.start, edit.start + edit.inserted);
    const done = words === "" ? document.execCommand("delete") : document.execCommand("insertText", false, words);
    if (done && field.value === text) return;
    field.value = text;
    on.edit(text, text.length, 0, false);
  }

  return {
    replace,
    focused,

    /** Puts another note into the field. @param {import("./state.js").Note} note */
    show(note) {
      field.value = note.text;
      const caret = Math.min(note.view.caret, note.text.length);
      field.setSelectionRange(caret, caret);
      addButton.disabled = true;
    },

    /** Shows the text of a note that undo or redo has changed. @param {string} text @param {number} caret */
    restore(text, caret) {
      if (field.value === text) return;
      field.value = text;
      field.setSelectionRange(caret, caret);
    },

    /** Remembers where the reader is in a note. @param {import("./state.js").Note} note */
    leave(note) {
      note.view = { caret: field.selectionStart, scroll: current().scrollTop };
    },

    /** Goes where the reader was. @param {import("./state.js").Note} note */
    scroll(note) {
      current().scrollTop = note.view.scroll;
    },

    /**
     * @param {string} text
     * @param {import("./state.js").Link[]} links
     * @param {{ start: number, end: number } | null} chosen
     */
    draw(text, links, chosen) {
      const open = chosen === null ? undefined : links.find((link) => same(link, chosen));
      const holes = open ? piecesOf(open) : [];
      // The chosen mention shows all of its pieces; others give way where they share a word with it.
      const marks = links.flatMap((link) => (link === open ? marksOf(link, true) : around(marksOf(link, false), holes)));
      // Of pieces that start together the longest is shown. Sorting is stable: of equal ones that of the first mention.
      shown = { text, marks: marks.sort((a, b) => a.start - b.start || b.end - a.end) };
      draw();
    },

    /**
     * Brings a mention into view.
     *
     * @param {{ start: number, end: number }} span
     * @returns {HTMLElement | undefined}
     */
    reveal(span) {
      const mark = (isReading() ? readable : behind).elementOf(span);
      if (!mark) return undefined;
      const box = current();
      const [inner, outer] = [mark.getBoundingClientRect(), box.getBoundingClientRect()];
      if (inner.top < outer.top || inner.bottom > outer.bottom) {
        box.scrollTop += inner.top - outer.top - outer.height / 3;
      }
      return mark;
    },

    /** Puts the keyboard back where the note is. @param {{ start: number, end: number } | null} span */
    focus(span) {
      if (!isReading()) field.focus({ preventScroll: true });
      else if (span) readable.elementOf(span)?.focus({ preventScroll: true });
    },
  };
}

/** The marks of a mention, one for each of its pieces. */
function marksOf(link, chosen) {
  const linked = link.decision === "linked";
  const { lines, signs } = contextMarks(link);
  const className = [colourOf(typeOf(link)), ...lines, ...(chosen ? ["chosen"] : [])].join(" ");
  const label = `${spoken(link)}: ${linked ? `${link.concept.name}, ${typeOf(link)}` : "no match"}, ${stateOf(link)}`;
  const state = stateOf(link);
  const reviewed = state === "open" ? signs : SIGNS[state] + signs;
  return piecesOf(link).map(({ start, end }) => ({ start, end, link, className, signs: reviewed, label }));
}

/** What is left of marks beside the holes. */
function around(marks, holes) {
  const beside = (mark, hole) =>
    overlap(mark, hole) ? [{ ...mark, end: hole.start }, { ...mark, start: hole.end }].filter(({ start, end }) => start < end) : [mark];
  return holes.reduce((left, hole) => left.flatMap((mark) => beside(mark, hole)), marks);
}
