// The page: brings the note, the engine and what is shown together.

import { hasCodes, OFFERED, systemName } from "./codes.js";
import { createConcepts } from "./concepts.js";
import { createDetails } from "./details.js";
import { announce, byId, make } from "./dom.js";
import { createEditor } from "./editor.js";
import { EXAMPLES } from "./examples.js";
import { createExports, toClipboard } from "./exports.js";
import { showLicences } from "./facts.js";
import { onDrop, readFiles } from "./files.js";
import { remember, travel } from "./history.js";
import { createKept } from "./kept.js";
import { createKeys } from "./keys.js";
import { Linker } from "./linker.js";
import { loadEngine } from "./loading.js";
import { createMentions } from "./mentions.js";
import { createNotes } from "./notes.js";
import { openAnnotation } from "./opening.js";
import { createDeletion, nameWorkers, seal } from "./privacy.js";
import { guardLeaving } from "./question.js";
import { isOpen, progressOf, progressWords } from "./review.js";
import {
  addMention, applyDecisions, decide, linkAt, removeMention, restoreRemoved, same, signature, undo,
} from "./state.js";
import { createStatus } from "./status.js";
import { createSummary } from "./summary-view.js";
import { createTheme } from "./theme.js";
import { createThreshold } from "./threshold.js";
import { createViews } from "./views.js";
import { counted } from "./words.js";

/** Milliseconds without typing before a note is linked. */
const PAUSE = 150;

/** Milliseconds after a letter before the column next to the note is drawn: a letter should cost the note alone. */
const LATER = 120;

/** More characters than this at once are not typed. */
const PASTED = 20;

const root = document.documentElement;
let linked = 0;
let drawing = 0;
let cameFromNote = false;
/** The code system that the reader chose; null for what the kind of a mention suggests. */
let system = null;

const status = createStatus();
const linker = new Linker({
  links: (changed) => {
    changed.links = applyDecisions(changed.machine, changed.decisions);
    if (changed === notes.current()) draw();
    else notes.draw();
  },
  progress: (progress, note) => {
    status.linking(progress);
    if (note === notes.current()) mentions.progress();
  },
  finished: (changed, { ms }) => {
    status.linked(ms);
    status.engine(linker.pel);
    if (changed === notes.current()) {
      linked += 1;
      root.dataset.linked = linked;
      if (changed.chosen && !chosenLink()) closeDetails(false);
      mentions.say();
    }
    linkOthers();
  },
  failed: (error) => {
    status.failed(error, () => linker.schedule(notes.current()));
    mentions.progress();
  },
});

const kept = createKept({
  notes: () => notes.all(),
  restore: (records) => notes.restore(records),
  problem: (words) => status.problem(words),
});

const notes = createNotes({
  isKept: (note) => kept.has(note),
  leave: (note) => editor.leave(note),
  show: (note) => {
    details.clear();
    editor.show(note);
    draw();
    editor.scroll(note);
    linker.schedule(note);
  },
});

const editor = createEditor({
  edit: (text, caret, before, typed) => {
    const note = notes.current();
    const { length } = note.text;
    if (text === note.text) return;
    remember(note, "typing", { caret: before, typed: typed ? performance.now() : null });
    linker.edit(note, text, caret);
    const visible = drawText(note);
    clearTimeout(drawing);
    drawing = setTimeout(() => note === notes.current() && drawColumn(note, visible), LATER);
    // What was pasted is whole.
    linker.schedule(note, text.length - length > PASTED ? 0 : PAUSE);
    // The list says at once that the note is being read.
    mentions.progress();
  },
  travel: (from) => takeBack(from),
  open: (span, focus) => {
    cameFromNote = true;
    openDetails(span, focus);
  },
  add: (start, end) => {
    const note = notes.current();
    if (note.text.slice(start, end).trim() === "") return;
    remember(note, "a new mention");
    const span = addMention(note, start, end);
    note.chosen = { ...span };
    announce("Marked as a mention.");
    linker.link(note).then((done) => {
      if (done && note === notes.current()) openDetails(span, true);
    });
  },
  linkAt: (offset) => linkAt(notes.current().links, offset),
});

