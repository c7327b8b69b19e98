// The three views of the column beside the note: summary, mentions, details.

import { byId } from "./dom.js";

/** @typedef {"summary" | "mentions" | "details"} View */

/** @type {Record<View, string>} the panel of each view */
const PANELS = { summary: "summary-view", mentions: "mentions", details: "details-view" };

/**
 * On other windows the details come up from below, and a list stays in view beside them. style.css has the same
 * condition.
 */
const WIDE = "(min-width: 1000px) and (min-height: 560px)";

/**
 * @param {object} on
 * @param {(view: View) => void} on.shown a view has come into view
 */
export function createViews(on) {
  const root = document.documentElement;
  const wide = matchMedia(WIDE);
  /** @type {View} */
  let list = "summary";
  let details = false;
  const tabs = Object.keys(PANELS).map((view) => [view, byId(`tab-${view}`)]);

  function draw() {
    const shown = current();
    root.toggleAttribute("data-details", details);
    for (const [view, tab] of tabs) {
      const isShown = view === shown;
      tab.setAttribute("aria-selected", String(isShown));
      tab.tabIndex = isShown ? 0 : -1;
      byId(PANELS[view]).hidden = view === "details" ? !details : !isShown;
    }
    byId("tab-details").hidden = !wide.matches;
  }

  const current = () => (details && wide.matches ? "details" : list);

  function show(view) {
    const before = current();
    details = view === "details";
    if (!details) list = view;
    draw();
    if (current() !== before) on.shown(current());
  }

  for (const [view, tab] of tabs) {
    tab.addEventListener("click", () => show(view));
    tab.addEventListener("keydown", (event) => {
      const seen = tabs.filter(([, one]) => !one.hidden);
      const at = seen.findIndex(([one]) => one === view);
      const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: seen.length - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      const [next, nextTab] = seen[(to + seen.length) % seen.length];
      show(next);
      nextTab.focus();
    });
  }
  wide.addEventListener("change", () => {
    draw();
    on.shown(current());
  });
  draw();

  return {
    show,
    current,
    /** From details back to the list that was shown before. */
    back: () => show(list),
  };
}
