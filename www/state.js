// Notes, and how their mentions and decisions follow edits. Pure: no page, no engine.

import { follow } from "./following.js";

/** @typedef {import("./pkg/pel.js").Link} Link */
/** @typedef {import("./pkg/pel.js").Candidate} Candidate */

/**
 * One change of a text: at `start`, `inserted` units replace `removed` ones.
 *
 * @typedef {{ start: number, removed: number, inserted: number }} Edit
 */

/**
 * A reader's decision on a mention; `base` is the engine's link that the reader saw. `confirm` keeps its answer. `by` is
 * null for the reader of this page; `at` is a time in UTC, null if unknown.
 *
 * @typedef {{ start: number, end: number, action: "confirm" | "concept" | "nil" | "remove", concept: Candidate | null,
 *   base: Link, by: string | null, at: string | null }} Decision
 */

/**
 * @typedef {object} Note
 * @property {number} id
 * @property {string} key by which the browser keeps it, if it keeps notes
 * @property {string} name
 * @property {string} text
 * @property {Link[]} machine the engine's links, moved by edits
 * @property {Link[]} links the engine's links with the reader's decisions; these are shown and exported
 * @property {Decision[]} decisions
 * @property {{ start: number, end: number }[]} added mentions that the reader has marked
 * @property {{ start: number, end: number } | null} chosen the mention whose details are open
 * @property {object | null} fresh the settings of the last linking; null after an edit
 * @property {Lost | null} lost what edits have taken of the reader's work, until it is back or given up
 * @property {string | null} saved what was last exported, or read from a file ({@link signature}); null if nothing was
 * @property {{ caret: number, scroll: number }} view
 * @property {import("./history.js").History} history what can be undone and redone
 */

/**
 * The reader's work that went with the text it was about, and the text and the work before that.
 *
 * @typedef {{ text: string, decisions: Decision[], added: { start: number, end: number }[], count: number }} Lost
 */

let count = 0;

/**
 * @param {string} name
 * @param {string} text
 * @returns {Note}
 */
export function createNote(name, text) {
  count += 1;
  return {
    id: count,
    key: `${Date.now().toString(36)}-${count}`,
    name,
    text: normalise(text),
    machine: [],
    links: [],
    decisions: [],
    added: [],
    chosen: null,
    fresh: null,
    lost: null,
    saved: null,
    view: { caret: 0, scroll: 0 },
    history: { past: [], future: [] },
  };
}

/**
 * A text with `\n` line ends, as in a text field, so that offsets agree.
 *
 * @param {string} text
 */
export function normalise(text) {
  return text.replace(/\r\n?/g, "\n");
}

/**
 * The one change between two texts; null if there is none.
 *
 * @param {string} before
 * @param {string} after
 * @param {number} [caret] the caret after the change; it identifies the new one of several equal letters
 * @returns {Edit | null}
 */
export function findEdit(before, after, caret = after.length) {
  if (before === after) return null;
  const shorter = Math.min(before.length, after.length);
  const limit = Math.min(shorter, after.length - Math.min(caret, after.length));
  let tail = 0;
  const tailMatches = () => before.charCodeAt(before.length - 1 - tail) === after.charCodeAt(after.length - 1 - tail);
  while (tail < limit && tailMatches()) tail += 1;
  let start = 0;
  while (start < shorter - tail && before.charCodeAt(start) === after.charCodeAt(start)) start += 1;
  // The caret may be anywhere, for example after an undo.
  while (tail < shorter - start && tailMatches()) tail += 1;
  // Neither end may be inside a surrogate pair.
  if (start > 0 && isHigh(before.charCodeAt(start - 1))) start -= 1;
  if (tail > 0 && isLow(after.charCodeAt(after.length - tail))) tail -= 1;
  return { start, removed: before.length - tail - start, inserted: after.length - tail - start };
}

const isHigh = (unit) => unit >= 0xd800 && unit <= 0xdbff;
const isLow = (unit) => unit >= 0xdc00 && unit <= 0xdfff;

/**
 * Moves spans by an edit, in place, and drops those that it touches. Text inserted directly before or after a span does
 * not touch it.
 *
 * @template {{ start: number, end: number }} S
 * @param {S[]} spans
 * @param {Edit} edit
 * @returns {S[]}
 */