const mentions = createMentions({
  open: (link) => {
    cameFromNote = false;
    openDetails(link, false);
  },
  filter: () => draw(),
  system: () => system,
  restore: () => change("removed mentions", restoreRemoved),
  progress: (note) => linker.progressOf(note),
  threshold: () => thresholdNow(),
});

const summaryView = createSummary({
  open: (link) => {
    cameFromNote = false;
    openDetails(link, false);
  },
  system: () => system,
  copy: toClipboard,
});

const details = createDetails({
  close: () => closeDetails(true),
  step: (by) => {
    const next = mentions.next(notes.current().chosen, by);
    if (next) openDetails(next, false);
  },
  confirm: (link) => confirm(link),
  choose: (link, concept) => change(`concept of “${link.text}”`, (note) => {
    // The machine's own choice, taken again, confirms it.
    const machine = note.machine.find((one) => same(one, link));
    if (machine?.decision === "linked" && machine.concept?.id === concept.id) decide(note, link, "confirm");
    else decide(note, link, "concept", coded(concept));
  }),
  nil: (link) => change(`no match for “${link.text}”`, (note) => decide(note, link, "nil")),
  remove: (link) => remove(link),
  reopen: (link) => change(`review of “${link.text}”`, (note) => undo(note, link)),
  linker: () => linker,
  threshold: () => thresholdNow(),
});

const views = createViews({
  shown: (view) => {
    if (view === "mentions") mentions.seen();
    if (view === "summary") summaryView.seen();
  },
});

createKeys({ travel: (from) => takeBack(from), act });

const threshold = createThreshold((value) => {
  // The engine decides the note that it linked last, which may be another one.
  const isHeld = linker.holds(notes.current());
  linker.setThreshold(value);
  if (!isHeld) linker.schedule(notes.current(), PAUSE);
});

const concepts = createConcepts({
  pel: () => linker.pel,
  changed: () => {
    linker.concepts += 1;
    linker.schedule(notes.current());
  },
});

createExports({
  pel: () => linker.pel,
  system: () => system,
  notes: () => notes.all(),
  note: () => notes.current(),
  complete: async (wanted) => {
    for (const note of wanted) {
      if (!linker.isFresh(note) && !(await linker.link(note))) return false;
    }
    // Deciding and explaining continue with the note that is shown.
    if (!linker.holds(notes.current())) linker.schedule(notes.current());
    return true;
  },
});

/** Shows the current note as it is now. */
function draw() {
  const note = notes.current();
  drawColumn(note, drawText(note));
}

/** Shows the text with its marks. @returns the links that the filters let through */
function drawText(note) {
  note.links = applyDecisions(note.machine, note.decisions);
  const visible = mentions.filtered(note.links);
  editor.draw(note.text, visible, note.chosen);
  return visible;
}

function drawColumn(note, visible) {
  clearTimeout(drawing);
  mentions.draw(note, visible);
  summaryView.draw(note, visible);
  notes.draw();
  drawReview(note);
  drawLost(note);
  const link = chosenLink();
  if (link) details.show(note, link);
  else if (!note.chosen) details.hide();
  kept.changed();
}

/** How far the review is, and what can be undone. */
function drawReview(note) {
  const progress = progressOf(note);
  byId("review-words").textContent = progressWords(progress);
  Object.assign(byId("review-meter"), { max: Math.max(1, progress.total), value: progress.done });
  byId("next-open").disabled = !note.links.some(isOpen);
  for (const [id, from] of [["undo", "past"], ["redo", "future"]]) {
    const steps = note.history[from];
    byId(id).disabled = steps.length === 0;
    byId(id).title = steps.length === 0 ? "" : `${id === "undo" ? "Undo" : "Redo"}: ${steps[steps.length - 1].words}`;
  }
}

