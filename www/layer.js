// Draws a text with its marks into an element, block by block; unchanged blocks are not redrawn.

import { recut, spread } from "./blocks.js";
import { overlap, same } from "./state.js";

/**
 * A piece of a mention, and the mention. Signs are drawn above the piece, and take no room in the text.
 *
 * @typedef {{ start: number, end: number, link: import("./state.js").Link, className: string, signs: string,
 *   label: string }} Mark
 */

/** Milliseconds of drawing per frame. */
const SLICE = 30;

/** Longer lines are split in the reading view. The text field cannot split them, so they get no marks there. */
const LONGEST = { reading: 4000, writing: 60_000 };

export class TextLayer {
  /**
   * @param {HTMLElement} root
   * @param {{ buttons: boolean }} options `buttons`: marks are buttons (reading view) instead of plain spans (behind the text field)
   */
  constructor(root, { buttons }) {
    this.root = root;
    this.buttons = buttons;
    this.blocks = [];
    this.owners = new WeakMap();
    this.waiting = 0;
  }

  /**
   * @param {string} text
   * @param {Mark[]} marks in the order of the text
   */
  render(text, marks) {
    this.#cut(text);
    const pieces = spread(this.blocks, marks);
    this.blocks.forEach((block, at) => {
      block.pieces = block.length > LONGEST.writing ? [] : pieces[at];
      block.wanted = signature(block.pieces);
    });
    this.#draw();
  }

  /** Whether a line is too long for marks. */
  get overlong() {
    return this.blocks.some((block) => block.length > LONGEST.writing);
  }

  /** The element of the first visible piece of a mention, drawn if necessary. @param {{ start: number, end: number }} mention @returns {HTMLElement | undefined} */
  elementOf(mention) {
    for (const block of this.blocks) {
      if (!overlap(mention, { start: block.start, end: block.start + block.length })) continue;
      const at = block.pieces.findIndex((piece) => same(piece.mark.link, mention));
      if (at < 0) continue;
      if (block.drawn !== block.wanted) this.#fill(block);
      return block.element.querySelectorAll(".mark")[at];
    }
    return undefined;
  }

  /** The mark of an element. @param {Element} element @returns {Mark | undefined} */
  markOf(element) {
    const block = this.owners.get(element.parentElement);
    if (!block) return undefined;
    return block.pieces[[...block.element.querySelectorAll(".mark")].indexOf(element)]?.mark;
  }

  #cut(text) {
    const { head, tail, middle } = recut(this.blocks.map((block) => block.text), text,
      this.buttons ? LONGEST.reading : undefined);
    const end = this.blocks.length - tail;
    const next = this.blocks[end]?.element ?? null;
    for (const block of this.blocks.slice(head, end)) block.element.remove();
    const fresh = middle.map((piece) => this.#create(piece));
    const all = document.createDocumentFragment();
    for (const block of fresh) all.append(block.element);
    this.root.insertBefore(all, next);
    this.blocks = [...this.blocks.slice(0, head), ...fresh, ...this.blocks.slice(end)];
    let start = 0;
    for (const block of this.blocks) {
      block.start = start;
      start += block.length;
    }
  }

  #create(text) {
    const element = document.createElement("div");
    element.textContent = text;
    const block = { text, length: text.length, start: 0, element, pieces: [], drawn: "", wanted: "" };
    this.owners.set(element, block);
    return block;
  }

  #draw() {
    cancelAnimationFrame(this.waiting);
    const until = performance.now() + SLICE;
    for (const block of this.blocks) {
      if (block.drawn === block.wanted) continue;
      if (performance.now() > until) {
        this.waiting = requestAnimationFrame(() => this.#draw());
        return;
      }
      this.#fill(block);
    }
  }

  #fill(block) {
    const { element, text, pieces } = block;
    const focused = this.buttons && element.contains(document.activeElement) ? document.activeElement : null;
    const offset = focused?.dataset.from;
    const content = document.createDocumentFragment();
    let at = 0;
    for (const { from, to, mark } of pieces) {
      if (from > at) content.append(text.slice(at, from));
      content.append(this.#mark(text.slice(from, to), from, mark));
      at = to;
    }
    if (at < text.length) content.append(text.slice(at));
    element.replaceChildren(content);
    block.drawn = block.wanted;
    if (offset) element.querySelector(`[data-from="${Number(offset)}"]`)?.focus({ preventScroll: true });
  }

  #mark(text, from, mark) {
    const element = document.createElement(this.buttons ? "button" : "span");
    element.className = `mark ${mark.className}`;
    element.textContent = text;
    if (mark.signs) element.dataset.signs = mark.signs;
    if (this.buttons) {
      element.type = "button";
      element.dataset.from = from;
      element.setAttribute("aria-label", mark.label);
    }
    return element;
  }
}

function signature(pieces) {
  let words = "";
  for (const { from, to, mark } of pieces) words += `${from} ${to} ${mark.className} ${mark.signs} ${mark.label}\n`;
  return words;
}
