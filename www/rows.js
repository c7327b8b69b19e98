// A table of which only the rows in view are in the page: a long note has tens of thousands of mentions.

import { byId, make } from "./dom.js";

/** Pixels of a row that was not measured yet, and of a table that is not shown. */
const [ROW, TABLE] = [36, 700];

/** Rows beyond those in view, on each side. */
const BEYOND = 12;

/**
 * @param {object} on
 * @param {(at: number) => HTMLElement} on.draw makes a row
 */
export function createRows(on) {
  const box = byId("mention-table");
  const body = byId("mention-rows");
  const pads = ["rows-before", "rows-after"].map((id) => {
    const cell = make("td");
    byId(id).append(make("tr", {}, cell));
    return cell;
  });
  let heights = new Float32Array(0);
  let usual = ROW;
  let window = { first: 0, last: 0 };
  let drawing = 0;

  box.addEventListener(
    "scroll",
    () => {
      cancelAnimationFrame(drawing);
      drawing = requestAnimationFrame(() => {
        const next = inView();
        if (next.first !== window.first || next.last !== window.last) draw();
      });
    },
    { passive: true },
  );

  /** The rows that are in view, and some more. */
  function inView() {
    const top = box.scrollTop;
    const bottom = top + (box.clientHeight || TABLE);
    let at = 0;
    let y = 0;
    while (at < heights.length && y + heights[at] < top) y += heights[at++];
    const first = Math.max(0, at - BEYOND);
    while (at < heights.length && y < bottom) y += heights[at++];
    return { first, last: Math.min(heights.length, at + BEYOND) };
  }

  function draw() {
    const had = body.contains(document.activeElement);
    const key = document.activeElement?.dataset?.key;
    window = inView();
    const rows = [];
    for (let at = window.first; at < window.last; at += 1) rows.push(on.draw(at));
    body.replaceChildren(...rows);
    pad(pads[0], sum(0, window.first));
    pad(pads[1], sum(window.last, heights.length));
    measure();
    if (!had) return;
    const again = key && [...body.querySelectorAll("[data-key]")].find((element) => element.dataset.key === key);
    (again ?? box).focus({ preventScroll: true });
  }

  function measure() {
    // Looking at a height costs a layout.
    if (byId("mentions").hidden || body.offsetHeight === 0) return;
    let at = window.first;
    for (const row of body.rows) heights[at++] = row.offsetHeight;
    if (body.rows.length > 0) usual = body.offsetHeight / body.rows.length;
  }

  function sum(from, to) {
    let height = 0;
    for (let at = from; at < to; at += 1) height += heights[at];
    return height;
  }

  function pad(cell, height) {
    cell.parentElement.hidden = height === 0;
    cell.style.setProperty("height", `${height}px`);
  }

  return {
    /** Draws the rows of a list of this length. @param {number} count */
    draw(count) {
      if (count !== heights.length) heights = new Float32Array(count).fill(usual);
      draw();
    },

    /** Brings a row into view. @param {number} at @returns {HTMLElement | undefined} */
    reveal(at) {
      if (at < 0 || at >= heights.length) return undefined;
      const head = byId("mention-head").offsetHeight;
      // The heights between are estimates until they are drawn, so the second look is the exact one.
      for (let looks = 0; looks < 2; looks += 1) {
        const [top, height] = [sum(0, at), heights[at]];
        if (top < box.scrollTop) box.scrollTop = top;
        else if (top + height + head > box.scrollTop + box.clientHeight)
          box.scrollTop = top + height + head - box.clientHeight;
        draw();
      }
      return body.rows[at - window.first];
    },

    /** The first row in the page. */
    first: () => window.first,
  };
}
