// Registers the service worker, which stores the site's files for offline use.

/** The longest wait in milliseconds on a first visit; the page then continues without it. */
const PATIENCE = 20_000;

/**
 * On a first visit, waits until the site's files are stored: they are then loaded once, and the service worker also sees
 * the engine's worker. Never fails: without HTTPS or service workers, the page works without it.
 *
 * @param {() => void} waiting called before a wait
 */
export async function prepareOffline(waiting) {
  const store = window.isSecureContext ? navigator.serviceWorker : undefined;
  if (!store) return;
  try {
    const controlled = store.controller !== null;
    const registering = store.register("sw.js", { updateViaCache: "none" });
    if (controlled) {
      // The search for a newer version continues in the background.
      registering.catch(() => {});
      return;
    }
    const worker = (await registering).installing;
    if (!worker) return;
    waiting();
    await new Promise((resolve) => {
      setTimeout(resolve, PATIENCE);
      store.addEventListener("controllerchange", resolve);
      worker.addEventListener("statechange", () => {
        if (worker.state === "redundant") resolve();
      });
    });
  } catch {
    // The page works without it.
  }
}
