// The NIL threshold and its precision-recall curve.

import { at, line, place, range } from "./curve.js";
import { byId, closeAsMenu, makeSvg } from "./dom.js";
import { percent, score } from "./words.js";

const WIDTH = 200;
const HEIGHT = 120;

/**
 * @param {(threshold: number | null) => void} changed called with null for the bundle's threshold
 */
export function createThreshold(changed) {
  const slider = byId("threshold");
  const reset = byId("threshold-reset");
  let manifest = null;
  let dot = null;
  closeAsMenu(byId("threshold-menu"));

  slider.addEventListener("input", () => {
    draw(Number(slider.value));
    reset.disabled = false;
    changed(Number(slider.value));
  });
  reset.addEventListener("click", () => {
    slider.value = manifest.nil.threshold ?? slider.min;
    reset.disabled = true;
    draw(manifest.nil.threshold);
    changed(null);
  });

  function draw(threshold) {
    byId("threshold-value").textContent = threshold === null ? "none" : score(threshold);
    slider.setAttribute("aria-valuetext", threshold === null ? "none" : score(threshold));
    byId("threshold-words").textContent = wordsAt(threshold);
    const point = threshold === null ? null : at(manifest.nil.curve ?? [], threshold);
    if (!dot || !point) return;
    const [x, y] = place(point, WIDTH, HEIGHT);
    dot.setAttribute("cx", x.toFixed(1));
    dot.setAttribute("cy", y.toFixed(1));
  }

  function wordsAt(threshold) {
    const curve = manifest.nil.curve ?? [];
    if (threshold === null) return "The bundle has no threshold: every mention with a candidate is linked.";
    if (curve.length === 0) return "How often “no match” is right was not measured for this bundle.";
    const { precision, recall } = at(curve, threshold);
    return `Of the mentions that get no match, ${percent(precision)} have none (precision of NIL). ` +
      `Of the mentions that have no match, ${percent(recall)} get none (recall of NIL).`;
  }

  function drawCurve(curve) {
    dot = makeSvg("circle", { r: 5, class: "curve-dot", cx: 0, cy: 0 });
    const label = (x, y, anchor, words) => makeSvg("text", { x, y, "text-anchor": anchor }, words);
    byId("curve").replaceChildren(
      makeSvg("path", { class: "curve-grid", d: `M0,0 H${WIDTH} V${HEIGHT}` }),
      makeSvg("path", { class: "curve-grid", d: `M0,${HEIGHT / 2} h${WIDTH} M${WIDTH / 2},0 v${HEIGHT}` }),
      makeSvg("path", { class: "curve-frame", d: `M0,0 V${HEIGHT} H${WIDTH}` }),
      makeSvg("polyline", { class: "curve-line", points: line(curve, WIDTH, HEIGHT) }),
      dot,
      label(WIDTH / 2, HEIGHT + 32, "middle", "recall"),
      label(0, HEIGHT + 16, "middle", "0"),
      label(WIDTH, HEIGHT + 16, "end", "100 %"),
      label(-6, HEIGHT, "end", "0"),
      label(-6, 6, "end", "100 %"),
      makeSvg("text", { x: -HEIGHT / 2 - 8, y: -30, transform: "rotate(-90)", "text-anchor": "middle" }, "precision"),
    );
  }

  return {
    /** @param {import("./pkg/pel.js").Manifest} next */
    ready(next) {
      manifest = next;
      const { min, max, step } = range(manifest);
      byId("threshold-label").textContent = manifest.nil.probability ? "Lowest probability that is linked" : "Lowest score that is linked";
      Object.assign(slider, { min, max, step, disabled: false });
      slider.value = manifest.nil.threshold ?? min;
      const curve = manifest.nil.curve ?? [];
      byId("curve").toggleAttribute("hidden", curve.length === 0);
      if (curve.length > 0) drawCurve(curve);
      const measured = manifest.nil.calibrated_on;
      byId("calibration").hidden = !measured;
      byId("calibrated").textContent = measured ? `Measured on ${measured}.` : "";
      draw(manifest.nil.threshold);
    },
  };
}
