// Exports notes with their links as downloads or to the clipboard.

import { exported, hasCodes } from "./codes.js";
import { announce, byId, closeAsMenu, make, save } from "./dom.js";
import { reviewed } from "./review.js";
import { signature } from "./state.js";
import { fileName } from "./words.js";
import { zip } from "./zip.js";

/** @type {{ format: import("./pkg/pel.js").Format, name: string, ending: string, type: string }[]} */
const FORMATS = [
  { format: "json", name: "JSON", ending: "json", type: "application/json" },
  { format: "csv", name: "CSV", ending: "csv", type: "text/csv" },
  { format: "brat", name: "BRAT", ending: "ann", type: "text/plain" },
  { format: "pubtator", name: "PubTator", ending: "pubtator", type: "text/plain" },
  { format: "html", name: "Annotated HTML", ending: "html", type: "text/html" },
];

/**
 * @param {object} from
 * @param {() => import("./pkg/pel.js").Pel | null} from.pel
 * @param {() => import("./state.js").Note[]} from.notes
 * @param {() => import("./state.js").Note} from.note the current note
 * @param {() => import("./pkg/pel.js").CodeSystem | null} from.system the code system that the reader chose
 * @param {(notes: import("./state.js").Note[]) => Promise<boolean>} from.complete has notes linked; false if it failed
 */
export function createExports({ pel, notes, note, system, complete }) {
  const menu = byId("export");
  const status = byId("export-status");
  const all = byId("export-all");
  closeAsMenu(menu);
  byId("export-formats").append(...FORMATS.map((one) => make("li", {},
    make("span", { "aria-hidden": "true" }, one.name),
    button("Download", one, "download", () => download(one)),
    button("Copy", one, "copy", () => copy(one)))));
  byId("print").addEventListener("click", () => {
    menu.open = false;
    print();
  });
  all.addEventListener("change", () => {
    for (const button of menu.querySelectorAll(".copy")) button.disabled = all.checked;
  });
  menu.addEventListener("toggle", () => {
    status.textContent = "";
    byId("export-all-row").hidden = notes().length < 2;
    if (notes().length < 2) all.checked = false;
    for (const button of menu.querySelectorAll(".copy")) button.disabled = all.checked;
  });

  function button(words, { name }, className, work) {
    const label = `${words} ${name}`;
    return make("button", { type: "button", className, "aria-label": label, onclick: () => run(work) }, words);
  }

  async function run(work) {
    status.textContent = "";
    if (!pel()) {
      status.textContent = "Notes can be exported once the model is loaded.";
      return;
    }
    try {
      status.textContent = await work();
      announce(status.textContent);
    } catch (error) {
      status.textContent = `The export failed: ${error.message}`;
    }
  }

  async function write(format, wanted) {
    if (!(await complete(wanted))) throw new Error("the note changed during the export; try again");
    // A snapshot, because notes may change or close while files are written.
    const reader = byId("reviewer").value.trim() || "reader";
    const written = wanted.map((note) => {
      const { name, text } = note;
      return { note, name, text, ...reviewed(note, reader), signature: signature(note) };
    });
    const codes = hasCodes(pel().manifest()) ? exported(format, system()) : undefined;
    for (const one of written) {
      const { name, text, links, removed } = one;
      one.file = await pel().write(format, { name, text, links, removed, codes });
    }
    return written;
  }

  async function download({ format, name, ending, type }) {
    const written = await write(format, all.checked ? [...notes()] : [note()]);
    const names = new Set();
    const files = [];
    for (const one of written) {
      const stem = unique(fileName(one.name, ""), names);
      files.push({ name: `${stem}${ending}`, text: one.file, type });
      // Standoff offsets need the exact text.
      if (format === "brat") files.push({ name: `${stem}txt`, text: one.text, type: "text/plain" });
      // A table has not the text.
      if (format !== "csv") one.note.saved = one.signature;
    }
    if (all.checked) {
      save(`notes-${ending}.zip`, zip(files), "application/zip");
      return `${name}: ${files.length} files saved in one ZIP.`;
    }
    for (const file of files) save(file.name, file.text, file.type);
    return `${name}: ${files.length} ${files.length === 1 ? "file" : "files"} saved.`;
  }

  async function copy({ format, name }) {
    const [{ file }] = await write(format, [note()]);
    await toClipboard(file);
    return `${name} copied.`;
  }
}

/** A unique stem; it ends in a dot. */
function unique(stem, names) {
  let name = stem;
  for (let number = 2; names.has(name.toLowerCase()); number += 1) name = `${stem.slice(0, -1)}-${number}.`;
  names.add(name.toLowerCase());
  return name;
}

/** Copies a text. @param {string} text */
export async function toClipboard(text) {
  if (navigator.clipboard?.writeText) {
    await navigator.clipboard.writeText(text);
    return;
  }
  // Without HTTPS only the old interface exists.
  const field = make("textarea", { value: text, className: "visually-hidden" });
  document.body.append(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  if (!done) throw new Error("the browser refused the clipboard");
}
