// The details of one mention: its decision, its candidates, and the reader's actions.

import { conceptFacts, contextFacts, explanation } from "./facts.js";
import { colourOf } from "./colours.js";
import { contextRows } from "./context.js";
import { byId, keepFocus, make } from "./dom.js";
import { decisionOf } from "./state.js";
import { isOpen, stateOf } from "./review.js";
import { likelihoodWords, nilWords, originWords, score, setOf, setsWords, thresholdOf } from "./words.js";

/** Pixels between the panel and the element that it must not cover. */
const MARGIN = 24;

/**
 * @typedef {object} Actions
 * @property {() => void} close
 * @property {(by: number) => void} step to the mention before (-1) or after (1)
 * @property {(link: import("./state.js").Link, concept: import("./state.js").Candidate) => void} choose
 * @property {(link: import("./state.js").Link) => void} confirm
 * @property {(link: import("./state.js").Link) => void} nil
 * @property {(link: import("./state.js").Link) => void} remove
 * @property {(link: import("./state.js").Link) => void} reopen
 * @property {() => import("./linker.js").Linker} linker
 * @property {() => number | null} threshold
 */

/** @param {Actions} actions */
export function createDetails(actions) {
  const panel = byId("details");
  const place = byId("details-body");
  let shown = { note: null, link: null, key: "", explained: false, sets: [] };
  let found = [];

  byId("details-close").addEventListener("click", () => actions.close());
  byId("details-back").addEventListener("click", () => actions.step(-1));
  byId("details-on").addEventListener("click", () => actions.step(1));
  byId("find").addEventListener("submit", async (event) => {
    event.preventDefault();
    const words = byId("find-words").value.trim();
    const pel = actions.linker().pel;
    if (!words || !pel || !shown.link) return;
    const { key } = shown;
    let all;
    try {
      all = await pel.find(words, { k: 8 });
    } catch (error) {
      if (error?.code !== "cancelled") byId("find-note").textContent = "The search failed. Try other words.";
      return;
    }
    if (key !== shown.key) return;
    found = all;
    byId("find-note").textContent = found.length === 0 ? "Nothing found." : "";
    drawFound();
  });

  function drawFound() {
    keepFocus(byId("found"), () => {
      byId("found").replaceChildren(...rows(found, "found"));
    });
  }

  function draw() {
    const { note, link } = shown;
    const decided = decisionOf(note, link);
    const threshold = thresholdOf(actions.threshold(), link);
    byId("details-heading").textContent = link.text;
    const body = make("div", {},
      decision(link, threshold),
      contextFacts(link, note.text),
      make("div", { className: "buttons", id: "review-actions" },
        isOpen(link) && act("confirm", "Confirm", "C", actions.confirm),
        decided && act("reopen", "Undo my review", "", actions.reopen),
        link.decision === "linked" && act("nil", "No match", "X", actions.nil),
        act("remove", "Remove mention", "Del", actions.remove)),
      make("div", { className: "heading" }, make("h3", { id: "candidates-heading" }, "Candidates"),
        threshold === null ? make("span", { className: "quiet" }, "similarity")
          : make("span", { className: "quiet key" }, `threshold ${score(threshold)}`)),
      link.candidates.length === 0
        ? make("p", { className: "quiet" }, "No candidate. Search for a concept below.")
        : make("ul", { className: "candidates numbered", "aria-labelledby": "candidates-heading" },
          ...rows(link.candidates, "candidate")),
      margin(link),
      shown.sets.length > 0 && make("p", { className: "quiet", id: "answer-sets" }, setsWords(shown.sets)));
    keepFocus(place, () => place.replaceChildren(body));
    drawFound();
  }

  async function drawFacts() {
    const { note, link, key, explained } = shown;
    const { pel } = actions.linker();
    const threshold = actions.threshold() ?? undefined;
    const place = byId("details-facts");
    const id = (link.concept ?? link.candidates[0])?.id;
    if (!pel) return;
    const [facts, why] = await Promise.all([
      id === undefined ? null : pel.concept(id).catch(() => null),
      explained ? pel.explain({ start: link.start, end: link.end, fragments: link.fragments }, { threshold }).catch(() => null) : null,
    ]);
    if (shown.key !== key || shown.explained !== explained || shown.note !== note) return;
    if (why?.answer_sets) {
      shown.sets = why.answer_sets;
      draw();
    }
    const parts = facts ? conceptFacts(facts, pel, link.decision === "nil") : [];
    const open = place.querySelector(".why")?.open ?? false;
    parts.push(explanation(link, why, originWords(link.origin)));
    keepFocus(place, () => place.replaceChildren(...parts));
    place.querySelector(".why").open = open;
  }

  // Reads the link when the button is pressed, because an edit may have moved it.
  function act(key, words, shortcut, work) {
    const keys = { Del: "Delete" }[shortcut] ?? (shortcut || null);
    const properties = { type: "button", className: key, "aria-keyshortcuts": keys, onclick: () => work(shown.link) };
    const button = make("button", properties, words,
      shortcut !== "" && make("kbd", { "aria-hidden": "true" }, shortcut));
    button.dataset.key = key;
    return button;
  }

  function rows(candidates, kind) {
    const { link } = shown;
    const threshold = thresholdOf(actions.threshold(), link);
    const highest = Math.max(1, threshold ?? 0, ...candidates.map((one) => one.score));
    return candidates.map((candidate) => {
      const chosen = link.decision === "linked" && link.concept?.id === candidate.id;
      const button = row(candidate, setOf(shown.sets, candidate.id), threshold, highest, () => actions.choose(shown.link, candidate));
      button.setAttribute("aria-pressed", String(chosen));
      button.dataset.key = `${kind} ${candidate.id}`;
      return make("li", {}, button);
    });
  }

  function clear() {
    found = [];
    byId("found").replaceChildren();
    byId("find-words").value = "";
    byId("find-note").textContent = "";
    byId("details-facts").replaceChildren();
    shown = { ...shown, key: "", explained: false, sets: [] };
    panel.scrollTop = 0;
  }

  return {
    /** Resets the panel before another mention is shown. */
    clear,

    /**
     * Shows a mention, or updates it after a change.
     *
     * @param {import("./state.js").Note} note
     * @param {import("./state.js").Link} link
     */
    show(note, link) {
      const linker = actions.linker();
      const key = [note.id, link.text, link.decision, link.nil_reason, link.concept?.id, actions.threshold(),
        decisionOf(note, link)?.action, stateOf(link), ...contextRows(link),
        ...link.candidates.map((one) => `${one.id} ${one.score}`)].join("|");
      const anew = key !== shown.key;
      // The engine can only explain mentions of the text that it linked last.
      const explained = linker.holds(note) || (!anew && shown.explained);
      const more = explained && !shown.explained;
      panel.hidden = false;
      byId("details-hint").hidden = true;
      shown = { note, link, key, explained, sets: anew ? [] : shown.sets };
      if (anew) draw();
      if (anew || more) drawFacts();
    },

    hide() {
      panel.hidden = true;
      byId("details-hint").hidden = false;
      clear();
      shown = { ...shown, note: null, link: null };
    },

    /** Chooses the candidate of this place in the list; false if there is none. @param {number} at */
    choose(at) {
      const candidate = shown.link?.candidates[at];
      if (candidate) actions.choose(shown.link, candidate);
      return Boolean(candidate);
    },

    /** Puts the keyboard into the search. */
    search: () => byId("find-words").focus(),

    focus: () => byId("details-heading").focus({ preventScroll: true }),

    /** Scrolls the page so that a panel on top of the page does not cover the element. */
    uncover(element) {
      if (!element || getComputedStyle(panel).position !== "fixed") return;
      const under = element.getBoundingClientRect().bottom + MARGIN - panel.getBoundingClientRect().top;
      if (under > 0) scrollBy(0, under);
    },
  };
}

