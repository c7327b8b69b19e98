// Filters of the mentions by context, kind and review, and the legend of the marks.

import { ALL, contextsIn, KINDS, kindsIn, NO_KIND, passes, valuesIn } from "./context.js";
import { byId, closeAsMenu, make } from "./dom.js";
import { stateOf } from "./review.js";

/** @param {() => void} changed a filter has changed */
export function createFilters(changed) {
  const contexts = byId("filter-context");
  const kinds = byId("filter-kind");
  const reviews = byId("filter-review");
  const filter = { context: ALL, kind: "", review: "" };
  let explained = "";

  closeAsMenu(byId("filters-menu"));
  contexts.addEventListener("change", () => {
    filter.context = contexts.value;
    changed();
  });
  kinds.addEventListener("change", () => {
    filter.kind = kinds.value;
    changed();
  });

  reviews.addEventListener("change", () => {
    filter.review = reviews.value;
    changed();
  });

  function drawKinds(links) {
    const all = kindsIn(links);
    byId("filter-kind-row").hidden = filter.kind === "" && all.every((kind) => kind === NO_KIND);
    offer(kinds, [["", "All kinds"], ...all.map((kind) => [kind, KINDS[kind]])]);
  }

  function drawLegend(visible) {
    const values = valuesIn(visible);
    const key = values.map(({ word }) => word).join();
    if (key === explained) return;
    explained = key;
    byId("marks-key").hidden = values.length === 0;
    byId("mark-legend").replaceChildren(...values.map(explain));
  }

  return {
    /** Whether anything may be hidden. */
    active: () => filter.context !== ALL || filter.kind !== "" || filter.review !== "",

    /** Whether a mention is shown. @param {import("./state.js").Link} link */
    pass: (link) => passes(filter, link) && (filter.review === "" || stateOf(link) === filter.review),

    /**
     * @param {import("./state.js").Link[]} links all mentions
     * @param {import("./state.js").Link[]} visible those that are shown
     */
    draw(links, visible) {
      offer(contexts, contextsIn(links));
      drawKinds(links);
      drawLegend(visible);
    },
  };
}

/**
 * Offers choices that occur, and the one that is chosen. They remain the same elements while they can, because a menu may be open.
 *
 * @param {HTMLSelectElement} select
 * @param {[string, string][]} choices value and words
 */
function offer(select, choices) {
  const { value, selectedOptions } = select;
  const [chosen] = selectedOptions;
  if (chosen && !choices.some(([one]) => one === value)) choices.push([value, chosen.textContent]);
  if (choices.map(([one]) => one).join() === [...select.options].map((option) => option.value).join()) return;
  select.replaceChildren(...choices.map(([one, words]) => make("option", { value: one }, words)));
  select.value = chosen ? value : choices[0][0];
}

/** A mark as in the note, and what it means. */
function explain({ word, line, sign }) {
  const sample = make("span", { className: `mark sample ${line ?? ""}`, "aria-hidden": "true" }, "abc");
  if (sign) sample.dataset.signs = sign;
  return make("li", {}, sample, word);
}
