// Asks the reader before something is lost.

import { byId } from "./dom.js";

/**
 * Asks in a dialog; false if the reader cancels.
 *
 * @param {{ heading: string, words: string, yes: string }} question `yes`: the words of the button that goes on
 * @returns {Promise<boolean>}
 */
export function ask({ heading, words, yes }) {
  const dialog = byId("question");
  // Another question is open.
  if (dialog.open) return Promise.resolve(false);
  byId("question-heading").textContent = heading;
  byId("question-words").textContent = words;
  byId("question-yes").textContent = yes;
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}

/**
 * Lets the browser ask before the page is left.
 *
 * @param {() => boolean} wouldLose whether the reader's work would be lost
 * @returns {() => void} from its call on the browser does not ask, because the page has
 */
export function guardLeaving(wouldLose) {
  const guard = (event) => {
    if (!wouldLose()) return;
    event.preventDefault();
    // Browsers before 2024 look at this alone.
    event.returnValue = true;
  };
  addEventListener("beforeunload", guard);
  return () => removeEventListener("beforeunload", guard);
}
