// Formats numbers, reasons and errors for the page. Pure.

/** @param {number | null | undefined} score */
export const score = (score) => (Number.isFinite(score) ? score.toFixed(3) : "–");

/** @param {number} share */
export const percent = (share) => `${Math.round(share * 100)}\u00a0%`;

/** A probability in words: a machine is never certain. @param {number} share */
export const likely = (share) => (share > 0.99 ? "> 99\u00a0%" : share < 0.01 ? "< 1\u00a0%" : percent(share));

/** A type as the page names it. @param {string} type */
export const typeWords = (type) => (type === "NIL" ? "No match" : type);

/** @param {number} bytes */
export const megabytes = (bytes) => (bytes / 1e6).toFixed(1);

/** @param {number} number */
export const whole = (number) => Math.round(number).toLocaleString("en");

/** @param {number} number @param {string} one @param {string} [many] */
export const counted = (number, one, many = `${one}s`) => `${whole(number)} ${number === 1 ? one : many}`;

/** How many mentions the filters show. @param {number} shown @param {number} all */
export const shownWords = (shown, all) => `${whole(shown)} of ${counted(all, "mention")} shown`;

/**
 * What an addition of concepts has changed. An earlier file of the same name is compared with.
 *
 * @param {import("./pkg/pel.js").Added} added
 */
export function additionWords({ added, removed, changed, renamed, unchanged, texts_encoded, rows_reused }) {
  const first = `${counted(added, "concept")} added`;
  if (removed + changed + unchanged === 0) return `${first}.`;
  const others = `${whole(removed)} removed, ${whole(changed)} changed (${whole(renamed)} renamed), ${whole(unchanged)} unchanged`;
  return `${first}, ${others}. ${counted(texts_encoded, "text")} encoded, ${whole(rows_reused)} reused.`;
}

/**
 * Why a mention has no concept.
 *
 * @param {import("./pkg/pel.js").Link} link
 * @param {number | null} threshold of this mention
 */
export function nilWords(link, threshold) {
  const best = link.candidates[0];
  const nearest = best ? ` The nearest is ${best.name}, with a score of ${score(best.score)}.` : "";
  const likely = link.probability === undefined || !best ? "" : ` It is right with a probability of ${percent(link.probability)}.`;
  switch (link.nil_reason) {
    case "below_threshold":
      if (!best) return "No candidate reaches the threshold.";
      return `The nearest candidate, ${best.name}, scores ${score(best.score)}: below the threshold` +
        (threshold === null ? "." : ` of ${score(threshold)}.`);
    case "unlike_any_name":
      return `It is unlike the names of the nearest candidate, ${best?.name}.${likely}`;
    case "ambiguous":
      return `Other candidates are as likely as the nearest, ${best?.name}.${likely}`;
    case "type_clash":
      return `The nearest candidate, ${best?.name}, is of another kind than the other concepts of the text.${likely}`;
    case "no_candidate":
      return "The knowledge base has no candidate for it.";
    case "empty_mention":
      return "The mention has no text to look up.";
    case "reader":
      return `You decided that no concept matches.${nearest}`;
    default:
      return `No concept matches.${nearest}`;
  }
}

/**
 * The lowest score at which this mention is linked. Null if a probability decides, or the reader, and not a score.
 *
 * @param {number | null} threshold
 * @param {import("./pkg/pel.js").Link} link
 */
export const thresholdOf = (threshold, link) =>
  threshold === null || link.probability !== undefined || link.decided_by === "reader" ? null : threshold;

/** How likely the best candidate is right, and how many concepts share its name. @param {import("./pkg/pel.js").Link} link */
export function likelihoodWords({ probability, same_name: same = 0 }) {
  const likely = probability === undefined ? "" : `Right with a probability of ${percent(probability)}. `;
  const ambiguous = same > 1 ? `${counted(same, "concept")} have this name.` : "";
  return (likely + ambiguous).trim();
}

/**
 * What the sets of answers hold.
 *
 * @param {import("./pkg/pel.js").AnswerSet[]} sets narrowest first
 */
