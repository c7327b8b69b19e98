// The list of mentions: summary, filters, a page of the table.

import { attributeWords } from "./attributes.js";
import { rowCodes } from "./codes.js";
import { colourOf } from "./colours.js";
import { contextWords, spoken } from "./context.js";
import { announce, byId, keepFocus, make, moveWithArrows } from "./dom.js";
import { createFilters } from "./filters.js";
import { countTypes, same, summary, typeOf } from "./state.js";
import { counted, readingWords, score, shownWords, whole } from "./words.js";

const BROADER = "~ marks a broader code: it says less than the text";

/** Rows at a time; a long note has tens of thousands. */
const ROWS = 100;

/**
 * @param {object} on
 * @param {(link: import("./state.js").Link) => void} on.open
 * @param {() => void} on.filter the filter has changed
 * @param {() => void} on.restore removed mentions are to come back
 * @param {(note: import("./state.js").Note) => import("./linker.js").Progress | null} on.progress how far the linking of a note is
 * @param {() => import("./pkg/pel.js").CodeSystem | null} on.system the code system that the reader chose
 */
export function createMentions(on) {
  const hidden = new Set();
  const rows = byId("mention-rows");
  let shown = [];
  let page = 0;
  let note = null;
  let loaded = false;

  rows.addEventListener("click", (event) => {
    const row = event.target.closest("tr");
    const link = row && shown[Number(row.dataset.at)];
    if (link) on.open(link);
  });
  moveWithArrows(rows, "button");
  byId("page-back").addEventListener("click", () => turn(page - 1));
  byId("page-on").addEventListener("click", () => turn(page + 1));
  byId("restore-removed").addEventListener("click", () => {
    on.restore();
    // The button goes with what it restores.
    byId("mention-table").focus();
  });
  byId("legend").addEventListener("click", (event) => {
    const type = event.target.closest("button")?.dataset.key;
    if (type === undefined) return;
    if (!hidden.delete(type)) hidden.add(type);
    filterChanged();
  });
  const filters = createFilters(filterChanged);

  function filterChanged() {
    on.filter();
    announce(shownWords(shown.length, note.links.length));
  }

  function turn(to) {
    page = to;
    drawRows();
    byId("mention-table").scrollTop = 0;
  }

  function drawLegend(links) {
    const types = countTypes(links);
    for (const type of hidden) {
      if (!types.some(([one]) => one === type)) types.push([type, 0]);
    }
    keepFocus(byId("legend"), () => {
      byId("legend").replaceChildren(...types.map(([type, number]) => toggle(type, number, !hidden.has(type))));
    });
  }

  function drawRows() {
    const pages = Math.max(1, Math.ceil(shown.length / ROWS));
    page = Math.min(Math.max(0, page), pages - 1);
    const first = page * ROWS;
    keepFocus(rows, () => {
      rows.replaceChildren(...shown.slice(first, first + ROWS).map((link, at) => drawRow(note, link, first + at, on.system())));
    });
    byId("mention-pages").hidden = pages === 1;
    byId("page-words").textContent =
      `${whole(first + 1)} to ${whole(Math.min(first + ROWS, shown.length))} of ${whole(shown.length)}`;
    byId("page-back").disabled = page === 0;
    byId("page-on").disabled = page === pages - 1;
    byId("mention-table").hidden = shown.length === 0;
    byId("no-mentions").hidden = shown.length > 0;
    if (loaded) drawState();
  }

  /** What there is to say of the list as a whole. */
  function drawState() {
    const progress = note && on.progress(note);
    const reading = progress && `${readingWords(progress)}`;
    const none = note.links.length === 0;
    byId("summary").textContent = !reading ? summary(note.links) : none ? "" : `${summary(note.links)} so far: ${reading}`;
    byId("no-mentions").textContent = !none ? "The filters hide all mentions."
      : reading ? `The note is being read: ${reading}` : "No mentions to show.";
  }

  return {
    /** The links that the filters let through. @param {import("./state.js").Link[]} links */
    filtered: (links) => (hidden.size === 0 && !filters.active()
      ? links
      : links.filter((link) => !hidden.has(typeOf(link)) && filters.pass(link))),

    /**
     * @param {import("./state.js").Note} next
     * @param {import("./state.js").Link[]} visible
     */
    draw(next, visible) {
      if (note !== next) page = 0;
      note = next;
      shown = visible;
      if (!loaded) byId("summary").textContent = summary(note.links);
      byId("shown").textContent = shown.length < note.links.length ? shownWords(shown.length, note.links.length) : "";
      drawLegend(note.links);
      filters.draw(note.links, shown);
      drawRows();
      const removed = note.decisions.filter(({ action }) => action === "remove").length;
      byId("removed").hidden = removed === 0;
      byId("removed-words").textContent = `${counted(removed, "mention")} removed by you.`;
    },

    /** From now on notes are linked. */
    ready: () => {
      loaded = true;
      drawState();
    },

    /** Tells how far the linking of the note is. */
    progress: () => {
      if (loaded) drawState();
    },

    /** Tells screen readers how the note was linked. */
    say: () => announce(note ? summary(note.links) : ""),

    /**
     * Turns to the page with a mention.
     *
     * @param {{ start: number, end: number }} span
     * @returns {HTMLElement | undefined} its row
     */
    reveal(span) {
      const at = shown.findIndex((link) => same(link, span));
      if (at < 0) return undefined;
      if (Math.floor(at / ROWS) !== page) turn(Math.floor(at / ROWS));
      const row = rows.children[at - page * ROWS];
      const box = byId("mention-table");
      const [inner, outer] = [row.getBoundingClientRect(), box.getBoundingClientRect()];
      const head = byId("mention-head").offsetHeight;
      if (inner.top < outer.top + head) box.scrollTop += inner.top - outer.top - head;
      else if (inner.bottom > outer.bottom) box.scrollTop += inner.bottom - outer.bottom;
      return row;
    },

    /** Puts the keyboard on the row of a mention. @param {{ start: number, end: number }} span */
    focus(span) {
      const row = [...rows.children].find((one) => same(shown[Number(one.dataset.at)], span));
      row?.querySelector("button").focus({ preventScroll: true });
      return Boolean(row);
    },

    /** The mention before or after another. */
    next(span, by) {
      const at = shown.findIndex((link) => same(link, span));
      return at < 0 ? undefined : shown[at + by];
    },
  };
}