function decision(link, threshold) {
  if (link.decision === "nil") {
    return make("p", { className: "decision", id: "decision" },
      make("strong", { className: "nil" }, "No match."), " ",
      make("span", { id: "nil-reason" }, nilWords(link, threshold)), reviewWords(link));
  }
  const { concept } = link;
  const best = link.concept?.id === link.candidates[0]?.id ? likelihoodWords(link) : "";
  const likely = link.decided_by === "reader" ? "Chosen by you." : best;
  return make("p", { className: "decision", id: "decision" },
    "Linked to ", make("strong", {}, concept.name), " ", make("code", {}, concept.id),
    likely && make("span", { className: "quiet", id: "likelihood" }, ` ${likely}`), reviewWords(link));
}

/** Who has reviewed a mention, when, and what was there before. */
function reviewWords({ review }) {
  if (!review) return null;
  const { review: state, reviewed_by: by = "you", reviewed_at: at, former } = review;
  const when = at ? `, ${new Date(at).toLocaleString([], { dateStyle: "medium", timeStyle: "short" })}` : "";
  const before = !former ? "" : ` Before: ${former.id === null ? "no match" : former.name}.`;
  const done = state === "confirmed" ? "Confirmed" : "Changed";
  return make("span", { className: `reviewed ${state}`, id: "review-note" }, ` ${done} by ${by}${when}.${before}`);
}

function margin({ candidates: [first, second] }) {
  if (!first || !second) return null;
  return make("p", { className: "quiet", id: "margin" },
    `The best candidate scores ${score(first.score - second.score)} more than the second.`);
}

/** A candidate as a button, with the set of answers that it is in, and its score as a bar with the threshold marked on it. */
function row(candidate, set, threshold, highest, onclick) {
  const about = [candidate.types[0], candidate.id].filter(Boolean).join(" · ");
  return make("button", { type: "button", className: "candidate", onclick },
    make("span", {}, make("span", { className: "name" }, candidate.name), " ",
      make("span", { className: "quiet" }, about), candidate.added && make("span", { className: "tag" }, "yours"),
      set !== "" && make("span", { className: "tag" }, set)),
    make("span", { className: "number" }, score(candidate.score)),
    bar(candidate, threshold, highest));
}

function bar(candidate, threshold, highest) {
  const share = (value) => `${Math.min(100, Math.max(0, (value / highest) * 100)).toFixed(1)}%`;
  const fill = make("span", { className: `fill ${colourOf(candidate.types[0] ?? "Other")}` });
  fill.style.setProperty("width", share(candidate.score));
  const whole = make("span", { className: "bar" }, fill);
  if (threshold !== null) {
    const tick = make("span", { className: "tick", title: `threshold ${score(threshold)}` });
    tick.style.setProperty("left", share(threshold));
    whole.append(tick);
  }
  return whole;
}