export function shiftSpans(spans, edit) {
  const end = edit.start + edit.removed;
  const by = edit.inserted - edit.removed;
  return spans.filter((span) => {
    if (span.end > edit.start) {
      if (span.start < end || span.start < edit.start) return false;
      moveSpan(span, by);
    }
    moveAttributes(span, edit);
    return true;
  });
}

/**
 * Moves the attributes and relations of a mention by an edit, and drops those that it touches. They are copied, because copies of the
 * mention may share them.
 *
 * @param {{ attributes?: { start: number, end: number }[], relations?: { start: number, end: number }[] }} span
 * @param {Edit} edit
 */
function moveAttributes(span, edit) {
  for (const list of ["attributes", "relations"]) {
    if (span[list]?.length) span[list] = shiftSpans(span[list].map((one) => ({ ...one })), edit);
  }
}

/**
 * Moves a span and its fragments. The fragments are copied, because copies of the span may share them.
 *
 * @param {{ start: number, end: number, fragments?: { start: number, end: number }[] }} span
 * @param {number} by
 */
function moveSpan(span, by) {
  const moved = ({ start, end }) => ({ start: start + by, end: end + by });
  Object.assign(span, moved(span));
  if (span.fragments) span.fragments = span.fragments.map(moved);
}

/**
 * Changes the text of a note, and moves its mentions and decisions. The reader's decisions and marks also follow a change of their own
 * words; those whose words are gone are kept in `lost`, and are back once the text is.
 *
 * @param {Note} note
 * @param {string} text
 * @param {number} [caret]
 * @returns {Edit | null}
 */
export function editNote(note, text, caret) {
  const edit = findEdit(note.text, text, caret);
  if (!edit) return null;
  const before = { text: note.text, decisions: note.decisions.map(copied), added: note.added.map((span) => ({ ...span })) };
  note.text = text;
  note.machine = shiftSpans(note.machine, edit);
  const followed = (pieces) => follow(pieces, edit, before.text, text) ?? [];
  note.decisions = note.decisions.filter((decision) => {
    const pieces = followed(piecesOf(decision.base));
    return pieces.length > 0 && moveDecision(decision, pieces, text, edit);
  });
  note.added = note.added.filter((span) => {
    const [moved] = followed([span]);
    if (moved) Object.assign(span, moved);
    return Boolean(moved);
  });
  if (note.chosen) note.chosen = movedChoice(note.chosen, before, note) ?? shiftSpans([note.chosen], edit)[0] ?? null;
  note.fresh = null;
  const gone = before.decisions.length - note.decisions.length + before.added.length - note.added.length;
  if (gone > 0) note.lost = { ...(note.lost ?? before), count: (note.lost?.count ?? 0) + gone };
  if (note.lost?.text === text) regain(note);
  return edit;
}

/** A copy of a decision that edits do not move. @param {Decision} decision @returns {Decision} */
export const copied = (decision) => ({ ...decision, base: { ...decision.base } });

/** Moves a decision and the link that it is about to pieces of a text. */
function moveDecision(decision, pieces, text, edit) {
  const [start, end] = [pieces[0].start, pieces[pieces.length - 1].end];
  const fragments = decision.base.fragments?.length ? { fragments: pieces } : {};
  const words = pieces.map((piece) => text.slice(piece.start, piece.end)).join(" ");
  Object.assign(decision, { start, end });
  Object.assign(decision.base, { start, end, text: words, ...fragments });
  moveAttributes(decision.base, edit);
  return true;
}

/** Where the mention of a decision or mark that is open has gone; undefined if it has none, or none is left. */
function movedChoice(chosen, before, note) {
  for (const [own, now] of [[before.decisions, note.decisions], [before.added, note.added]]) {
    if (own.length !== now.length) continue;
    const at = own.findIndex((span) => same(span, chosen));
    if (at >= 0) return { start: now[at].start, end: now[at].end };
  }
  return undefined;
}

/** Brings back what was lost: the text is what it was then. Newer decisions and marks stay. @param {Note} note */
function regain(note) {
  const isFree = (own) => (span) => !own.some((one) => overlap(one, span));
  note.decisions = [...note.decisions, ...note.lost.decisions.filter(isFree(note.decisions)).map(copied)];
  note.added = inOrder([...note.added, ...note.lost.added.filter(isFree(note.added)).map((span) => ({ ...span }))]);
  note.lost = null;
}