export function setsWords(sets) {
  if (sets.length === 0) return "";
  const answers = ({ concepts, nil }) =>
    [concepts.length > 0 && counted(concepts.length, "concept"), nil && "no match"].filter(Boolean).join(" or ");
  const all = sets.map((set) => `${answers(set)} in ${percent(set.coverage)} of mentions`);
  return `Sets that hold the right answer: ${all.join("; ")}. This holds for texts like those of the calibration.`;
}

/**
 * The narrowest set that holds a concept.
 *
 * @param {import("./pkg/pel.js").AnswerSet[]} sets narrowest first
 * @param {string} id
 */
export function setOf(sets, id) {
  const narrowest = sets.find((set) => set.concepts.includes(id));
  return narrowest ? `${percent(narrowest.coverage)} set` : "";
}

/** How a mention was found. @param {import("./pkg/pel.js").Link["origin"]} origin */
export function originWords(origin) {
  if (origin === "name") return "Found by a name in the knowledge base.";
  if (origin === "unknown_term") return "Found because the word is in neither the knowledge base nor a list of plain English.";
  if (origin === "detector") return "Found by the detector, which reads the whole text.";
  return "Marked by a reader.";
}

const ERRORS = {
  bundle: "The bundle of model and concepts is damaged or of another version. Try again. If that does not help, ask " +
    "the operator of this site to publish it again.",
  "newer-bundle": "This page is older than the bundle of model and concepts. Reload to get the newer page. If that does not help, " +
    "ask the operator of this site to publish the newer page.",
  input: "PEL cannot use this input.",
  network: "PEL could not be loaded. Check the connection, then try again.",
  "no-wasm": "This browser cannot run PEL, which needs WebAssembly with SIMD. Update it, or use another browser.",
  "no-webgpu": "This browser offers no WebGPU. Choose “Automatic” or “WebAssembly” as the device below.",
  device: "The device has failed. Try again, or choose WebAssembly as the device below.",
  freed: "PEL has been stopped. Reload the page.",
};

/**
 * The message for an error, with advice.
 *
 * @param {unknown} error
 * @returns {string}
 */
export function errorWords(error) {
  const known = ERRORS[error?.code];
  const detail = error instanceof Error && error.message ? ` (${error.message})` : "";
  if (known) return known + detail;
  return `Something went wrong. Try again. If that does not help, reload the page.${detail}`;
}

/**
 * How far loading is.
 *
 * @param {import("./pkg/pel.js").Progress} progress
 */
export function progressWords({ phase, loaded, total, cached }) {
  const what = { program: "the program", bundle: "the model and concepts", start: "" }[phase];
  if (phase === "start") return "Checking and starting the model …";
  const size = total > 0 ? `${megabytes(loaded)} of ${megabytes(total)} MB` : `${megabytes(loaded)} MB`;
  return `${cached ? "Reading" : "Loading"} ${what}${cached ? " from this browser’s store" : ""}: ${size}`;
}

/**
 * How far the linking of a note is.
 *
 * @param {import("./linker.js").Progress} progress
 */
export function readingWords({ read, linked }) {
  if (linked) return `linking ${whole(linked.done)} of ${whole(linked.total)} …`;
  return read && read.total > 0 ? `reading, ${percent(read.done / read.total)} …` : "reading …";
}

/** @param {import("./pkg/pel.js").DeviceName} device */
export const deviceWords = (device) => (device === "webgpu" ? "WebGPU" : "WebAssembly");

/**
 * The licence of a vocabulary, from lines such as "MONDO: CC BY 4.0".
 *
 * @param {string[]} licences
 * @param {string} source
 * @returns {string | null}
 */
export function licenceOf(licences, source) {
  const line = licences.find((one) => one.startsWith(`${source}:`));
  return line ? line.slice(source.length + 1).trim() : null;
}

/**
 * The name of a file to be saved: the note's, with another ending and without what file systems refuse.
 *
 * @param {string} name
 * @param {string} ending
 */
export function fileName(name, ending) {
  const plain = name.replace(/\.(txt|text|md)$/i, "").replace(/[\\/:*?"<>|\u0000-\u001f]+/g, "-");
  return `${plain.replace(/^[.\s]+/, "").trim() || "note"}.${ending}`;
}
