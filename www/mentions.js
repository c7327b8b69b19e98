// The list of mentions: summary, order, filters, and the table.

import { attributeWords } from "./attributes.js";
import { shownCodes } from "./codes.js";
import { colourOf } from "./colours.js";
import { contextWords, spoken } from "./context.js";
import { announce, byId, keepFocus, make, placeByKey } from "./dom.js";
import { outward } from "./facts.js";
import { createFilters } from "./filters.js";
import { doubtfulFirst, nextOpen, SIGNS, stateOf } from "./review.js";
import { createRows } from "./rows.js";
import { countTypes, same, summary, typeOf } from "./state.js";
import { counted, likely, readingWords, score, shownWords, typeWords, whole } from "./words.js";

const BROADER = "~ marks a broader code: it says less than the text";

/**
 * @param {object} on
 * @param {(link: import("./state.js").Link) => void} on.open
 * @param {() => void} on.filter the filter has changed
 * @param {() => void} on.restore removed mentions are to come back
 * @param {(note: import("./state.js").Note) => import("./linker.js").Progress | null} on.progress how far the linking
 *   of a note is
 * @param {() => import("./pkg/pel.js").CodeSystem | null} on.system the code system that the reader chose
 * @param {() => number | null} on.threshold the threshold in use
 */
export function createMentions(on) {
  const hidden = new Set();
  const body = byId("mention-rows");
  const order = byId("sort");
  let visible = [];
  let shown = [];
  let note = null;
  let loaded = false;
  /** The place of the row that the Tab key reaches. */
  let reached = 0;

  const rows = createRows({
    draw: (at) => drawRow(note, shown[at], at, { system: on.system(), reached: at === reachedNow() }),
  });

  function reachedNow() {
    const chosen = note.chosen ? shown.findIndex((link) => same(link, note.chosen)) : -1;
    return chosen >= 0 ? chosen : Math.max(0, Math.min(reached, shown.length - 1));
  }

  body.addEventListener("click", (event) => {
    if (event.target.closest("a")) return;
    const link = linkOf(event.target);
    if (link) on.open(link);
  });
  body.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || !event.target.matches("button")) return;
    const at = Number(event.target.closest("tr").dataset.at);
    const to = placeByKey(event.key, at, shown.length);
    if (to === undefined) return;
    event.preventDefault();
    focusRow(to);
  });
  order.addEventListener("change", () => {
    drawRows();
    byId("mention-table").scrollTop = 0;
  });
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

  const linkOf = (element) => shown[Number(element.closest("tr")?.dataset.at)];

  function focusRow(to) {
    const row = rows.reveal(to);
    if (!row) return false;
    reached = to;
    for (const button of body.querySelectorAll("button")) button.tabIndex = -1;
    const button = row.querySelector("button");
    button.tabIndex = 0;
    button.focus({ preventScroll: true });
    return true;
  }

  function filterChanged() {
    on.filter();
    announce(shownWords(visible.length, note.links.length));
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
    shown = order.value === "doubt" ? doubtfulFirst(visible, on.threshold()) : visible;
    byId("mention-table").hidden = shown.length === 0;
    byId("no-mentions").hidden = shown.length > 0;
    byId("mention-list").setAttribute("aria-rowcount", String(shown.length + 1));
    rows.draw(shown.length);
    if (loaded) drawState();
  }

  /** What there is to say of the list as a whole. */
  function drawState() {
    const progress = note && on.progress(note);
    const reading = progress && `${readingWords(progress)}`;
    const none = note.links.length === 0;
    byId("summary").textContent = !reading
      ? summary(note.links)
      : none
        ? ""
        : `${summary(note.links)} so far: ${reading}`;
    byId("no-mentions").textContent = !none
      ? "The filters hide all mentions."
      : reading
        ? `The note is being read: ${reading}`
        : "No mentions to show.";
  }

  return {
    /** The links that the filters let through. @param {import("./state.js").Link[]} links */
    filtered: (links) =>
      hidden.size === 0 && !filters.active()
        ? links
        : links.filter((link) => !hidden.has(typeOf(link)) && filters.pass(link)),

    /**
     * @param {import("./state.js").Note} next
     * @param {import("./state.js").Link[]} those the links that are shown
     */
    draw(next, those) {
      if (note !== next) {
        byId("mention-table").scrollTop = 0;
        reached = 0;
      }
      note = next;
      visible = those;
      if (!loaded) byId("summary").textContent = summary(note.links);
      byId("mention-count").textContent = note.links.length > 0 ? whole(note.links.length) : "";
      const isFiltered = visible.length < note.links.length;
      byId("shown").textContent = isFiltered ? shownWords(visible.length, note.links.length) : "";
      byId("filters-menu").classList.toggle("active", isFiltered);
      drawLegend(note.links);
      filters.draw(note.links, visible);
      drawRows();
      const removed = note.decisions.filter(({ action }) => action === "remove").length;
      byId("removed").hidden = removed === 0;
      byId("removed-words").textContent = `${counted(removed, "mention")} removed by you.`;
    },

    /** Measures the rows again: the list has come into view. */
    seen() {
      if (!note) return;
      rows.draw(shown.length);
      if (note.chosen) this.reveal(note.chosen);
    },

    /** From now on notes are linked. @param {import("./pkg/pel.js").Manifest} manifest */
    ready: (manifest) => {
      loaded = true;
      byId("score-head").textContent = manifest.nil.probability ? "Prob." : "Score";
      byId("score-head").title = manifest.nil.probability
        ? "The probability that the concept, or the nearest one, is right"
        : "";
      drawState();
    },

    /** Tells how far the linking of the note is. */
    progress: () => {
      if (loaded) drawState();
    },

    /** Tells screen readers how the note was linked. */
    say: () => announce(note ? summary(note.links) : ""),

    /**
     * Scrolls to a mention.
     *
     * @param {{ start: number, end: number }} span
     * @returns {HTMLElement | undefined} its row
     */
    reveal: (span) => rows.reveal(shown.findIndex((link) => same(link, span))),

    /** Puts the keyboard on the row of a mention. @param {{ start: number, end: number }} span */
    focus: (span) => focusRow(shown.findIndex((link) => same(link, span))),

    /** The mention whose row has the keyboard. */
    focused: () => (body.contains(document.activeElement) ? linkOf(document.activeElement) : undefined),

    /** The mention before or after another. */
    next(span, by) {
      const at = shown.findIndex((link) => same(link, span));
      return at < 0 ? undefined : shown[at + by];
    },

    /**
     * The next open mention after another, or the first open one.
     *
     * @param {{ start: number, end: number } | null} span
     */
    nextOpen: (span) => nextOpen(shown, span ? shown.findIndex((link) => same(link, span)) : -1),
  };
}

