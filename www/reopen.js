// Reads the page's own exports again: the decisions and marks in a JSON note or in BRAT standoff. Pure.

import { inOrder, normalise } from "./state.js";

/** @typedef {import("./state.js").Decision} Decision */

/**
 * What an export says of a note. `misfits` counts mentions whose words are not at their place in the text.
 *
 * @typedef {{ decisions: Decision[], added: { start: number, end: number }[], misfits: number, total: number }} Work
 */

const BARE = {
  negated: false,
  certainty: "certain",
  temporality: "current",
  experiencer: "patient",
  cut: { mention: false, context: false },
};

/**
 * A note of a JSON file.
 *
 * @param {string} json
 * @returns {({ name: string, text: string } & Work) | null} null if it is not a note that PEL has written
 */
export function readJson(json) {
  let note;
  try {
    note = JSON.parse(json);
  } catch {
    return null;
  }
  const { doc, text, mentions, removed = [] } = note ?? {};
  if (typeof doc !== "string" || typeof text !== "string" || !Array.isArray(mentions) || !Array.isArray(removed))
    return null;
  if (![...mentions, ...removed].every(isMention)) return null;
  const work = { decisions: [], added: [], misfits: 0, total: mentions.length + removed.length };
  const place = placesOf(text);
  const own = normalise(text);
  for (const [all, isRemoved] of [
    [mentions, false],
    [removed, true],
  ]) {
    for (const mention of all) {
      const link = linkOf(mention, place);
      if (wordsOf(link, own) !== normalise(mention.text)) work.misfits += 1;
      else take(work, link, mention, isRemoved);
    }
  }
  return { name: doc, text, ...work };
}

const isMention = (one) =>
  typeof one?.text === "string" && Number.isInteger(one.start_utf16) && Number.isInteger(one.end_utf16);

/** Offsets of a text as those of the text that the page shows, which has one unit for each line end. */
function placesOf(text) {
  if (!text.includes("\r")) return (at) => at;
  const doubled = [...text.matchAll(/\r\n/g)].map(({ index }) => index);
  return (at) => at - doubled.filter((one) => one < at).length;
}

const wordsOf = (link, text) => (link.fragments ?? [link]).map(({ start, end }) => text.slice(start, end)).join(" ");

function linkOf(mention, place) {
  const moved = ({ start_utf16: start, end_utf16: end }) => ({ start: place(start), end: place(end) });
  const spans = (list) =>
    list?.map((one) => {
      const { start_utf16, end_utf16, start_code_point, end_code_point, ...rest } = one;
      return { ...rest, ...moved(one) };
    });
  const link = { ...BARE, origin: "name", candidates: [], concept: null, ...mention, ...moved(mention) };
  for (const name of [
    "start_utf16",
    "end_utf16",
    "start_code_point",
    "end_code_point",
    "review",
    "reviewed_by",
    "reviewed_at",
    "former",
    "doc",
  ]) {
    delete link[name];
  }
  for (const list of ["fragments", "attributes", "relations"]) {
    if (link[list]) link[list] = spans(link[list]);
  }
  return link;
}

/** Takes the decision on a mention, and whether the reader has marked it. */
function take(work, link, { review, reviewed_by: by = null, reviewed_at: at = null, former, decided_by }, isRemoved) {
  if (link.origin === "given") work.added.push({ start: link.start, end: link.end });
  const state = review ?? (decided_by === "reader" ? "changed" : undefined);
  if (!state) return;
  const { decided_by: _by, ...machine } = link;
  const about = { start: link.start, end: link.end, by, at };
  if (state === "confirmed") {
    work.decisions.push({ ...about, action: "confirm", concept: null, base: machine });
    return;
  }
  const action = isRemoved ? "remove" : link.decision === "linked" ? "concept" : "nil";
  work.decisions.push({
    ...about,
    action,
    concept: action === "concept" ? link.concept : null,
    base: answered(machine, former),
  });
}

/** A link with the machine's answer before the reader changed it. */
function answered(link, former) {
  const { nil_reason: _reason, ...rest } = link;
  if (!former) return { ...rest, decision: undefined, concept: null };
  const { id, name = id, probability } = former;
  const likely = probability === undefined ? {} : { probability };
  if (id === null || id === undefined)
    return { ...rest, ...likely, decision: "nil", nil_reason: "no_candidate", concept: null };
  const known = link.candidates.find((one) => one.id === id);
  return { ...rest, ...likely, decision: "linked", concept: known ?? { id, name, types: [], sources: [], score: 0 } };
}

/** The attributes of BRAT that tell the context of a mention. */
const CONTEXT = {
  Certainty: "certainty",
  Temporality: "temporality",
  Experiencer: "experiencer",
  Laterality: "laterality",
  Severity: "severity",
  Allergy: "allergy",
};

/**
 * The decisions in BRAT standoff on a text. Notes that the page writes say who reviewed a mention, and what was there
 * before.
 *
 * @param {string} standoff
 * @param {string} text
 * @returns {Work}
 */
