// Codes of concepts in standard code systems: which of them are shown, and their words. Pure.

/** @typedef {import("./pkg/pel.js").Code} Code */
/** @typedef {import("./pkg/pel.js").CodeSystem} CodeSystem */

/** The names of the code systems for readers, in the order in which they are offered. @type {Record<CodeSystem, string>} */
const NAMES = {
  SNOMEDCT: "SNOMED CT",
  ICD10CM: "ICD-10-CM",
  RXNORM: "RxNorm",
  LOINC: "LOINC",
  ATC: "ATC",
  CVX: "CVX",
  HPO: "HPO",
  MEDRT: "MED-RT",
  MESH: "MeSH",
  UMLS: "UMLS",
  UNII: "UNII",
  MONDO: "Mondo",
};

/** @type {CodeSystem[]} */
export const SYSTEMS = Object.keys(NAMES);

/** The systems in the order in which the page offers them. @type {CodeSystem[]} */
const FIRST = ["ICD10CM", "SNOMEDCT", "RXNORM", "LOINC", "UMLS"];
export const OFFERED = [...FIRST, ...SYSTEMS.filter((system) => !FIRST.includes(system))];

/** The systems that a table has columns for. @type {CodeSystem[]} */
const COLUMNS = ["SNOMEDCT", "ICD10CM", "RXNORM", "LOINC"];

/** @param {CodeSystem} system */
export const systemName = (system) => NAMES[system] ?? system;

/** A code with its system: `ICD-10-CM J44.9`. A broader one has `~` before it. @param {Code} code */
export const codeWords = (code) => `${code.match === "broader" ? "~" : ""}${systemName(code.system)} ${code.code}`;

/** The preferred code of a system, which is no part of the concept. */
const preferred = (codes, system) => codes.find((code) => code.system === system && code.match !== "parts");

/**
 * The codes that a row shows: that of the system that the reader chose, else what a reader of the mention's kind expects (problems also
 * have SNOMED CT), else the parts of the concept.
 *
 * @param {{ code?: Code, codes?: Code[] }} concept
 * @param {CodeSystem | null} first
 * @returns {{ words: string, site: string | null }[]} `site`: the identifier by which the site of the code is found;
 *   null for several codes
 */
export function shownCodes({ code, codes = [] }, first = null) {
  const shown = (one) => ({ words: codeWords(one), site: identifierOf(one) });
  const chosen = first && preferred(codes, first);
  if (chosen) return [shown(chosen)];
  if (code) {
    const clinical = code.system === "ICD10CM" && preferred(codes, "SNOMEDCT");
    return clinical ? [shown(code), shown(clinical)] : [shown(code)];
  }
  const part = codes.find(({ match }) => match === "parts");
  if (!part) return [];
  const parts = codes.filter(({ system, match }) => system === part.system && match === "parts");
  return [{ words: `${systemName(part.system)} ${parts.map((one) => one.code).join(" + ")}`, site: null }];
}

/**
 * The words of the codes that a row shows.
 *
 * @param {{ code?: Code, codes?: Code[] }} concept
 * @param {CodeSystem | null} first
 * @returns {string[]}
 */
export const rowCodes = (concept, first = null) => shownCodes(concept, first).map(({ words }) => words);

/** What the match of a code means; empty for an exact one. @param {Code} code */
export function matchWords({ match, billable }) {
  const words = { broader: "broader", parts: "part", combined: "combined" }[match];
  return [words, billable === false && "not billable"].filter(Boolean).join(", ");
}

/** Explains the matches of a list of codes; empty if all are exact. @param {Code[]} codes */
export function matchesExplained(codes) {
  const has = (match) => codes.some((code) => code.match === match);
  return [
    has("broader") && "Broader (~): the meaning of the code contains that of the concept, so the code says less than the text.",
    has("combined") && "Combined: the code means the concept together with what the text says of it, such as its stage or side.",
    has("parts") && "Part: several codes mean the concept together, such as the ingredients of a combination.",
  ].filter(Boolean).join(" ");
}

/** The identifier of a code, with which its site is found. Some codes contain their prefix. @param {Code} code */
export const identifierOf = ({ system, code }) => (code.includes(":") ? code : `${system}:${code}`);

/**
 * The code systems of an export. The one that the reader chose gives the primary code.
 *
 * @param {import("./pkg/pel.js").Format} format
 * @param {CodeSystem | null} first
 * @returns {CodeSystem[] | undefined} undefined for all
 */
export function exported(format, first) {
  const others = (format === "csv" ? COLUMNS : SYSTEMS).filter((system) => system !== first);
  if (first) return [first, ...others];
  return format === "csv" ? others : undefined;
}

/** Whether a bundle has codes. @param {import("./pkg/pel.js").Manifest} manifest */
export const hasCodes = ({ files }) => "codes.bin" in files;