function toggle(type, number, pressed) {
  const button = make("button", { type: "button", className: `chip ${colourOf(type)}` });
  button.dataset.key = type;
  button.setAttribute("aria-pressed", String(pressed));
  const name = make("span", { className: "name" }, type);
  button.append(make("span", { className: "swatch" }), name, make("span", { className: "count" }, whole(number)));
  return button;
}

function drawRow(note, link, at, system) {
  const linked = link.decision === "linked";
  const chosen = note.chosen !== null && same(note.chosen, link);
  const context = contextWords(link);
  const attributes = attributeWords(link, note.text);
  const button = make("button", { type: "button", className: "mention", "aria-label": context ? spoken(link) : null }, link.text);
  button.dataset.key = `${link.start}-${link.end}`;
  if (chosen) button.setAttribute("aria-current", "true");
  const best = link.concept ?? link.candidates[0];
  const row = make("tr", { className: chosen ? "chosen" : "" },
    make("th", { scope: "row" }, button,
      context !== "" && make("span", { className: "context", "aria-hidden": "true" }, context),
      attributes !== "" && make("span", { className: "attributes" }, attributes)),
    make("td", {}, linked ? link.concept.name : make("span", { className: "nil" }, "NIL"),
      !linked && make("span", { className: "quiet" }, shortReason(link)), changedBy(note, link)),
    make("td", { className: "id" }, ...(linked ? codeCell(link.concept, system) : [])),
    make("td", { className: "type" },
      linked && make("span", { className: `dot ${colourOf(typeOf(link))}` }), linked ? typeOf(link) : ""),
    make("td", { className: "number" }, best ? score(best.score) : ""));
  row.dataset.at = at;
  return row;
}

/** The codes of a concept, or its identifier if it has none. */
function codeCell(concept, system) {
  const codes = rowCodes(concept, system);
  if (codes.length === 0) return [concept.id];
  return codes.map((words) => make("span", { className: "code", title: words.startsWith("~") ? BROADER : null }, words));
}

function shortReason(link) {
  if (link.nil_reason === "reader") return " set by you";
  const nearest = link.candidates[0];
  return nearest ? ` nearest: ${nearest.name}` : " no candidate";
}

function changedBy(note, link) {
  const decided = note.decisions.some((decision) => decision.action === "concept" && same(decision, link));
  const added = note.added.some((span) => same(span, link));
  if (!decided && !added) return null;
  return make("span", { className: "by-reader" }, decided ? " chosen by you" : " marked by you");
}
