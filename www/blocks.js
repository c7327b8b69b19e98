// Splits a text into blocks of whole lines, so that an edit or a new link changes only a few of them. Pure.

/** The least length of a block, except the last. */
const LENGTH = 1500;

/**
 * Splits a text after line ends; the concatenated pieces are the text.
 *
 * @param {string} text
 * @param {number} [longest] longer lines are split after a space
 * @returns {string[]}
 */
export function cut(text, longest = Infinity) {
  const blocks = [];
  let start = 0;
  while (start < text.length) {
    const line = text.indexOf("\n", start + LENGTH - 1);
    let end = line < 0 ? text.length : line + 1;
    if (end - start > longest) {
      const space = text.lastIndexOf(" ", start + longest - 1);
      if (space > start) end = space + 1;
    }
    blocks.push(text.slice(start, end));
    start = end;
  }
  return blocks;
}

/**
 * Splits a changed text again and reuses the old blocks before and after the change.
 *
 * @param {string[]} old
 * @param {string} text
 * @param {number} [longest] see {@link cut}
 * @returns {{ head: number, tail: number, middle: string[] }} the numbers of reused blocks at both ends, and the new blocks between
 */
export function recut(old, text, longest) {
  let head = 0;
  let start = 0;
  while (head < old.length && old[head].endsWith("\n") && text.startsWith(old[head], start)) {
    start += old[head].length;
    head += 1;
  }
  let tail = 0;
  let end = text.length;
  while (tail < old.length - head) {
    const block = old[old.length - 1 - tail];
    if (end - block.length < start || !text.startsWith(block, end - block.length)) break;
    end -= block.length;
    tail += 1;
  }
  // A removed line end joins the text before it to the block after it.
  while (tail > 0 && end > start && text.charCodeAt(end - 1) !== 10) {
    end += old[old.length - tail].length;
    tail -= 1;
  }
  return { head, tail, middle: cut(text.slice(start, end), longest) };
}

/**
 * Distributes marks over blocks: each block gets its pieces of marks, with offsets within the block. Marks are in text
 * order; of overlapping marks the first is shown.
 *
 * @template {{ start: number, end: number }} M
 * @param {{ start: number, length: number }[]} blocks
 * @param {M[]} marks
 * @returns {{ from: number, to: number, mark: M }[][]}
 */
export function spread(blocks, marks) {
  const pieces = [];
  let first = 0;
  for (const { start, length } of blocks) {
    const end = start + length;
    const inside = [];
    let at = start;
    while (first < marks.length && marks[first].end <= start) first += 1;
    for (let next = first; next < marks.length && marks[next].start < end; next += 1) {
      const mark = marks[next];
      if (mark.start < at && !(mark.start < start && at === start)) continue;
      const to = Math.min(mark.end, end);
      inside.push({ from: Math.max(mark.start, start) - start, to: to - start, mark });
      at = to;
    }
    pieces.push(inside);
  }
  return pieces;
}
