// What the text says of a mention (absent, uncertain, past, of someone else, an allergy; side and severity): its words, marks and filter. Pure.

/** @typedef {import("./state.js").Link} Link */

/**
 * A value that is not the usual one. It is shown by a line (a class of the style sheet) or by a sign above the mention. With an
 * `attribute` it describes the mention and does not matter to whether it is stated of the patient now.
 *
 * @typedef {{ field: string, value: string | boolean, word: string, line?: string, sign?: string, attribute?: boolean }} Value
 */

/** @type {Value[]} */
const VALUES = [
  { field: "negated", value: true, word: "negated", line: "negated" },
  { field: "certainty", value: "uncertain", word: "uncertain", line: "uncertain" },
  { field: "certainty", value: "hypothetical", word: "hypothetical", line: "hypothetical" },
  { field: "temporality", value: "historical", word: "historical", sign: "←" },
  { field: "temporality", value: "future", word: "future", sign: "→" },
  { field: "experiencer", value: "family", word: "family", sign: "F" },
  { field: "experiencer", value: "other", word: "someone else", sign: "S" },
  { field: "allergy", value: "allergen", word: "allergy", sign: "A" },
  { field: "allergy", value: "reaction", word: "allergic reaction", sign: "a" },
  { field: "laterality", value: "left", word: "left", sign: "L", attribute: true },
  { field: "laterality", value: "right", word: "right", sign: "R", attribute: true },
  { field: "laterality", value: "bilateral", word: "bilateral", sign: "B", attribute: true },
  { field: "severity", value: "mild", word: "mild", sign: "◔", attribute: true },
  { field: "severity", value: "moderate", word: "moderate", sign: "◑", attribute: true },
  { field: "severity", value: "severe", word: "severe", sign: "●", attribute: true },
];

/** The values of the filter of context for all mentions, and for those that are stated of the patient now. */
export const [ALL, STATED] = ["all", "stated"];

/** The value of the filter for mentions whose kind is not known. */
export const NO_KIND = "none";

/** The kinds of mentions in the order of the filter, with their names there. @type {Record<string, string>} */
export const KINDS = {
  problem: "Problems",
  drug: "Drugs",
  procedure: "Procedures",
  measurement: "Measurements",
  anatomy: "Anatomy",
  device: "Devices",
  [NO_KIND]: "No kind",
};

const has = (link, { field, value }) => link[field] === value;

const valuesOf = (link) => VALUES.filter((value) => has(link, value));

const wordsOf = (values) => values.map(({ word }) => word).join(", ");

/** The values that decide whether a mention is stated of the patient now. */
const statusOf = (link) => valuesOf(link).filter(({ attribute }) => !attribute);

const capitalised = (word) => word[0].toUpperCase() + word.slice(1);

/** The choices of the filter of context: value and words. @param {Link[]} links @returns {[string, string][]} */
export const contextsIn = (links) => [
  [ALL, "All"], [STATED, "Stated of the patient now"], ...valuesIn(links).map(({ word }) => [word, capitalised(word)]),
];

/** The unusual values that occur. @param {Link[]} links @returns {Value[]} */
export const valuesIn = (links) => VALUES.filter((value) => links.some((link) => has(link, value)));

/** What is unusual: "negated, family, left"; empty if nothing is. @param {Link} link */
export const contextWords = (link) => wordsOf(valuesOf(link));

/** Whether a mention is stated of the patient now: not negated, doubted, past, planned, of someone else or of an allergy. @param {Link} link */
export const isStated = (link) => statusOf(link).length === 0;

/** A mention with its context, for screen readers: "fever, negated". @param {Link} link */
export const spoken = (link) => [link.text, ...valuesOf(link).map(({ word }) => word)].join(", ");

/** The classes of a mention's lines, and its signs. @param {Link} link @returns {{ lines: string[], signs: string }} */
export function contextMarks(link) {
  const values = valuesOf(link);
  return { lines: values.flatMap(({ line }) => line ?? []), signs: values.map(({ sign }) => sign ?? "").join("") };
}

/** The rows of a mention's details. @param {Link} link @returns {[string, string][]} */
export function contextRows(link) {
  const rows = [["Context", wordsOf(statusOf(link)) || "stated of the patient now"]];
  if (link.laterality) rows.push(["Laterality", link.laterality]);
  if (link.severity) rows.push(["Severity", link.severity]);
  if (link.section) rows.push(["Section", link.section]);
  if (link.group) rows.push(["Kind", link.group]);
  return rows;
}

const kindOf = (link) => link.group ?? NO_KIND;

/** The kinds that occur. @param {Link[]} links @returns {string[]} */
export function kindsIn(links) {
  const found = new Set(links.map(kindOf));
  return Object.keys(KINDS).filter((kind) => found.has(kind));
}

/**
 * Whether a mention passes the filter.
 *
 * @param {{ context: string, kind: string }} filter `context`: all, only what is stated of the patient now, or only mentions with
 *   the value of this word; `kind`: only this kind, unless empty
 * @param {Link} link
 */
export const passes = ({ context, kind }, link) => isSaid(context, link) && (kind === "" || kindOf(link) === kind);

const isSaid = (context, link) =>
  context === ALL || (context === STATED ? isStated(link) : valuesOf(link).some(({ word }) => word === context));
