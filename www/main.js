// The page: brings the note, the engine and what is shown together.

import { hasCodes, SYSTEMS, systemName } from "./codes.js";
import { createConcepts } from "./concepts.js";
import { createDetails } from "./details.js";
import { announce, byId, make } from "./dom.js";
import { createEditor } from "./editor.js";
import { EXAMPLES } from "./examples.js";
import { createExports } from "./exports.js";
import { showLicences } from "./facts.js";
import { onDrop, readFiles } from "./files.js";
import { Linker } from "./linker.js";
import { loadEngine } from "./loading.js";
import { createMentions } from "./mentions.js";
import { createNotes } from "./notes.js";
import { createDeletion, nameWorkers, seal } from "./privacy.js";
import { guardLeaving } from "./question.js";
import { addMention, applyDecisions, decide, linkAt, removeMention, restoreRemoved, same, signature, undo } from "./state.js";
import { createStatus } from "./status.js";
import { createTheme } from "./theme.js";
import { createThreshold } from "./threshold.js";
import { counted } from "./words.js";

/** Milliseconds without typing before a note is linked. */
const PAUSE = 150;

/** More characters than this at once are not typed. */
const PASTED = 20;

const root = document.documentElement;
let linked = 0;
let cameFromNote = false;
/** The code system that the reader chose; null for what the kind of a mention suggests. */
let system = null;

const status = createStatus();
const linker = new Linker({
  links: (changed) => {
    changed.links = applyDecisions(changed.machine, changed.decisions);
    if (changed === notes.current()) draw();
  },
  progress: (progress, note) => {
    status.linking(progress);
    if (note === notes.current()) mentions.progress();
  },
  finished: (changed, { ms }) => {
    status.linked(ms);
    status.engine(linker.pel);
    linked += 1;
    root.dataset.linked = linked;
    if (changed !== notes.current()) return;
    if (changed.chosen && !chosenLink()) closeDetails(false);
    mentions.say();
  },
  failed: (error) => {
    status.failed(error, () => linker.schedule(notes.current()));
    mentions.progress();
  },
});

const notes = createNotes({
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
  edit: (text, caret) => {
    const note = notes.current();
    const before = note.text.length;
    if (!linker.edit(note, text, caret)) return;
    draw();
    // What was pasted is whole.
    linker.schedule(note, text.length - before > PASTED ? 0 : PAUSE);
  },
  open: (span, focus) => {
    cameFromNote = true;
    openDetails(span, focus);
  },
  add: (start, end) => {
    const note = notes.current();
    const span = addMention(note, start, end);
    if (!span) return;
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
  restore: () => change(restoreRemoved),
  progress: (note) => linker.progressOf(note),
});

const details = createDetails({
  close: () => closeDetails(true),
  step: (by) => {
    const next = mentions.next(notes.current().chosen, by);
    if (!next) return;
    openDetails(next, false);
  },
  choose: (link, concept) => change((note) => {
    // The machine's own choice, taken again, is no change.
    const machine = note.machine.find((one) => same(one, link));
    if (machine?.decision === "linked" && machine.concept?.id === concept.id) undo(note, link);
    else decide(note, link, "concept", coded(concept));
  }),
  nil: (link) => change((note) => decide(note, link, "nil")),
  remove: (link) => {
    const next = mentions.next(link, 1) ?? mentions.next(link, -1);
    change((note) => {
      if (removeMention(note, link)) linker.schedule(note);
      note.chosen = null;
    });
    if (next) openDetails(next, true);
    else closeDetails(true);
    announce("Mention removed.");
  },
  undo: (link) => change((note) => undo(note, link)),
  linker: () => linker,
  threshold: () => (linker.pel ? (linker.threshold ?? linker.pel.manifest().nil.threshold) : null),
});

const threshold = createThreshold((value) => linker.setThreshold(value));

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
  note.links = applyDecisions(note.machine, note.decisions);
  const visible = mentions.filtered(note.links);
  editor.draw(note.text, visible, note.chosen);
  mentions.draw(note, visible);
  notes.draw();
  drawLost(note);
  const link = chosenLink();
  if (link) details.show(note, link);
  else if (!note.chosen) details.hide();
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
  const { chosen } = notes.current();
  if (!chosen || !same(chosen, { start, end })) details.clear();
  notes.current().chosen = { start, end };
  draw();
  const row = mentions.reveal({ start, end });
  const mark = editor.reveal({ start, end });
  details.uncover(cameFromNote ? mark : row);
  if (focus) details.focus();
}

function closeDetails(focus) {
  const { chosen } = notes.current();
  notes.current().chosen = null;
  draw();
  // The keyboard goes back to where the mention was chosen.
  if (focus && chosen && (cameFromNote || !mentions.focus(chosen))) editor.focus(chosen);
}

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

/** Changes what the reader has decided. */
function change(work) {
  work(notes.current());
  draw();
}

async function openFiles(files) {
  const { notes: read, tables, problems } = await readFiles(files);
  for (const { name, text } of read) {
    const note = notes.add(name, text);
    note.saved = signature(note);
  }
  if (read.length > 0) notes.show(notes.all()[notes.all().length - read.length]);
  if (tables.length > 0) await concepts.take(tables, []);
  if (problems.length > 0) status.problem(problems.join(" "));
}

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

byId("code-system").append(...SYSTEMS.map((one) => make("option", { value: one }, systemName(one))));
byId("code-system").addEventListener("change", ({ target }) => {
  system = target.value || null;
  draw();
});

createTheme();
createDeletion();
nameWorkers();
const wouldLose = () => notes.hasUnsavedWork() || concepts.hasUnsavedWork();
const leaving = guardLeaving(wouldLose);
notes.show(notes.add(EXAMPLES[0].name, EXAMPLES[0].text));
loadEngine(status, {
  ready: (pel) => {
    linker.pel = pel;
    status.model(pel);
    threshold.ready(pel.manifest());
    concepts.ready();
    mentions.ready();
    byId("code-system-row").hidden = !hasCodes(pel.manifest());
    byId("show-licences").disabled = false;
    seal();
    root.dataset.ready = "true";
    linker.schedule(notes.current());
  },
  wouldLose,
  leaving,
});
