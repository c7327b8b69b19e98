// Closes the page once it is loaded, and counts what it asks the network for from then on.

import { byId } from "./dom.js";
import { counted } from "./words.js";

/** Policies add up and can only forbid more: nothing on this page can open again what this one closes. */
const SEAL = "connect-src 'none'; img-src data: blob:; manifest-src 'none'";

/** From here on the page can fetch nothing, not even from its own site. */
export function seal() {
  const policy = document.createElement("meta");
  policy.httpEquiv = "Content-Security-Policy";
  policy.content = SEAL;
  document.head.append(policy);
  count();
}

function count() {
  const from = performance.now();
  const time = Date.now();
  const asked = [];
  const refused = new Set();
  let ofWorker = 0;
  let refusals = 0;
  const show = () => {
    // A picture that the policy has refused is in the browser's list, though nothing was sent.
    const requests = ofWorker + asked.filter((address) => !refused.has(address)).length;
    byId("request-count").textContent = `${counted(requests, "request")} since loading`;
    byId("privacy").classList.toggle("broken", requests > 0);
    byId("refused").textContent = refusals === 0 ? "" : `The browser has refused ${counted(refusals, "attempt")}.`;
  };
  new PerformanceObserver((list) => {
    for (const { startTime, name, deliveryType } of list.getEntries()) {
      // What comes out of the browser's own store has not been asked of the network.
      if (startTime < from || deliveryType === "cache-storage" || /^(blob|data):/.test(name)) continue;
      asked.push(name);
    }
    setTimeout(show);
  }).observe({ type: "resource" });
  document.addEventListener("securitypolicyviolation", ({ blockedURI, originalPolicy }) => {
    refused.add(blockedURI);
    // Each policy reports by itself; the seal's reports have them all.
    if (originalPolicy === SEAL) refusals += 1;
    show();
  });
  // The engine's worker is not in this page's list; the service worker sees it.
  navigator.serviceWorker?.addEventListener("message", ({ data }) => {
    if (data?.kind !== "worker-request" || data.at < time) return;
    ofWorker += 1;
    show();
  });
  show();
}
