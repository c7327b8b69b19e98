// Shows the summary of a note, and copies it.

import { shownCodes } from "./codes.js";
import { colourOf } from "./colours.js";
import { announce, byId, keepFocus, make } from "./dom.js";
import { outward } from "./facts.js";
import { isOpen } from "./review.js";
import { same, typeOf } from "./state.js";
import { saidWords, summarise, summaryText } from "./summary.js";

/**
 * @param {object} on
 * @param {(link: import("./state.js").Link) => void} on.open
 * @param {() => import("./pkg/pel.js").CodeSystem | null} on.system the code system that the reader chose
 * @param {(text: string) => Promise<void>} on.copy
 */
export function createSummary(on) {
  const body = byId("summary-body");
  const copy = byId("copy-summary");
  let shown = { links: [], text: "", chosen: null };
  /** A summary that is not in view is drawn when it is. */
  let stale = true;
  let sections = [];
  /** What is drawn; a letter that is typed mostly moves mentions alone. */
  let drawn = "";

  copy.addEventListener("click", async () => {
    try {
      await on.copy(summaryText(summarise(shown.links, shown.text), on.system()));
      announce("Summary copied.");
      copy.textContent = "Copied";
    } catch (error) {
      copy.textContent = `Not copied: ${error.message}`;
    }
    setTimeout(() => {
      copy.textContent = "Copy";
    }, 2000);
  });

  function draw() {
    stale = false;
    sections = summarise(shown.links, shown.text);
    const next = signature();
    if (next === drawn) return;
    drawn = next;
    copy.disabled = sections.length === 0;
    const parts = sections.map(({ key, heading, entries }, at) =>
      make(
        "section",
        { className: `group ${key}`, "aria-label": heading },
        make("h3", {}, heading, make("span", { className: "count" }, String(entries.length))),
        make("ul", {}, ...entries.map((entry, place) => drawEntry(entry, () => sections[at].entries[place]))),
      ),
    );
    const none = make("p", { className: "quiet" }, "The summary appears here once the note is linked.");
    keepFocus(body, () => body.replaceChildren(...(parts.length > 0 ? parts : [none])));
  }

  const isChosen = ({ links }) => shown.chosen !== null && links.some((link) => same(link, shown.chosen));

  /** All that the summary shows. */
  const signature = () =>
    JSON.stringify([
      on.system(),
      sections.map(({ key, entries }) => [
        key,
        entries.map((entry) => [
          entry.name,
          entry.said,
          entry.beside,
          entry.notes,
          entry.concept?.id,
          entry.concept?.codes?.length,
          typeOf(entry.links[0]),
          entry.links.length,
          entry.links.every((link) => !isOpen(link)),
          isChosen(entry),
        ]),
      ]),
    ]);

  /**
   * @param {import("./summary.js").Entry} entry
   * @param {() => import("./summary.js").Entry} now the entry when it is clicked
   */
  function drawEntry(entry, now) {
    const [first] = entry.links;
    const chosen = isChosen(entry);
    const name = make(
      "button",
      { type: "button", className: "mention", onclick: () => on.open(next(now())) },
      entry.name,
    );
    name.dataset.key = `${entry.name} ${entry.notes}`;
    if (chosen) name.setAttribute("aria-current", "true");
    const said = saidWords(entry);
    // The first code alone: one line an entry. The list and the details have all.
    const codes = entry.concept ? shownCodes(entry.concept, on.system()).slice(0, 1) : [];
    const all = codes.length > 0 || !entry.concept ? codes : [{ words: entry.concept.id, site: entry.concept.id }];
    return make(
      "li",
      { className: chosen ? "chosen" : "" },
      make("span", { className: `dot ${colourOf(typeOf(first))}` }),
      make(
        "span",
        { className: "entry" },
        name,
        entry.links.length > 1 && make("span", { className: "count" }, `× ${entry.links.length}`),
        entry.beside.length > 0 && make("span", { className: "beside" }, ` ${entry.beside.join("; ")}`),
        entry.notes.length > 0 && make("span", { className: "tag" }, entry.notes.join(", ")),
        said !== "" && make("span", { className: "context" }, `“${said}”`),
      ),
      make(
        "span",
        { className: "entry-codes" },
        ...(entry.concept
          ? all.map(({ words, site }) => outward(site, words, { className: "code" }))
          : [make("span", { className: "nil" }, "No match")]),
        entry.links.every((link) => !isOpen(link)) && make("span", { className: "done", title: "reviewed" }, "✓"),
      ),
    );
  }

  /** The mention of an entry after the one that is chosen, so that each is reached by clicking again. */
  const next = ({ links }) =>
    links[(links.findIndex((link) => shown.chosen && same(link, shown.chosen)) + 1) % links.length];

  return {
    /**
     * @param {import("./state.js").Note} note
     * @param {import("./state.js").Link[]} links those that the filters let through
     */
    draw(note, links) {
      shown = { links, text: note.text, chosen: note.chosen };
      if (byId("summary-view").hidden) stale = true;
      else draw();
    },

    /** Draws what has changed: the summary has come into view, or goes to a printer. */
    seen: () => stale && draw(),
  };
}