/** What of a note an export saves: the text, and what the reader has decided and marked. @param {Note} note */
export function signature({ text, decisions, added }) {
  const own = decisions.map(({ start, end, action, concept }) => [start, end, action, concept?.id ?? null]);
  return JSON.stringify([text, own, added.map(({ start, end }) => [start, end])]);
}

/** @param {{ start: number, end: number }} a @param {{ start: number, end: number }} b */
export const overlap = (a, b) => a.start < b.end && b.start < a.end;

/** @param {{ start: number, end: number }} a @param {{ start: number, end: number }} b */
export const same = (a, b) => a.start === b.start && a.end === b.end;

/** The spans of a mention. @param {Link} link @returns {{ start: number, end: number }[]} */
export const piecesOf = (link) => (link.fragments?.length ? link.fragments : [link]);

/**
 * The first mention with a piece that contains or touches an offset; of those that start together the longest.
 *
 * @param {Link[]} links in text order
 * @param {number} offset
 */
export function linkAt(links, offset) {
  const found = links.filter((link) => piecesOf(link).some(({ start, end }) => start <= offset && offset <= end));
  const longest = found.filter(({ start }) => start === found[0].start);
  return longest[longest.length - 1];
}

/**
 * Merges newer links into older ones. An older link remains if no newer one overlaps it, or if it is of the same linking: mentions
 * may be nested. All are in text order.
 *
 * @param {Link[]} older
 * @param {Link[]} newer
 * @param {Set<Link>} [own] the older links of the same linking
 * @returns {Link[]}
 */
export function mergeLinks(older, newer, own = new Set()) {
  const merged = [];
  let at = 0;
  for (const link of older) {
    while (at < newer.length && newer[at].end <= link.start) merged.push(newer[at++]);
    if (at < newer.length && overlap(newer[at], link) && !own.has(link)) continue;
    merged.push(link);
  }
  for (; at < newer.length; at += 1) merged.push(newer[at]);
  return inOrder(merged);
}

/** Sorts spans in text order. @param {{ start: number, end: number }[]} spans */
export const inOrder = (spans) => spans.sort((a, b) => a.start - b.start || a.end - b.end);

/**
 * The engine's links with the reader's decisions. A decision replaces its own mention. If the engine no longer has that
 * mention, the decision replaces all overlapping ones. Discontinuous mentions may overlap ("breast and ovarian cancer"),
 * so a decision on one must not change the other.
 *
 * @param {Link[]} machine
 * @param {Decision[]} decisions
 * @returns {Link[]}
 */
export function applyDecisions(machine, decisions) {
  if (decisions.length === 0) return machine;
  const byStart = new Map();
  for (const decision of decisions) {
    const there = byStart.get(decision.start);
    if (there) there.push(decision);
    else byStart.set(decision.start, [decision]);
  }
  const found = new Map();
  const others = machine.filter((link) => {
    const own = byStart.get(link.start)?.find((decision) => same(decision, link));
    if (own) found.set(own, link);
    return !own;
  });
  const lone = decisions.filter((decision) => !found.has(decision));
  const kept = lone.length === 0 ? others : others.filter((link) => !lone.some((decision) => overlap(decision, link)));
  for (const decision of decisions) {
    if (decision.action !== "remove") kept.push(decided(found.get(decision) ?? decision.base, decision));
  }
  return inOrder(kept);
}

/**
 * A link as the reader has decided it. The machine's reason and probability are about another decision, unless the
 * reader confirmed it.
 */
function decided(link, decision) {
  const { action, concept, base } = decision;
  const review = reviewOf(decision);
  if (action === "confirm") return { ...link, ...answerOf(base, link), review };
  const { nil_reason: _reason, probability: _probability, answer_sets: _sets, ...rest } = link;
  const own = { ...rest, decided_by: "reader", review };
  if (action === "nil") return { ...own, decision: "nil", nil_reason: "reader", concept: null };
  const known = link.candidates.some(({ id }) => id === concept.id);
  const candidates = known ? link.candidates : [...link.candidates, concept];
  return { ...own, decision: "linked", concept, candidates };
}

