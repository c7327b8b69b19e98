// The states of a review: what is open, what a reader has confirmed or changed, and what is doubtful. Pure.

import { reviewOf } from "./state.js";

/** @typedef {import("./state.js").Link} Link */
/** @typedef {import("./state.js").Note} Note */

/** @typedef {"open" | "confirmed" | "changed"} State */

/** The sign of each state. @type {Record<State, string>} */
export const SIGNS = { open: "○", confirmed: "✓", changed: "✎" };

/** @param {Link} link @returns {State} */
export const stateOf = (link) => link.review?.review ?? "open";

/** @param {Link} link */
export const isOpen = (link) => link.review === undefined;

/**
 * How far the review of a note is. Removed mentions count: the reader has decided on them.
 *
 * @param {Note} note
 * @returns {{ done: number, total: number, confirmed: number, changed: number }}
 */
export function progressOf({ links, decisions }) {
  const removed = decisions.filter(({ action }) => action === "remove").length;
  const confirmed = links.filter((link) => stateOf(link) === "confirmed").length;
  const changed = links.filter((link) => stateOf(link) === "changed").length + removed;
  return { done: confirmed + changed, total: links.length + removed, confirmed, changed };
}

/** "23 of 79 reviewed". @param {{ done: number, total: number }} progress */
export const progressWords = ({ done, total }) =>
  `${done.toLocaleString("en")} of ${total.toLocaleString("en")} reviewed`;

/**
 * How doubtful an answer is, 0 to 1: how likely it is wrong, by the probability of its best candidate; without
 * probabilities, how near
 * the score is to the threshold.
 *
 * @param {Link} link
 * @param {number | null} threshold
 */
export function doubt({ decision, probability, candidates }, threshold) {
  const best = candidates[0];
  if (!best) return 0;
  if (probability !== undefined) return decision === "linked" ? 1 - probability : probability;
  return threshold === null ? 0 : Math.max(0, 1 - Math.abs(best.score - threshold));
}

/**
 * Links with the most doubtful open ones first, then those that were reviewed; each in the order of the text where
 * equal.
 *
 * @param {Link[]} links
 * @param {number | null} threshold
 */
export const doubtfulFirst = (links, threshold) =>
  [...links].sort((a, b) => isOpen(b) - isOpen(a) || doubt(b, threshold) - doubt(a, threshold) || a.start - b.start);

/**
 * The next open mention after a place in a list, from its begin on after its end.
 *
 * @param {Link[]} links in the order of the list
 * @param {number} at the place of the mention that was reviewed; -1 to begin with the first
 * @returns {Link | undefined}
 */
export const nextOpen = (links, at) => [...links.slice(at + 1), ...links.slice(0, at + 1)].find(isOpen);

/**
 * The links and removed mentions of an export: each review names its reader.
 *
 * @param {Note} note
 * @param {string} reader
 * @returns {{ links: Link[], removed: { start: number, end: number, fragments?: object[], review: object }[] }}
 */
export function reviewed({ links, decisions }, reader) {
  const named = (review) => ({ ...review, reviewed_by: review.reviewed_by ?? reader });
  const removed = decisions
    .filter(({ action }) => action === "remove")
    .map((decision) => ({
      start: decision.start,
      end: decision.end,
      fragments: decision.base.fragments,
      review: named(reviewOf(decision)),
    }));
  return { links: links.map((link) => (link.review ? { ...link, review: named(link.review) } : link)), removed };
}
