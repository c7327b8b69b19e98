// Maps semantic types to colour classes of the style sheet. Pure.

const KNOWN = [
  "Disease",
  "Sign or symptom",
  "Anatomy",
  "Drug or chemical",
  "Procedure",
  "Biological process",
  "Cell",
  "Measurement",
  "Organism",
  "Device",
];

/** The number of colours for types of other knowledge bases. */
const SPARE = 4;

/**
 * The class of a type in the style sheet; it depends only on the type.
 *
 * @param {string} type
 * @returns {string}
 */
export function colourOf(type) {
  if (type === "NIL") return "type-nil";
  const known = KNOWN.indexOf(type);
  if (known >= 0) return `type-${known}`;
  let sum = 0;
  for (let at = 0; at < type.length; at += 1) sum = (sum * 31 + type.charCodeAt(at)) % 65521;
  return `type-${KNOWN.length + (sum % SPARE)}`;
}

/** The types of the default knowledge base, for choosing one. */
export const TYPES = KNOWN;