/** Tells what an edit has taken of the reader's work, and offers it back. */
function drawLost({ lost }) {
  const words = lost ? `${counted(lost.count, "of your changes", "of your changes")} went with the text.` : "";
  byId("lost").hidden = !lost;
  if (byId("lost-words").textContent !== words) byId("lost-words").textContent = words;
}

function chosenLink() {
  const { chosen, links } = notes.current();
  return chosen ? links.find((link) => same(link, chosen)) : undefined;
}

function openDetails({ start, end }, focus) {
  choose({ start, end });
  views.show("details");
  const row = mentions.reveal({ start, end });
  const mark = editor.reveal({ start, end });
  details.uncover(cameFromNote ? mark : row);
  if (focus) details.focus();
}

/** Chooses a mention, whatever view is shown. */
function choose({ start, end }) {
  const note = notes.current();
  if (!note.chosen || !same(note.chosen, { start, end })) details.clear();
  note.chosen = { start, end };
  // Other notes were linked since: the engine explains the mentions of the last one.
  if (!linker.holds(note) && linker.isFresh(note)) linker.schedule(note);
  draw();
}

function closeDetails(focus) {
  const { chosen } = notes.current();
  notes.current().chosen = null;
  views.back();
  draw();
  // The keyboard goes back to where the mention was chosen.
  if (focus && chosen && (cameFromNote || !mentions.focus(chosen))) editor.focus(chosen);
}

/** Goes to another mention with the keyboard where it is: in the list, in the text that is read, or in the details. */
function goTo(link, place) {
  if (place === "details") {
    openDetails(link, byId("side").contains(document.activeElement));
    return;
  }
  choose(link);
  editor.reveal(link);
  if (place === "row") mentions.focus(link);
  else editor.focus(link);
}

/** The mention that keys are about, and where the keyboard is. */
function target() {
  const [row, mark] = [mentions.focused(), editor.focused()];
  if (row) return { link: row, place: "row" };
  if (mark && views.current() !== "details") return { link: mark, place: "mark" };
  return { link: chosenLink(), place: "details" };
}

/** Does what a key says; false if there is nothing to do. */
function act(name) {
  const { link, place } = target();
  if (name === "close") {
    if (!notes.current().chosen) return false;
    closeDetails(true);
    return true;
  }
  if (name === "open") return goToNextOpen(link ?? null, place);
  if (!link) return false;
  if (typeof name === "number") return place === "details" && details.choose(name);
  if (name === "confirm") return confirm(link, place);
  if (name === "search") {
    openDetails(link, false);
    details.search();
  } else if (name === "nil") {
    change(`no match for “${link.text}”`, (note) => decide(note, link, "nil"));
  } else if (name === "remove") {
    remove(link, place);
  } else {
    const next = mentions.next(link, name === "on" ? 1 : -1);
    if (next) goTo(next, place);
  }
  return true;
}

/** Confirms the answer of a mention, and goes on to the next open one. */
function confirm(link, place = "details") {
  if (isOpen(link)) change(`confirmation of “${link.text}”`, (note) => decide(note, link, "confirm"));
  return goToNextOpen(link, place);
}

function goToNextOpen(link, place) {
  const next = mentions.nextOpen(link);
  if (next) goTo(next, place);
  else announce("All mentions in the list are reviewed.");
  return true;
}

function remove(link, place = "details") {
  const next = mentions.nextOpen(link) ?? mentions.next(link, 1) ?? mentions.next(link, -1);
  change(`removal of “${link.text}”`, (note) => {
    if (removeMention(note, link)) linker.schedule(note);
    note.chosen = null;
  });
  if (next && !same(next, link)) goTo(next, place);
  else closeDetails(true);
  announce("Mention removed.");
}

