// Registers the service worker, which keeps the site's files for opening it without a network.

/** Longest wait for it on a first visit; the page then continues without. */
const PATIENCE = 20_000;

/**
 * On a first visit waits until the site's files are kept: they are then loaded once, and the engine's worker is guarded
 * by the service worker as well. Never fails: without HTTPS, or where it is switched off, the page works without.
 *
 * @param {() => void} waiting is called if there is something to wait for
 */
export async function prepareOffline(waiting) {
  const store = window.isSecureContext ? navigator.serviceWorker : undefined;
  if (!store) return;
  try {
    const controlled = store.controller !== null;
    const registering = store.register("sw.js", { updateViaCache: "none" });
    if (controlled) {
      // Looking for a newer version is nothing to wait for.
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
    // The page is whole without it.
  }
}
