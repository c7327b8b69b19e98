// Keeps notes on this device, if the reader wants it: in IndexedDB, one record a note. One tab at a time keeps notes.

import { byId } from "./dom.js";
import { signature } from "./state.js";

const SITE = new URL(".", document.baseURI).href;
const NAME = `pel-notes ${SITE}`;
const STORE = "notes";
const CHOICE = "pel-keep";

/** Milliseconds between a change and its being stored: after the last one, and at most after the first. */
const [PAUSE, LONGEST] = [400, 2000];

const WORDS = {
  off:
    "Notes are kept only in the memory of this tab, never in the browser’s storage. They are lost when you close or " +
    "reload the tab. Export what you want to keep.",
  on: "Notes are kept in this browser on this device, until you close them here or delete everything.",
  other:
    "Another tab of this page keeps its notes on this device. The notes of this tab are kept only in its memory: close " +
    "the other tab and turn this on to keep them.",
  full: "This browser has no room left: the last changes are not kept. Export your notes, or close some of them.",
  none: "This browser does not let pages store notes, so they are kept only in the memory of this tab.",
};

/**
 * @param {object} on
 * @param {() => import("./state.js").Note[]} on.notes
 * @param {(notes: object[]) => void} on.restore notes of an earlier visit
 * @param {(words: string) => void} on.problem
 */
export function createKept(on) {
  const box = byId("keep");
  /** The open database; null while nothing is kept. @type {IDBDatabase | null} */
  let database = null;
  /** Ends the lock that keeps other tabs from keeping notes. */
  let release = null;
  let timer = 0;
  /** When the first change was made that is not stored. */
  let since = 0;
  let wroteLast = Promise.resolve();
  /** The signature of each note that is stored, by its key. @type {Map<string, string>} */
  const stored = new Map();

  box.addEventListener("change", async () => {
    if (!box.checked) await turnOff();
    else if (await turnOn()) await save();
  });

  addEventListener("pagehide", saveNow);
  document.addEventListener("visibilitychange", () => document.hidden && saveNow());

  function say(state) {
    byId("kept-words").textContent = WORDS[state];
    byId("keep").checked = state === "on" || state === "full";
    document.documentElement.dataset.kept = state;
  }

  async function turnOn() {
    if (!globalThis.indexedDB) {
      say("none");
      return false;
    }
    release = await takeLock();
    if (!release) {
      say("other");
      return false;
    }
    try {
      database = await open();
    } catch {
      release();
      say("none");
      return false;
    }
    // Another tab deletes everything.
    database.onversionchange = () => {
      stop();
      say("off");
    };
    choose(true);
    say("on");
    return true;
  }

  async function turnOff() {
    clearTimeout(timer);
    await wroteLast;
    stop();
    await forgetNotes().catch(() =>
      on.problem("The kept notes could not be deleted. Delete the data of this site in the settings of the browser."),
    );
    say("off");
  }

  function stop() {
    clearTimeout(timer);
    database?.close();
    database = null;
    stored.clear();
    release?.();
    release = null;
  }

  function saveNow() {
    clearTimeout(timer);
    since = 0;
    wroteLast = save();
  }

  /** Stores what has changed, and forgets notes that were closed. */
  async function save() {
    if (!database) return;
    const notes = on.notes().filter(({ text }) => text !== "");
    const changed = notes.filter((note) => stored.get(note.key) !== signed(note));
    const gone = [...stored.keys()].filter((key) => !notes.some((note) => note.key === key));
    if (changed.length === 0 && gone.length === 0) return;
    const records = changed.map((note) => ({ record: recordOf(note, notes.indexOf(note)), sign: signed(note) }));
    try {
      await write(database, (store) => {
        for (const key of gone) store.delete(key);
        for (const { record } of records) store.put(record);
      });
      for (const key of gone) stored.delete(key);
      for (const { record, sign } of records) stored.set(record.key, sign);
      if (document.documentElement.dataset.kept === "full") say("on");
    } catch {
      if (document.documentElement.dataset.kept === "full") return;
      say("full");
      on.problem(WORDS.full);
    }
  }

  const signed = (note) => `${note.name}\n${signature(note)}`;

  return {
    /** Stores the notes soon. */
    changed() {
      if (!database) return;
      clearTimeout(timer);
      since ||= Date.now();
      timer = setTimeout(saveNow, Math.min(PAUSE, Math.max(0, since + LONGEST - Date.now())));
    },

    /** Brings back the notes of an earlier visit, if the reader had them kept. */
    async begin() {
      if (!isChosen() || !(await turnOn())) return;
      const records = await read(database).catch(() => []);
      records.sort((a, b) => a.place - b.place);
      if (records.length > 0) on.restore(records);
      await save();
    },

    /** Whether a note is stored as it is. @param {import("./state.js").Note} note */
    has: (note) => database !== null && stored.get(note.key) === signed(note),

    /** Forgets everything. */
    forget: () => (database ? turnOff() : forgetNotes()),
  };
}

/** What is stored of a note. The machine's links are found again. */
const recordOf = ({ key, name, text, decisions, added, saved, view }, place) => ({
  key,
  place,
  name,
  text,
  decisions,
  added,
  saved,
  view,
});

/** The lock of the tab that keeps notes; null if another tab has it. @returns {Promise<(() => void) | null>} */
function takeLock() {
  if (!navigator.locks) return Promise.resolve(() => {});
  return new Promise((resolve) => {
    navigator.locks
      .request(NAME, { ifAvailable: true }, (lock) => {
        if (!lock) {
          resolve(null);
          return undefined;
        }
        return new Promise((release) => resolve(release));
      })
      .catch(() => resolve(null));
  });
}

/** @returns {Promise<IDBDatabase>} */
function open() {
  return answer(indexedDB.open(NAME, 1), (request) => {
    request.onupgradeneeded = () => request.result.createObjectStore(STORE, { keyPath: "key" });
  });
}

function answer(request, prepare = () => {}) {
  return new Promise((resolve, reject) => {
    prepare(request);
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
    request.onblocked = () => reject(new Error("another tab uses it"));
  });
}

const read = (database) => answer(database.transaction(STORE).objectStore(STORE).getAll());

function write(database, work) {
  return new Promise((resolve, reject) => {
    const transaction = database.transaction(STORE, "readwrite");
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(transaction.error);
    transaction.onerror = () => {};
    work(transaction.objectStore(STORE));
  });
}

/** Deletes the stored notes and the choice to keep them. */
export async function forgetNotes() {
  choose(false);
  if (globalThis.indexedDB) await answer(indexedDB.deleteDatabase(NAME));
}

// Browsers may forbid storage.
function isChosen() {
  try {
    return localStorage.getItem(CHOICE) === "yes";
  } catch {
    return false;
  }
}

function choose(yes) {
  try {
    if (yes) localStorage.setItem(CHOICE, "yes");
    else localStorage.removeItem(CHOICE);
  } catch {
    // The choice holds for this visit only.
  }
}
