// How the reader's decisions and marks follow an edit of their own words. Pure.

/** @typedef {{ start: number, end: number }} Span */

/** Words that grow beyond this many times their length, and this many letters more, are another text. */
const [TIMES, MORE] = [2, 12];

const isWord = (unit) => unit !== undefined && /[\p{L}\p{N}\p{M}]/u.test(unit);

/**
 * The pieces of a mention after an edit; null if no sensible mention is left: an edit took all of a piece, or more than it, or put
 * other lines into it.
 *
 * @param {Span[]} pieces in text order
 * @param {import("./state.js").Edit} edit
 * @param {string} before
 * @param {string} after
 * @returns {Span[] | null}
 */
export function follow(pieces, edit, before, after) {
  const followed = pieces.map((piece) => followPiece(piece, edit, before, after));
  return followed.every(Boolean) ? followed : null;
}

function followPiece({ start, end }, edit, before, after) {
  const last = edit.start + edit.removed;
  const by = edit.inserted - edit.removed;
  const inserted = after.slice(edit.start, edit.start + edit.inserted);
  if (edit.removed === 0 && edit.start === end) {
    // What is typed at the end of a word belongs to it.
    const joined = isWord(before[end - 1]) ? run(inserted) : 0;
    return { start, end: end + joined };
  }
  if (edit.removed === 0 && edit.start === start) {
    const joined = isWord(before[start]) ? run([...inserted].reverse().join("")) : 0;
    return { start: start + by - joined, end: end + by };
  }
  if (end <= edit.start) return { start, end };
  if (start >= last) return { start: start + by, end: end + by };
  // Its words were changed: from within alone, so that some of them are left.
  if (edit.start < start || last > end || edit.removed === end - start) return null;
  return sensible(start, end + by, before.slice(start, end), after);
}

/** The number of units of a text that begin it as one word. */
function run(text) {
  const [word] = /^[\p{L}\p{N}\p{M}]*/u.exec(text);
  return word.length;
}

function sensible(start, end, words, after) {
  const now = after.slice(start, end);
  const trimmed = { start: start + now.length - now.trimStart().length, end: start + now.trimEnd().length };
  const isOther = now.includes("\n") && !words.includes("\n");
  const isLonger = now.length > words.length * TIMES + MORE;
  return isOther || isLonger || !/[\p{L}\p{N}]/u.test(now) ? null : trimmed;
}
