// Has the engine link notes: one at a time, a newer request in place of an older one, results as they come.

import { editNote, inOrder, mergeLinks, shiftSpans } from "./state.js";

/** Candidates that the details show. */
const CANDIDATES = 5;

/** At the least so many milliseconds between two drawings of links that stream in. */
const PAUSE = 60;

export class Linker {
  /**
   * @param {object} on
   * @param {(note: import("./state.js").Note) => void} on.links the machine's links of a note have changed
   * @param {(done: number, total: number) => void} on.progress
   * @param {(note: import("./state.js").Note, result: import("./pkg/pel.js").Linked) => void} on.finished
   * @param {(error: unknown) => void} on.failed
   */
  constructor(on) {
    this.on = on;
    /** @type {import("./pkg/pel.js").Pel | null} */
    this.pel = null;
    /** The reader's threshold; null while it is the bundle's. */
    this.threshold = null;
    /** Counts up whenever the added concepts change. */
    this.concepts = 0;
    this.run = null;
    /** The note whose links the engine holds, for deciding again and for explaining. */
    this.held = null;
    this.deciding = false;
  }

  /** The note's text changes; what is under way for it takes note. */
  edit(note, text, caret) {
    const edit = editNote(note, text, caret);
    if (edit && this.run?.note === note) this.run.edits.push(edit);
    return edit;
  }

  /** Links a note after a while, unless another request comes before. */
  schedule(note, delay = 0) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.link(note), delay);
  }

  isFresh(note) {
    return note.fresh !== null && note.fresh.threshold === this.threshold && note.fresh.concepts === this.concepts;
  }

  /** Whether the engine can explain and decide the links of a note. */
  holds(note) {
    return this.held === note && note.fresh !== null && this.run === null;
  }

  /**
   * Links a note now.
   *
   * @param {import("./state.js").Note} note
   * @returns {Promise<boolean>} whether it was linked: false if something newer came between, or it failed
   */
  async link(note) {
    clearTimeout(this.timer);
    if (!this.pel) return false;
    const run = { note, edits: [], parts: [], drawn: 0, cost: 0, timer: 0 };
    if (this.run) clearTimeout(this.run.timer);
    this.run = run;
    this.held = null;
    const { threshold, concepts } = this;
    const options = {
      k: CANDIDATES,
      spans: note.added.map(({ start, end }) => ({ start, end })),
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
        note.fresh = { threshold, concepts };
        this.held = note;
      }
      this.on.links(note);
      // What was linked is no longer what the note says; the next run is on its way.
      if (run.edits.length > 0) return false;
      this.on.finished(note, result);
      if (this.threshold !== threshold) this.decide();
      return true;
    } catch (error) {
      clearTimeout(run.timer);
      if (this.run !== run) return false;
      this.run = null;
      if (error?.code !== "cancelled") this.on.failed(error);
      return false;
    }
  }

  #arrived(run, { links, done, total }) {
    if (this.run !== run) return;
    for (const link of own(links)) run.parts.push(link);
    this.on.progress(done, total);
    if (run.timer) return;
    // Drawing a long note takes a while: no more than a fifth of the time may go into it.
    const wait = Math.max(PAUSE, run.cost * 4) - (performance.now() - run.drawn);
    run.timer = setTimeout(() => this.#merge(run), Math.max(0, wait));
  }

  #merge(run) {
    run.timer = 0;
    if (this.run !== run) return;
    const begin = performance.now();
    const parts = moved(inOrder(run.parts), run.edits);
    run.parts = [];
    run.note.machine = mergeLinks(run.note.machine, parts);
    this.on.links(run.note);
    run.drawn = performance.now();
    run.cost = run.drawn - begin;
    // What the browser has to do for it comes after this, in the next frame.
    requestAnimationFrame(() => setTimeout(() => {
      run.cost = performance.now() - begin;
    }));
  }

  /** Sets the threshold and decides the shown links again. @param {number | null} threshold */
  setThreshold(threshold) {
    this.threshold = threshold;
    return this.decide();
  }

  /** Decides by the newest threshold; calls that come meanwhile are one call more. */
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

/** Links in the order of the text, as copies: they are moved in place, and the engine may keep its own. */
function own(links) {
  return inOrder(links.map((link) => ({ ...link })));
}

/** Links of a text that has been edited since. */
function moved(links, edits) {
  return edits.reduce((kept, edit) => shiftSpans(kept, edit), links);
}
