// What stands beside a mention: doses, values, dates, and mentions that the text relates it to.

/** @typedef {import("./state.js").Link} Link */

const wordsAt = (text, { start, end }) => text.slice(start, end).split(/\s+/).filter(Boolean).join(" ");

/**
 * The attributes of a mention in one line, as the note has them: "1000 mg, PO, BID". Those inside the mention are left out.
 *
 * @param {Link} link
 * @param {string} text of the note
 */
export function attributeWords(link, text) {
  const words = [];
  let end = 0;
  for (const one of link.attributes ?? []) {
    const inside = one.start >= link.start && one.end <= link.end;
    if (inside || one.start < end) continue;
    end = one.end;
    const said = wordsAt(text, one);
    if (one.prior) words.push(`earlier ${said}`);
    else if (one.name === "unit" && words.length > 0) words.push(`${words.pop()} ${said}`);
    else words.push(said);
  }
  return words.join(", ");
}

/**
 * The rows of a mention's details: the name of each attribute, and its words with the normal form where that says more.
 *
 * @param {Link} link
 * @param {string} text of the note
 * @returns {[string, string][]}
 */
export function attributeRows(link, text) {
  const shown = (link.attributes ?? []).filter(({ name }) => !(name === "laterality" && link.laterality) && !(name === "severity" && link.severity));
  return shown.map((one) => {
    const said = wordsAt(text, one);
    const normal = normalWords(one.value);
    const name = one.name[0].toUpperCase() + one.name.slice(1);
    return [one.prior ? `Earlier ${one.name}` : name, normal === "" || normal === said.toLowerCase() || normal === said ? said : `${said} (${normal})`];
  });
}

const RELATIONS = { indication: "Given for", cause: "Due to", site: "Where", finding: "Shows", excludes: "Excludes", reaction: "Reaction" };

/**
 * The rows of a mention's details about other mentions.
 *
 * @param {Link} link
 * @param {string} text of the note
 * @returns {[string, string][]}
 */
export const relationRows = (link, text) => (link.relations ?? []).map((one) => [RELATIONS[one.name], wordsAt(text, one)]);

/** A normal form in words: a timing as "1 to 2 times per 4 to 6 h". @param {any} value */
function normalWords(value) {
  if (value === null || value === undefined) return "";
  if (typeof value !== "object") return String(value).replace("..", " to ");
  const range = (low, high) => (high === undefined ? `${low}` : `${low} to ${high}`);
  const times = range(value.frequency, value.frequency_max);
  const when = value.when ? `, ${value.when}` : "";
  return `${times === "1" ? "once" : `${times} times`} per ${range(value.period, value.period_max)} ${value.unit}${when}`;
}