/** The answer that a reader confirmed. It remains if the engine has another one since. */
function answerOf(base, link) {
  const isSame = link.decision === base.decision && link.concept?.id === base.concept?.id;
  if (isSame) return {};
  const { decision, nil_reason, concept, probability, same_name, candidates } = base;
  return { decision, nil_reason, concept, probability, same_name, candidates, answer_sets: undefined };
}

/** What a decision says in exports. @param {Decision} decision @returns {import("./pkg/pel.js").Review} */
export function reviewOf({ action, base, by, at }) {
  const review = { review: action === "confirm" ? "confirmed" : "changed" };
  if (by) review.reviewed_by = by;
  if (at) review.reviewed_at = at;
  // A mention that only the reader has marked has no answer of the machine that a reader could have seen before.
  if (action !== "confirm" && base.decision) review.former = former(base);
  return review;
}

function former({ concept, decision, probability }) {
  const answer = decision === "linked" ? { id: concept.id, name: concept.name } : { id: null };
  return probability === undefined ? answer : { ...answer, probability };
}

/**
 * Records a reader's decision on a mention; it replaces an earlier one.
 *
 * @param {Note} note
 * @param {Link} link
 * @param {"confirm" | "concept" | "nil" | "remove"} action
 * @param {Candidate | null} [concept]
 */
export function decide(note, link, action, concept = null) {
  const base = note.machine.find((one) => same(one, link)) ?? decisionOf(note, link)?.base ?? link;
  undo(note, link);
  const at = `${new Date().toISOString().slice(0, 19)}Z`;
  note.decisions.push({ start: link.start, end: link.end, action, concept, base: { ...base }, by: null, at });
}

/** @param {Note} note @param {{ start: number, end: number }} span */
export const decisionOf = (note, span) => note.decisions.find((decision) => same(decision, span));

/** Removes a decision. @param {Note} note @param {{ start: number, end: number }} span */
export function undo(note, span) {
  note.decisions = note.decisions.filter((decision) => !same(decision, span));
}

/** Restores removed mentions. @param {Note} note */
export function restoreRemoved(note) {
  note.decisions = note.decisions.filter(({ action }) => action !== "remove");
}

/**
 * Marks a mention by hand, without surrounding white space. It replaces earlier marks and removals there.
 *
 * @param {Note} note
 * @param {number} start
 * @param {number} end
 * @returns {{ start: number, end: number } | null} null if the span is only white space
 */
export function addMention(note, start, end) {
  const chosen = note.text.slice(start, end);
  const span = { start: start + chosen.length - chosen.trimStart().length, end: start + chosen.trimEnd().length };
  if (span.start >= span.end) return null;
  note.added = inOrder([...note.added.filter((one) => !overlap(one, span)), { ...span }]);
  note.decisions = note.decisions.filter((decision) => !overlap(decision, span));
  note.fresh = null;
  return span;
}

/**
 * Removes a mention: a marked one is deleted, a detected one is hidden.
 *
 * @param {Note} note
 * @param {Link} link
 * @returns {boolean} whether the note has to be linked again
 */
export function removeMention(note, link) {
  const before = note.added.length;
  note.added = note.added.filter((span) => !same(span, link));
  if (note.added.length === before) {
    decide(note, link, "remove");
    return false;
  }
  undo(note, link);
  note.machine = note.machine.filter((one) => !same(one, link));
  note.fresh = null;
  return true;
}

/** The type of a mention for colours and filters. @param {Link} link */
export function typeOf(link) {
  return link.decision === "nil" ? "NIL" : (link.concept?.types[0] ?? "Other");
}

/**
 * The number of mentions of each type, in descending order, NIL last.
 *
 * @param {Link[]} links
 * @returns {[string, number][]}
 */
export function countTypes(links) {
  const counts = new Map();
  for (const link of links) counts.set(typeOf(link), (counts.get(typeOf(link)) ?? 0) + 1);
  return [...counts].sort(([a, m], [b, n]) => (a === "NIL") - (b === "NIL") || n - m || a.localeCompare(b));
}

/** @param {Link[]} links */
export function summary(links) {
  const nil = links.filter((link) => link.decision === "nil").length;
  const plural = links.length === 1 ? "mention" : "mentions";
  return `${links.length.toLocaleString("en")} ${plural}, ${(links.length - nil).toLocaleString("en")} linked, ` +
    `${nil.toLocaleString("en")} without a match`;
}
