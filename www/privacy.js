// Forbids network requests once the page is loaded, and counts those that still happen.

import { byId } from "./dom.js";
import { counted } from "./words.js";

/** Policies accumulate and can only restrict further, so no script can undo this one. */
const SEAL = "connect-src 'none'; img-src data: blob:; manifest-src 'none'";

/** From this call on the page can fetch nothing, not even from its own site. */
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
    // The browser also lists pictures that the policy refused and that were not requested.
    const requests = ofWorker + asked.filter((address) => !refused.has(address)).length;
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
  // This page's list does not include the engine's worker; the service worker reports its requests.
  navigator.serviceWorker?.addEventListener("message", ({ data }) => {
    if (data?.kind !== "worker-request" || data.at < time) return;
    ofWorker += 1;
    show();
  });
  show();
}
