// Forbids network requests once the page is loaded, counts those that still happen, and deletes what the browser stores.

import { byId } from "./dom.js";
import { ask } from "./question.js";
import { forgetAll } from "./stored.js";
import { counted } from "./words.js";

/** The number of this page among those that are open. */
const PAGE = String(crypto.getRandomValues(new Uint32Array(1))[0]);

/** Policies accumulate and can only restrict further, so no script can undo this one. */
const SEAL = "connect-src 'none'; img-src data: blob:; manifest-src 'none'";

/** Workers that are started from now on have the number of this page in their address, by which sw.js knows their page. */
export function nameWorkers() {
  const Unnamed = globalThis.Worker;
  if (!Unnamed) return;
  globalThis.Worker = class extends Unnamed {
    constructor(address, options) {
      const named = new URL(address, document.baseURI);
      named.searchParams.set("page", PAGE);
      super(named, options);
    }
  };
}

/**
 * The button that deletes what the browser stores of this site.
 *
 * @param {() => Promise<void>} forgetNotes deletes the notes that are kept
 */
export function createDeletion(forgetNotes) {
  byId("delete-stored").addEventListener("click", async () => {
    const sure = await ask({
      heading: "Delete everything from this browser?",
      words: "The stored page, model, concepts, settings and kept notes of this site are deleted. Open notes stay " +
        "until you close this tab. " +
        "The page is stored again when you open it the next time.",
      yes: "Delete",
    });
    if (!sure) return;
    const forgotten = forgetNotes().then(forgetAll);
    const words = await forgotten.then(() => "Deleted.", (error) => `Not everything could be deleted: ${error.message}`);
    byId("deleted").textContent = words;
  });
}

/** From this call on the page can fetch nothing, not even from its own site. */
export function seal() {
  closeOtherWays();
  const policy = document.createElement("meta");
  policy.httpEquiv = "Content-Security-Policy";
  policy.content = SEAL;
  document.head.append(policy);
  count();
}

/** What no policy of browsers forbids: WebRTC, and going to an address that carries data. */
function closeOtherWays() {
  for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection"]) delete globalThis[name];
  // The browser's own controls do not come here; a download does.
  globalThis.navigation?.addEventListener("navigate", (event) => {
    const [to, here] = [event.destination.url, location.href].map((address) => address.split("#")[0]);
    if (event.cancelable && event.downloadRequest === null && to !== here) event.preventDefault();
  });
}

function count() {
  const from = performance.now();
  const time = Date.now();
  const asked = [];
  const refused = new Set();
  const ofWorkers = [];
  let refusals = 0;
  const show = () => {
    // The browser also lists pictures that the policy refused and that were not requested.
    const own = asked.filter((address) => !refused.has(address));
    // Some browsers list the scripts of a worker for its page, some do not.
    const requests = own.length + ofWorkers.filter((address) => !own.includes(address)).length;
    byId("request-count").textContent = `${counted(requests, "request")} since loading`;
    byId("privacy").classList.toggle("broken", requests > 0);
    byId("refused").textContent = refusals === 0 ? "" : `The browser has refused ${counted(refusals, "attempt")}.`;
  };
  new PerformanceObserver((list) => {
    for (const { startTime, name, deliveryType } of list.getEntries()) {
      // Entries from the browser's store are not network requests.
      if (startTime < from || deliveryType === "cache-storage" || /^(blob|data):/.test(name)) continue;
      asked.push(name);
    }
    setTimeout(show);
  }).observe({ type: "resource" });
  document.addEventListener("securitypolicyviolation", ({ blockedURI, originalPolicy }) => {
    refused.add(blockedURI);
    // Every policy reports its own violations; those of SEAL include all.
    if (originalPolicy === SEAL) refusals += 1;
    show();
  });
  // The requests of workers; the service worker sees them.
  navigator.serviceWorker?.addEventListener("message", ({ data }) => {
    if (data?.kind !== "worker-request" || data.owner !== PAGE || data.at < time) return;
    ofWorkers.push(data.address);
    show();
  });
  show();
}