export function readBrat(standoff, text) {
  const work = { decisions: [], added: [], misfits: 0, total: 0 };
  const links = new Map();
  const units = codePoints(text);
  const lines = standoff.split(/\r?\n/).map((line) => line.split("\t"));
  for (const [id, about = "", words = ""] of lines) {
    if (!/^T\d+$/.test(id)) continue;
    const link = textBound(about, words, units);
    work.total += 1;
    if (link && squeezed(wordsOf(link, text)) === squeezed(words)) links.set(id, link);
    else work.misfits += 1;
  }
  for (const [id, about = "", words = ""] of lines) {
    const [kind, target, value = ""] = about.split(" ");
    const link = links.get(target);
    if (link && id.startsWith("N") && kind === "Reference") Object.assign(link, named(value, words, link));
    else if (link && id.startsWith("A") && kind === "Negated") link.negated = true;
    else if (link && id.startsWith("A") && kind in CONTEXT) link[CONTEXT[kind]] = value;
  }
  for (const [id, about = "", words = ""] of lines) {
    if (!id.startsWith("#")) continue;
    const [kind, target] = about.split(" ");
    if (kind === "Removed") takeRemoved(work, target, words, units, text);
    else if (links.has(target)) takeNote(work, links.get(target), words);
  }
  inOrder(work.decisions);
  return work;
}

const squeezed = (words) => words.split(/\s+/).filter(Boolean).join(" ");

/** The place in UTF-16 units of each code point of a text, and its end. */
function codePoints(text) {
  const units = [];
  let at = 0;
  for (const letter of text) {
    units.push(at);
    at += letter.length;
  }
  units.push(at);
  return units;
}

function textBound(about, words, units) {
  const [label, ...places] = about.split(/[ ;]/);
  const pieces = [];
  for (let at = 0; at + 1 < places.length; at += 2) {
    pieces.push({ start: units[Number(places[at])], end: units[Number(places[at + 1])] });
  }
  if (pieces.length === 0 || pieces.some(({ start, end }) => start === undefined || end === undefined)) return null;
  const link = {
    ...BARE,
    start: pieces[0].start,
    end: pieces[pieces.length - 1].end,
    text: words,
    origin: "name",
    decision: "nil",
    nil_reason: "no_candidate",
    concept: null,
    candidates: [],
    types: ["NIL", "Concept"].includes(label) ? [] : [label.replaceAll("_", " ")],
  };
  return pieces.length > 1 ? { ...link, fragments: pieces } : link;
}

function named(reference, name, { types }) {
  const concept = { id: reference.replace(/^KB:/, ""), name, types, sources: [], score: 0 };
  return { decision: "linked", nil_reason: undefined, concept, candidates: [concept] };
}

const REVIEWED = new RegExp(
  "(?:^|; )Reviewed: (confirmed|changed)(?: by (.*?))?(?: at (\\d{4}-\\d\\d-\\d\\dT[\\d:]+Z))?" +
    "(?:; Former: (NIL|\\S+)(?: (.*))?)?$",
);

function takeNote(work, link, words) {
  const said = REVIEWED.exec(words);
  const isOld =
    !said && (words.startsWith("Linked: chosen by the user") || words.startsWith("NIL: marked as NIL by the user"));
  if (!said && !isOld) return;
  const likely = /Probability: ([\d.]+)/.exec(words);
  const { types: _types, ...whole } = likely ? { ...link, probability: Number(likely[1]) } : link;
  take(work, whole, readingOf(said), false);
}

function readingOf(said) {
  if (!said) return { review: "changed" };
  const [, review, by, at, id, name] = said;
  const former = id === undefined ? undefined : { id: id === "NIL" ? null : id, name };
  return { review, reviewed_by: by ?? null, reviewed_at: at ?? null, former };
}

function takeRemoved(work, place, words, units, text) {
  const [start, end] = place.split("-").map((one) => units[Number(one)]);
  work.total += 1;
  const said = REVIEWED.exec(words);
  const mention = squeezed(text.slice(start, end));
  if (!said || start === undefined || end === undefined || !words.startsWith(`${mention}; `)) {
    work.misfits += 1;
    return;
  }
  const link = {
    ...BARE,
    start,
    end,
    text: text.slice(start, end),
    origin: "name",
    decision: "nil",
    concept: null,
    candidates: [],
  };
  take(work, link, readingOf(said), true);
}

/**
 * What to tell a reader of an export whose text is another.
 *
 * @param {string} name of the file
 * @param {Work} work
 * @returns {string} empty if all mentions fit
 */
export function misfitWords(name, { misfits, total }) {
  if (misfits === 0) return "";
  const all = `${misfits} of ${total} mentions of ${name} are not in the text where the file has them`;
  return `${all}: the file belongs to another text. Their decisions were left out.`;
}
