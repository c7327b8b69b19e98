// Filters of the mentions by context and kind, and the legend of the marks.

import { KINDS, kindsIn, NO_KIND, passes, valuesIn } from "./context.js";
import { byId, make } from "./dom.js";

/** @param {() => void} changed a filter has changed */
export function createFilters(changed) {
  const stated = byId("filter-context");
  const kinds = byId("filter-kind");
  const filter = { stated: false, kind: "" };
  let offered = "";
  let explained = "";

  stated.addEventListener("change", () => {
    filter.stated = stated.value === "stated";
    changed();
  });
  kinds.addEventListener("change", () => {
    filter.kind = kinds.value;
    changed();
  });

  /** Offers the kinds that occur. The choices remain the same elements while they can, because a menu may be open. */
  function drawKinds(links) {
    const all = kindsIn(links);
    if (filter.kind !== "" && !all.includes(filter.kind)) all.push(filter.kind);
    byId("filter-kind-row").hidden = filter.kind === "" && all.every((kind) => kind === NO_KIND);
    if (all.join() === offered) return;
    offered = all.join();
    const choice = (value, words) => make("option", { value }, words);
    kinds.replaceChildren(choice("", "All kinds"), ...all.map((kind) => choice(kind, KINDS[kind])));
    kinds.value = filter.kind;
  }

  function drawLegend(visible) {
    const values = valuesIn(visible);
    const key = values.map(({ word }) => word).join();
    if (key === explained) return;
    explained = key;
    byId("mark-legend").hidden = values.length === 0;
    byId("mark-legend").replaceChildren(...values.map(explain));
  }

  return {
    /** Whether anything may be hidden. */
    active: () => filter.stated || filter.kind !== "",

    /** Whether a mention is shown. @param {import("./state.js").Link} link */
    pass: (link) => passes(filter, link),

    /**
     * @param {import("./state.js").Link[]} links all mentions
     * @param {import("./state.js").Link[]} visible those that are shown
     */
    draw(links, visible) {
      drawKinds(links);
      drawLegend(visible);
    },
  };
}

/** A mark as in the note, and what it means. */
function explain({ word, line, sign }) {
  const sample = make("span", { className: `mark sample ${line ?? ""}`, "aria-hidden": "true" }, "abc");
  if (sign) sample.dataset.signs = sign;
  return make("li", {}, sample, word);
}
