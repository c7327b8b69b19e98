// The reader's own concepts: adding from a file or a form, listing, removing, saving.

import { TYPES } from "./colours.js";
import { byId, closeAsMenu, keepFocus, make, save } from "./dom.js";
import { readFiles } from "./files.js";
import { ask } from "./question.js";
import { additionWords, counted, whole } from "./words.js";

/** The greatest number of listed concepts. */
const LISTED = 200;

const REMOVING = {
  heading: "Remove all added concepts?",
  words: "They are not exported.",
  yes: "Remove",
};

/**
 * @param {object} on
 * @param {() => import("./pkg/pel.js").Pel | null} on.pel
 * @param {() => void} on.changed notes have to be linked again
 */
export function createConcepts(on) {
  const form = byId("concept-form");
  const file = byId("concept-file");
  const report = byId("concept-report");
  const buttons = [byId("concept-add"), byId("concept-file-button"), byId("concepts-save"), byId("concepts-clear")];
  /** The additions that are running or wait. */
  const running = new Set();
  let unsaved = false;
  closeAsMenu(byId("concepts"));
  byId("concept-cancel").addEventListener("click", () => running.forEach((addition) => addition.abort()));
  byId("concept-types").append(...TYPES.map((type) => make("option", { value: type })));

  byId("concept-file-button").addEventListener("click", () => file.click());
  file.addEventListener("change", async () => {
    const { tables, notes, annotations, problems } = await readFiles(file.files);
    file.value = "";
    const others = [...notes, ...annotations];
    const advice = "is not a table of concepts. Choose a CSV, TSV, OBO or JSONL file.";
    problems.push(...others.map(({ name }) => `${name} ${advice}`));
    await take(tables, problems);
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const value = (name) => form.elements[name].value.trim();
    const concept = { id: value("id"), name: value("name") };
    const synonyms = value("synonyms").split("\n").map((one) => one.trim()).filter(Boolean);
    if (synonyms.length > 0) concept.synonyms = synonyms;
    if (value("type")) concept.types = [value("type")];
    if (value("definition")) concept.definition = value("definition");
    const added = await add([concept], concept.name);
    if (added > 0) form.reset();
  });
  byId("concepts-clear").addEventListener("click", async () => {
    if (!unsaved || (await ask(REMOVING))) await remove();
  });
  byId("concepts-save").addEventListener("click", async () => {
    save("concepts.jsonl", await on.pel().exportConcepts(), "application/x-ndjson");
    unsaved = false;
  });
  byId("concept-list").addEventListener("click", (event) => {
    const id = event.target.closest("button")?.dataset.key;
    if (id !== undefined) remove([id]);
  });

  async function take(tables, problems) {
    report.replaceChildren();
    for (const table of tables) await add(table, table.name);
    report.append(...problems.map((problem) => make("p", {}, problem)));
    byId("concepts").open = true;
  }

  async function add(concepts, name) {
    const pel = on.pel();
    if (!pel) return say(make("p", {}, "Concepts can be added after the model is loaded."), 0);
    const addition = new AbortController();
    running.add(addition);
    drawProgress(name);
    try {
      const result = await pel.addConcepts(concepts, {
        signal: addition.signal,
        onProgress: (progress) => drawProgress(name, progress),
      });
      unsaved = true;
      if (!Array.isArray(concepts)) report.append(drawReport(name, result));
      else report.replaceChildren(drawReport(name, result));
      if (result.added + result.changed + result.removed > 0) await changed();
      return result.added;
    } catch (error) {
      const why = error?.code === "cancelled" ? "it was cancelled" : error.message;
      return say(make("p", { className: "warning" }, `${name} was not added: ${why}`), 0);
    } finally {
      running.delete(addition);
      byId("concept-progress").hidden = running.size === 0;
    }
  }

  function drawProgress(name, { done, total } = { done: 0, total: 0 }) {
    byId("concept-progress").hidden = false;
    byId("concept-words").textContent = total > 0
      ? `Adding ${name}: ${whole(done)} of ${counted(total, "text")} encoded` : `Adding ${name} …`;
    const bar = byId("concept-bar");
    bar.max = Math.max(1, total);
    bar.value = done;
  }

  function say(words, result) {
    report.append(words);
    return result;
  }

  async function remove(ids) {
    await on.pel().removeConcepts(ids);
    report.replaceChildren();
    await changed();
  }

  async function changed() {
    on.changed();
    const all = await on.pel().addedConcepts();
    const list = byId("concept-list");
    const focusWasInside = list.contains(document.activeElement);
    keepFocus(list, () => list.replaceChildren(...all.slice(0, LISTED).map(drawAdded)));
    if (focusWasInside && all.length === 0) byId("concept-add").focus();
    byId("concept-count").textContent = all.length === 0 ? "" : `${counted(all.length, "concept")} added` +
      (all.length > LISTED ? `; the first ${LISTED} are listed.` : ".");
    byId("concepts-all").hidden = all.length === 0;
  }

  return {
    ready() {
      for (const button of buttons) button.disabled = false;
    },

    /** Whether leaving the page would lose concepts: added ones, or one in the form. */
    hasUnsavedWork: () => running.size > 0 || (unsaved && !byId("concepts-all").hidden) ||
      ["name", "id", "synonyms", "definition"].some((field) => form.elements[field].value.trim() !== ""),

    /** Adds tables that were dropped. */
    take,
  };
}

function drawAdded({ id, name }) {
  const button = make("button", { type: "button", "aria-label": `Remove ${name}` }, "Remove");
  button.dataset.key = id;
  return make("li", {}, make("span", {}, name, " ", make("code", {}, id)), button);
}

/** The report on the concepts of a file or form. */
function drawReport(name, added) {
  const { kept, noted, skipped, examples } = added.report;
  const parts = [make("p", {}, make("strong", {}, name), `: ${additionWords(added)}`)];
  for (const [title, counts] of [["Kept", kept], ["Noted", noted], ["Skipped", skipped]]) {
    const entries = Object.entries(counts ?? {});
    if (entries.length === 0) continue;
    const list = entries.map(([reason, number]) => {
      const places = examples?.[reason] ?? [];
      return make("li", {}, `${whole(number)} ${reason}`,
        places.length > 0 && make("span", { className: "quiet" }, ` (${places.join("; ")})`));
    });
    parts.push(make("p", {}, title), make("ul", {}, ...list));
  }
  return make("div", { className: "report" }, ...parts);
}