function toggle(type, number, pressed) {
  const button = make("button", { type: "button", className: `chip ${colourOf(type)}` });
  button.dataset.key = type;
  button.setAttribute("aria-pressed", String(pressed));
  const name = make("span", { className: "name" }, typeWords(type));
  button.append(make("span", { className: "swatch" }), name, make("span", { className: "count" }, whole(number)));
  return button;
}

function drawRow(note, link, at, { system, reached }) {
  const linked = link.decision === "linked";
  const chosen = note.chosen !== null && same(note.chosen, link);
  const context = contextWords(link);
  const attributes = attributeWords(link, note.text);
  const button = make(
    "button",
    { type: "button", className: "mention", "aria-label": context ? spoken(link) : null },
    link.text,
  );
  button.dataset.key = `${link.start}-${link.end}`;
  button.tabIndex = reached ? 0 : -1;
  if (chosen) button.setAttribute("aria-current", "true");
  const state = stateOf(link);
  const row = make(
    "tr",
    { className: `${chosen ? "chosen " : ""}${state}`, "aria-rowindex": at + 2 },
    make(
      "td",
      { className: "state" },
      make("span", { "aria-hidden": "true", title: state }, SIGNS[state]),
      make("span", { className: "visually-hidden" }, state),
    ),
    make(
      "th",
      { scope: "row" },
      button,
      context !== "" && make("span", { className: "context", "aria-hidden": "true" }, context),
      attributes !== "" && make("span", { className: "attributes" }, attributes),
    ),
    make(
      "td",
      { className: "concept" },
      linked && make("span", { className: `dot ${colourOf(typeOf(link))}`, title: typeOf(link) }),
      linked ? link.concept.name : make("span", { className: "nil" }, "No match"),
      !linked && make("span", { className: "quiet" }, shortReason(link)),
      changedBy(note, link),
    ),
    make("td", { className: "id" }, ...(linked ? codeCell(link.concept, system, reached) : [])),
    make("td", { className: "number" }, likelihood(link)),
  );
  row.dataset.at = at;
  return row;
}

/** The probability of the machine's answer, or the score of its best candidate; empty where the reader decided. */
function likelihood(link) {
  if (link.decided_by === "reader") return "";
  if (link.probability !== undefined) return likely(link.probability);
  const best = link.concept ?? link.candidates[0];
  return best ? score(best.score) : "";
}

/** The codes of a concept, or its identifier if it has none, each with its site. */
function codeCell(concept, system, reached) {
  const codes = shownCodes(concept, system);
  const all = codes.length > 0 ? codes : [{ words: concept.id, site: concept.id }];
  return all.map(({ words, site }) =>
    outward(site, words, {
      className: "code",
      title: words.startsWith("~") ? BROADER : words,
      tabIndex: reached ? 0 : -1,
    }),
  );
}

function shortReason(link) {
  if (link.nil_reason === "reader") return " set by you";
  const nearest = link.candidates[0];
  return nearest ? ` nearest: ${nearest.name}` : " no candidate";
}

function changedBy(note, link) {
  const added = note.added.some((span) => same(span, link));
  const chosen = link.decided_by === "reader" && link.decision === "linked";
  if (!chosen && !added) return null;
  return make("span", { className: "by-reader" }, chosen ? " chosen by you" : " marked by you");
}
