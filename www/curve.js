// The precision-recall curve of NIL, as numbers. Pure.

/** @typedef {{ threshold: number, precision: number, recall: number }} Point */

/**
 * Precision and recall at a threshold, interpolated between measured points; beyond them, of the nearest point.
 *
 * @param {Point[]} curve ascending by threshold
 * @param {number} threshold
 * @returns {Point | null}
 */
export function at(curve, threshold) {
  if (curve.length === 0) return null;
  const after = curve.findIndex((point) => point.threshold >= threshold);
  if (after === 0) return { ...curve[0], threshold };
  if (after < 0) return { ...curve[curve.length - 1], threshold };
  const [a, b] = [curve[after - 1], curve[after]];
  const share = (threshold - a.threshold) / (b.threshold - a.threshold);
  return {
    threshold,
    precision: a.precision + (b.precision - a.precision) * share,
    recall: a.recall + (b.recall - a.recall) * share,
  };
}

/**
 * The range of the slider: from the curve or else from the kind of score, and including the bundle's threshold.
 *
 * @param {{ nil: { threshold: number | null, curve?: Point[] }, index: { score: string }, token_vectors?: object }} manifest
 * @returns {{ min: number, max: number, step: number }}
 */
export function range({ nil, index, token_vectors }) {
  const known = (nil.curve ?? []).map((point) => point.threshold);
  if (nil.threshold !== null) known.push(nil.threshold);
  // Sum-of-Max is a sum of cosines, so it may exceed 1.
  if (index.score === "cosine" && !token_vectors) {
    return { min: Math.min(0, ...known), max: Math.max(1, ...known), step: 0.001 };
  }
  const [min, max] = [Math.min(0, ...known), Math.max(0, ...known) * 1.5 || 100];
  return { min, max, step: (max - min) / 1000 };
}

/**
 * The curve as the points of a line: recall to the right, precision up.
 *
 * @param {Point[]} curve
 * @param {number} width
 * @param {number} height
 */
export function line(curve, width, height) {
  return curve.map((point) => place(point, width, height).map((one) => one.toFixed(1)).join(",")).join(" ");
}

/**
 * @param {Point} point
 * @param {number} width
 * @param {number} height
 * @returns {[number, number]}
 */
export function place({ precision, recall }, width, height) {
  return [recall * width, (1 - precision) * height];
}
