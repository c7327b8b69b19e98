// The status of the page: loading, problems, device, model, times, memory.

import { byId } from "./dom.js";
import { deviceWords, errorWords, megabytes, progressWords, readingWords, whole } from "./words.js";

export function createStatus() {
  const bar = byId("loading-bar");
  const counts = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
  let retry = null;
  byId("retry").addEventListener("click", () => {
    byId("problem").hidden = true;
    retry?.();
  });
  byId("dismiss").addEventListener("click", () => {
    byId("problem").hidden = true;
  });

  return {
    /** @param {string} words */
    loading(words) {
      byId("problem").hidden = true;
      byId("loading").hidden = false;
      byId("loading-words").textContent = words;
      bar.removeAttribute("value");
    },

    /** @param {import("./pkg/pel.js").Progress} progress */
    progress(progress) {
      byId("loading").hidden = false;
      byId("loading-words").textContent = progressWords(progress);
      if (progress.total > 0) {
        bar.max = progress.total;
        bar.value = progress.loaded;
      } else {
        bar.removeAttribute("value");
      }
    },

    loaded() {
      byId("loading").hidden = true;
    },

    /**
     * @param {unknown} error
     * @param {() => void} again
     */
    failed(error, again) {
      this.problem(errorWords(error), again);
    },

    /**
     * @param {string} words
     * @param {(() => void) | null} [again] the action of the retry button, which is hidden without it
     * @param {string} [label] the words of that button
     */
    problem(words, again = null, label = "Try again") {
      retry = again;
      byId("loading").hidden = true;
      byId("retry").textContent = label;
      byId("retry").hidden = again === null;
      byId("dismiss").hidden = again !== null;
      byId("problem-words").textContent = words;
      byId("problem").hidden = false;
    },

    /** @param {import("./pkg/pel.js").Pel} pel */
    model(pel) {
      const { encoder, kb } = pel.manifest();
      byId("status-model").textContent = encoder.name;
      byId("status-kb").textContent = `${kb.name}, ${whole(kb.concepts)} ${kb.concepts === 1 ? "concept" : "concepts"}`;
      byId("version").textContent = `PEL ${pel.version()}`;
      this.engine(pel);
    },

    /** @param {import("./pkg/pel.js").Pel} pel */
    engine(pel) {
      byId("status-device").textContent = deviceWords(pel.device());
      byId("status-memory").textContent = `${megabytes(pel.memory())} MB`;
    },

    /** @param {{ device: import("./pkg/pel.js").DeviceName, why: string }} change */
    fellBack({ device, why }) {
      byId("fallback").hidden = false;
      byId("fallback").textContent = `Now on ${deviceWords(device)}: ${why}`;
      byId("status-device").textContent = deviceWords(device);
    },

    /** @param {import("./linker.js").Progress} progress */
    linking(progress) {
      byId("status-times").textContent = readingWords(progress);
    },

    /** @param {{ encode: number, search: number }} ms */
    linked({ encode, search }) {
      byId("status-times").textContent = `encode ${counts.format(encode)} ms, search ${counts.format(search)} ms`;
    },
  };
}
