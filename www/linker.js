// Links notes with the engine: one at a time, newer requests replace older ones, results are streamed.

import { editNote, inOrder, mergeLinks, shiftSpans } from "./state.js";

/** The number of candidates in the details. */
const CANDIDATES = 5;

/** The least time in milliseconds between two drawings of streamed links. */
const PAUSE = 60;

/**
 * How far the linking of a note is: the parts that the detector has read, and then the mentions that are linked.
 *
 * @typedef {{ read?: { done: number, total: number }, linked?: { done: number, total: number } }} Progress
 */

export class Linker {
  /**
   * @param {object} on
   * @param {(note: import("./state.js").Note) => void} on.links the engine's links of a note have changed
   * @param {(progress: Progress, note: import("./state.js").Note) => void} on.progress
   * @param {(note: import("./state.js").Note, result: import("./pkg/pel.js").Linked) => void} on.finished
   * @param {(error: unknown) => void} on.failed
   */
  constructor(on) {
    this.on = on;
    /** @type {import("./pkg/pel.js").Pel | null} */
    this.pel = null;
    /** The reader's threshold; null while it is the bundle's. */
    this.threshold = null;
    /** Whether mentions inside and across others are found too. */
    this.nested = false;
    /** A counter that increases when the added concepts change. */
    this.concepts = 0;
    this.run = null;
    /** The note that the engine linked last, for deciding again and explaining. */
    this.held = null;
    this.deciding = false;
    /** The note whose linking has failed, until it is linked. */
    this.broken = null;
  }

  /** How far the linking of a note is; null if it is linked, or failed. @returns {Progress | null} */
  progressOf(note) {
    if (!this.pel || this.isFresh(note) || this.broken === note) return null;
    return this.run?.note === note ? this.run.progress : {};
  }

  /** Changes the note's text, and records the edit for a running request. */
  edit(note, text, caret) {
    const edit = editNote(note, text, caret);
    if (edit && this.run?.note === note) this.run.edits.push(edit);
    return edit;
  }

  /** Links a note after a delay, unless another request comes first. */
  schedule(note, delay = 0) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.link(note), delay);
  }

  isFresh(note) {
    const { fresh } = note;
    return fresh !== null && fresh.threshold === this.threshold && fresh.nested === this.nested &&
      fresh.concepts === this.concepts;
  }

  /** Whether the engine can explain and decide the links of a note. */
  holds(note) {
    return this.held === note && note.fresh !== null && this.run === null;
  }

  /**
   * Links a note now.
   *
   * @param {import("./state.js").Note} note
   * @returns {Promise<boolean>} whether it was linked: false if a newer request replaced it, or it failed
   */
  async link(note) {
    clearTimeout(this.timer);
    if (!this.pel) return false;
    const run = { note, edits: [], parts: [], merged: new Set(), drawn: 0, cost: 0, timer: 0, progress: {} };
    if (this.run) clearTimeout(this.run.timer);
    this.run = run;
    this.held = null;
    this.broken = null;
    const { threshold, nested, concepts } = this;
    const options = {
      k: CANDIDATES,
      overlapping: nested,
      spans: note.added.map(({ start, end }) => ({ start, end })),
      onRead: (read) => this.#progress(run, { read }),
      onLinks: (part) => this.#arrived(run, part),
    };
    if (threshold !== null) options.threshold = threshold;
    try {
      const result = await this.pel.link(note.text, options);
      clearTimeout(run.timer);
      if (this.run !== run) return false;
      this.run = null;
      note.machine = moved(own(result.links), run.edits);
      if (run.edits.length === 0) {
        note.fresh = { threshold, nested, concepts };
        this.held = note;
      }
      this.on.links(note);
      // The text has changed since; the next request is scheduled.
      if (run.edits.length > 0) return false;
      this.on.finished(note, result);
      if (this.threshold !== threshold) this.decide();
      return true;
    } catch (error) {
      clearTimeout(run.timer);
      if (this.run !== run) return false;
      this.run = null;
      if (error?.code !== "cancelled") {
        this.broken = note;
        this.on.failed(error);
      }
      return false;
    }
  }

  #progress(run, progress) {
    if (this.run !== run) return;
    run.progress = progress;
    this.on.progress(progress, run.note);
  }

  #arrived(run, { links, done, total }) {
    if (this.run !== run) return;
    for (const link of own(links)) run.parts.push(link);
    this.#progress(run, { linked: { done, total } });
    if (run.timer) return;
    // Drawing a long note is slow: it may take at most a fifth of the time.
    const wait = Math.max(PAUSE, run.cost * 4) - (performance.now() - run.drawn);
    run.timer = setTimeout(() => this.#merge(run), Math.max(0, wait));
  }

  #merge(run) {
    run.timer = 0;
    if (this.run !== run) return;
    const begin = performance.now();
    const parts = moved(inOrder(run.parts), run.edits);
    run.parts = [];
    run.note.machine = mergeLinks(run.note.machine, parts, run.merged);
    for (const link of parts) run.merged.add(link);
    this.on.links(run.note);
    run.drawn = performance.now();
    run.cost = run.drawn - begin;
    // Includes the layout, which the browser does in the next frame.
    requestAnimationFrame(() => setTimeout(() => {
      run.cost = performance.now() - begin;
    }));
  }

  /** Sets the threshold and decides the shown links again. @param {number | null} threshold */
  setThreshold(threshold) {
    this.threshold = threshold;
    return this.decide();
  }

  /** Decides with the latest threshold; concurrent calls are combined. */
  async decide() {
    if (this.deciding || !this.pel) return;
    this.deciding = true;
    try {
      while (this.held && this.held.fresh && this.held.fresh.threshold !== this.threshold) {
        const { held: note, threshold } = this;
        const links = await this.pel.decide(threshold === null ? {} : { threshold });
        if (this.held !== note || !note.fresh) break;
        note.machine = own(links);
        note.fresh = { ...note.fresh, threshold };
        this.on.links(note);
      }
    } catch (error) {
      if (error?.code !== "cancelled") this.on.failed(error);
    } finally {
      this.deciding = false;
    }
  }
}

/** Copies of links in text order. Copies, because edits move them in place. */
function own(links) {
  return inOrder(links.map((link) => ({ ...link })));
}

/** Links moved by the edits since. */
function moved(links, edits) {
  return edits.reduce((kept, edit) => shiftSpans(kept, edit), links);
}
