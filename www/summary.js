// The summary of a note: its problems, medications, allergies, results and procedures. Pure.

import { attributeWords } from "./attributes.js";
import { rowCodes } from "./codes.js";
import { contextWords } from "./context.js";

/** @typedef {import("./state.js").Link} Link */

/**
 * A line of the summary: mentions of one concept with the same context. `beside` are doses and values, as the text
 * has them.
 *
 * @typedef {{ name: string, said: string[], beside: string[], notes: string[], concept:
 *   import("./state.js").Candidate | null,
 *   links: Link[] }} Entry
 */

/** The sections in their order: key and heading. @type {[string, string][]} */
export const SECTIONS = [
  ["problem", "Problems"],
  ["drug", "Medications"],
  ["allergy", "Allergies"],
  ["measurement", "Results"],
  ["procedure", "Procedures"],
  ["device", "Devices"],
  ["denied", "Denied"],
  ["family", "Family and others"],
  ["other", "Other"],
];

/** The section of a mention; null for what a summary leaves out: plain places of the body. @param {Link} link */
function sectionOf(link) {
  if (link.allergy) return link.negated ? "denied" : "allergy";
  if (link.experiencer !== "patient") return "family";
  if (link.negated) return "denied";
  if (link.group === "anatomy") return null;
  return link.group ?? "other";
}

/** The words of the context that the section does not say already. */
function contextOf(link, section) {
  const said = {
    denied: { negated: false },
    family: { experiencer: link.experiencer === "family" ? "patient" : link.experiencer },
    allergy: { allergy: undefined },
  };
  return contextWords({ ...link, ...said[section] });
}

/**
 * The sections that a note has, with their entries in the order of the text.
 *
 * @param {Link[]} links
 * @param {string} text
 * @returns {{ key: string, heading: string, entries: Entry[] }[]}
 */
export function summarise(links, text) {
  const sections = new Map(SECTIONS.map(([key]) => [key, new Map()]));
  for (const link of links) {
    const section = sectionOf(link);
    if (section === null) continue;
    const note = contextOf(link, section);
    const which = link.concept?.id ?? link.text.toLowerCase();
    const key = `${which}|${note}`;
    const entries = sections.get(section);
    if (!entries.has(key)) {
      entries.set(key, {
        name: link.concept?.name ?? link.text,
        said: [],
        beside: [],
        notes: note === "" ? [] : [note],
        concept: link.concept,
        links: [],
      });
    }
    const entry = entries.get(key);
    entry.links.push(link);
    addNew(entry.said, link.text, (a, b) => a.toLowerCase() === b.toLowerCase());
    addNew(entry.beside, attributeWords(link, text));
  }
  return SECTIONS.map(([key, heading]) => ({ key, heading, entries: [...sections.get(key).values()] })).filter(
    ({ entries }) => entries.length > 0,
  );
}

function addNew(list, words, same = (a, b) => a === b) {
  if (words !== "" && !list.some((one) => same(one, words))) list.push(words);
}

/** The words of the text beside the name of an entry, if they differ. @param {Entry} entry */
export const saidWords = ({ name, said }) =>
  said.filter((words) => words.toLowerCase() !== name.toLowerCase()).join(", ");

/**
 * The summary as plain text, for other programs.
 *
 * @param {ReturnType<typeof summarise>} sections
 * @param {import("./pkg/pel.js").CodeSystem | null} system
 */
export function summaryText(sections, system) {
  return sections
    .map(({ heading, entries }) => `${heading}\n${entries.map((entry) => entryText(entry, system)).join("\n")}`)
    .join("\n\n");
}

function entryText(entry, system) {
  const codes = entry.concept ? rowCodes(entry.concept, system) : [];
  const code = entry.concept ? codes.join(", ") || entry.concept.id : "no match";
  return [`- ${entry.name}`, ...entry.beside, ...entry.notes].join(", ") + ` [${code}]`;
}
