// Loads the engine and its bundle on the chosen device.

import { byId } from "./dom.js";
import { prepareOffline } from "./offline.js";
import { ask } from "./question.js";
import { renew } from "./stored.js";
import { errorWords } from "./words.js";

const KEY = "pel-device";
/** Workers that encode on WebAssembly. */
const MOST_WORKERS = 4;
const DEVICES = ["auto", "webgpu", "wasm"];
const RELOAD = {
  heading: "Reload the page?",
  words: "The page must reload to use another device. Your notes, changes and added concepts are lost: export them first.",
  yes: "Reload",
};

/**
 * @param {ReturnType<import("./status.js").createStatus>} status
 * @param {object} on
 * @param {(pel: import("./pkg/pel.js").Pel) => void} on.ready
 * @param {() => boolean} on.wouldLose whether a reload would lose the reader's work
 * @param {() => void} on.leaving the page reloads, as the reader has agreed
 */
export function loadEngine(status, { ready, wouldLose, leaving }) {
  const select = byId("device");
  let device = recall();
  let attempt = 0;
  let loading = null;
  let done = false;
  select.value = device;

  select.addEventListener("change", async () => {
    if (!done) {
      keep(select.value);
      device = select.value;
      start();
    } else if (!wouldLose() || (await ask(RELOAD))) {
      // The page can no longer fetch files, so another device needs a reload.
      keep(select.value);
      leaving();
      location.reload();
    } else {
      select.value = device;
    }
  });

  async function start() {
    loading?.abort();
    const own = new AbortController();
    loading = own;
    status.loading("Loading the program …");
    try {
      if (attempt === 0) await prepareOffline(() => status.loading("Storing the program for offline use …"));
      const { Pel } = await program(attempt);
      attempt += 1;
      if (loading !== own) return;
      const pel = await Pel.load(new URL("bundle/", document.baseURI), {
        device,
        workers: Math.min(navigator.hardwareConcurrency || 1, MOST_WORKERS),
        signal: own.signal,
        onProgress: (progress) => loading === own && !done && status.progress(progress),
        onDevice: (change) => status.fellBack(change),
      });
      if (loading !== own) {
        pel.free();
        return;
      }
      done = true;
      status.loaded();
      ready(pel);
    } catch (error) {
      attempt += 1;
      if (loading !== own) return;
      // What still comes is not wanted any more.
      loading = null;
      own.abort();
      if (error?.code === "newer-bundle") status.problem(errorWords(error), renew, "Reload");
      else if (error?.code !== "cancelled") status.failed(error, start);
    }
  }

  start();
}

/** Browsers may cache a failed module import; another address forces a retry. */
async function program(attempt) {
  try {
    return await import(attempt === 0 ? "./pkg/pel.js" : `./pkg/pel.js?attempt=${attempt}`);
  } catch (cause) {
    throw Object.assign(new Error("the program", { cause }), { code: "network" });
  }
}

// Only this choice survives a reload. Browsers may forbid storage.
function recall() {
  try {
    const kept = sessionStorage.getItem(KEY);
    return DEVICES.includes(kept) ? kept : "auto";
  } catch {
    return "auto";
  }
}

function keep(device) {
  try {
    sessionStorage.setItem(KEY, device);
  } catch {
    // The next load uses “Automatic”.
  }
}