/** Undoes or does again the last change of the note. */
function takeBack(from) {
  const note = notes.current();
  const step = travel(note, from, (...edit) => linker.edit(...edit));
  if (!step) return;
  editor.restore(note.text, step.caret);
  if (step.changed) linker.schedule(note);
  draw();
  announce(`${from === "past" ? "Undone" : "Done again"}: ${step.words}.`);
}

/** Links the other notes while nothing else is to be done, so that their counts are known. */
function linkOthers() {
  const current = notes.current();
  if (!linker.isFresh(current)) return;
  const next = notes.all().find((note) => note.text !== "" && !linker.isFresh(note));
  if (next) linker.link(next);
}

const thresholdNow = () => (linker.pel ? (linker.threshold ?? linker.pel.manifest().nil.threshold) : null);

/** A copy of a candidate that gets the codes of its concept, which only linked ones have. */
function coded(candidate) {
  const concept = { ...candidate };
  linker.pel.concept(concept.id).catch(() => null).then((found) => {
    if (!found?.codes) return;
    Object.assign(concept, { code: found.code, codes: found.codes });
    draw();
  });
  return concept;
}

/** Changes what the reader has decided; `words` say what, for undo. */
function change(words, work) {
  remember(notes.current(), words);
  work(notes.current());
  draw();
}

async function openFiles(files) {
  const { notes: read, annotations, tables, problems } = await readFiles(files);
  const shown = [];
  for (const { name, text } of read) {
    const note = notes.add(name, text);
    note.saved = signature(note);
    shown.push(note);
  }
  for (const annotation of annotations) {
    const { note, problem } = openAnnotation(annotation, notes);
    if (note) shown.push(note);
    if (problem) problems.push(problem);
  }
  if (shown.length > 0) notes.show(shown[0]);
  if (tables.length > 0) await concepts.take(tables, []);
  if (problems.length > 0) status.problem(problems.join(" "));
}

byId("undo").addEventListener("click", () => takeBack("past"));
byId("redo").addEventListener("click", () => takeBack("future"));
byId("next-open").addEventListener("click", () => {
  cameFromNote = false;
  goToNextOpen(chosenLink() ?? null, "details");
});
byId("tab-details").addEventListener("click", () => notes.current().chosen || details.hide());
addEventListener("beforeprint", () => summaryView.seen());
byId("lost-undo").addEventListener("click", () => editor.replace(notes.current().lost.text));
byId("lost-dismiss").addEventListener("click", () => {
  notes.current().lost = null;
  drawLost(notes.current());
});
byId("new-note").addEventListener("click", () => {
  notes.show(notes.add());
  editor.focus(null);
});
byId("open-files").addEventListener("click", () => byId("note-files").click());
byId("note-files").addEventListener("change", async ({ target }) => {
  const files = [...target.files];
  await openFiles(files);
  target.value = "";
});
onDrop(openFiles);
byId("show-licences").addEventListener("click", () => showLicences(linker.pel));

byId("nested").addEventListener("change", ({ target }) => {
  linker.nested = target.checked;
  linker.schedule(notes.current());
});

byId("code-system").append(...OFFERED.map((one) => make("option", { value: one }, systemName(one))));
byId("code-system").addEventListener("change", ({ target }) => {
  system = target.value || null;
  draw();
});

createTheme();
createDeletion(() => kept.forget());
nameWorkers();
const wouldLose = () => notes.hasUnsavedWork() || concepts.hasUnsavedWork();
const leaving = guardLeaving(wouldLose);
notes.show(notes.add(EXAMPLES[0].name, EXAMPLES[0].text));
kept.begin();
loadEngine(status, {
  ready: (pel) => {
    linker.pel = pel;
    status.model(pel);
    threshold.ready(pel.manifest());
    concepts.ready();
    mentions.ready(pel.manifest());
    byId("code-system-row").hidden = !hasCodes(pel.manifest());
    byId("show-licences").disabled = false;
    seal();
    root.dataset.ready = "true";
    linker.schedule(notes.current());
  },
  wouldLose,
  leaving,
});
