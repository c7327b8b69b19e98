// What the text says of a mention, its concept's data, and how the decision on it was made: parts of the details.

import { attributeRows, relationRows } from "./attributes.js";
import { codeWords, identifierOf, matchesExplained, matchWords } from "./codes.js";
import { contextRows } from "./context.js";
import { byId, make } from "./dom.js";
import { siteOf } from "./ontologies.js";
import { counted, licenceOf, score } from "./words.js";

/** Synonyms and cross references that are shown at once. */
const FEW = 8;

/**
 * The context, section and kind of a mention, and what stands beside it.
 *
 * @param {import("./state.js").Link} link
 * @param {string} text of the note
 * @returns {HTMLElement}
 */
export function contextFacts(link, text) {
  const rows = [...contextRows(link), ...attributeRows(link, text), ...relationRows(link, text)].flatMap(([term, words]) => [make("dt", {}, term), make("dd", {}, words)]);
  return make("dl", { className: "context-facts", id: "context-facts" }, ...rows);
}

/**
 * @param {import("./pkg/pel.js").Concept} concept
 * @param {import("./pkg/pel.js").Pel} pel
 * @param {boolean} nearest whether the mention is NIL and this is only the nearest concept
 * @returns {Node[]}
 */
export function conceptFacts(concept, pel, nearest) {
  const licences = pel.manifest().kb.licences;
  const rows = [];
  const row = (term, ...content) => rows.push(make("dt", {}, term), make("dd", {}, ...content));
  if (concept.definition) row("Definition", concept.definition);
  if (concept.synonyms?.length) row("Synonyms", ...few(concept.synonyms, (one) => one, "; "));
  if (concept.types?.length) row("Types", concept.types.join(", "));
  row("Identifier", make("code", {}, concept.id), siteLink(concept.id));
  if (concept.codes?.length) {
    const explained = matchesExplained(concept.codes);
    row("Codes", make("ul", { id: "concept-codes" }, ...concept.codes.map((code) => make("li", {}, ...codeFacts(code)))),
      explained !== "" && make("p", { className: "quiet", id: "matches" }, explained));
  }
  if (concept.xrefs?.length) row("Cross references", ...few(concept.xrefs, crossReference, ", "));
  if (concept.sources?.length) {
    row("Sources", make("ul", {}, ...concept.sources.map((source) =>
      make("li", {}, `${source}: ${licenceOf(licences, source) ?? "licence not stated"}`))), licenceButton(pel));
  }
  return [
    make("h3", {}, nearest ? `Nearest concept: ${concept.name}` : `Concept: ${concept.name}`),
    make("dl", {}, ...rows),
    make("p", { className: "quiet" },
      "Links to vocabularies open another site in a new tab. That site receives the identifier only."),
  ];
}

/** The first few of many, the others behind a button. */
function few(all, draw, between) {
  const first = all.slice(0, FEW).flatMap((one, at) => (at === 0 ? [draw(one)] : [between, draw(one)]));
  if (all.length <= FEW) return first;
  const more = make("button", { type: "button", className: "plain" }, `and ${all.length - FEW} more`);
  more.addEventListener("click", () => {
    more.replaceWith(...all.slice(FEW).flatMap((one) => [between, draw(one)]));
  });
  return [...first, " ", more];
}

/** A code with its official name, and what its match is. @param {import("./pkg/pel.js").Code} code */
function codeFacts(code) {
  const match = matchWords(code);
  return [outward(identifierOf(code), codeWords(code)), code.display ? ` ${code.display}` : "",
    match !== "" && make("span", { className: "tag" }, match)];
}

const crossReference = (id) => outward(id, id);

function siteLink(id) {
  const site = siteOf(id);
  return site ? make("span", {}, " ", outward(id, `Open in ${site.name}`)) : null;
}

/**
 * A link to the site of an identifier; plain words if it has none.
 *
 * @param {string | null} id
 * @param {string} words
 * @param {Record<string, unknown>} [properties] of the element
 */
export function outward(id, words, properties = {}) {
  const site = id && siteOf(id);
  const { tabIndex: _tabIndex, ...plain } = properties;
  if (!site) return make("span", plain, words);
  const label = `${words} (another site, new tab)`;
  const link = { href: site.address, target: "_blank", rel: "noreferrer noopener", "aria-label": label };
  return make("a", { ...link, ...properties }, words);
}

function licenceButton(pel) {
  return make("button", { type: "button", className: "plain", onclick: () => showLicences(pel) }, "Full licences");
}

/** Shows the licences that come with the bundle. @param {import("./pkg/pel.js").Pel} pel */
export async function showLicences(pel) {
  const text = await pel.document("LICENSES.md").catch(() => null);
  const lines = pel.manifest().kb.licences.join("\n");
  byId("licences-text").textContent = text ?? (lines || "The bundle states no licences.");
  byId("licences").showModal();
}

/**
 * How the decision on a mention was made.
 *
 * @param {import("./state.js").Link} link
 * @param {import("./pkg/pel.js").Explanation | null} why
 * @param {string} origin
 */
export function explanation(link, why, origin) {
  const rows = [];
  const row = (term, ...content) => rows.push(make("dt", {}, term), make("dd", {}, ...content));
  row("Mention", origin);
  if (link.read_as) row("Read as", link.read_as);
  if (why) {
    const best = why.candidates[0];
    if (best) row("Matched text", `“${best.through}” (${score(best.through_score)})`);
    if (why.margin !== null) row("Margin", `${score(why.margin)} above the second candidate`);
    if (why.probability !== undefined) row("Probability", `${score(why.probability)} that the best candidate is right`);
    row("Threshold", why.threshold === null ? "none" : score(why.threshold));
    row("Tokens", make("span", { className: "tokens" }, ...why.tokens.map((token) => make("code", {}, token))));
  }
  if (link.cut.mention) row("Cut", "The mention is too long for the model. Its end was not read.");
  if (link.cut.context) row("Cut", "Only part of the words around it was read.");
  const tokens = why ? `, ${counted(why.tokens.length, "token")}` : "";
  const title = make("summary", {}, `How it was read${tokens}`);
  return make("details", { className: "why" }, title, make("dl", {}, ...rows));
}
