// What the browser stores of this site: the page, the bundle and a few choices; and notes, if the reader wants them
// kept (kept.js).

const SITE = new URL(".", document.baseURI).href;
const BUNDLES = "pel-bundles";

/** Removes the stored page, so that the next load comes from the network; the service worker goes too. */
export async function forgetPage() {
  const registration = await navigator.serviceWorker?.getRegistration(SITE);
  await registration?.unregister();
  // All sites of an origin share its caches; sw.js writes these names.
  const own = (name) => name === `pel-site-state ${SITE}` || name.startsWith(`pel-site ${SITE} `);
  const names = (await globalThis.caches?.keys()) ?? [];
  await Promise.all(names.filter(own).map((name) => caches.delete(name)));
}

/** Removes all that the browser stores of this site, but the notes. */
export async function forgetAll() {
  await forgetPage();
  for (const storage of ["localStorage", "sessionStorage"]) forgetChoices(storage);
  if (!(await globalThis.caches?.has(BUNDLES))) return;
  const store = await caches.open(BUNDLES);
  for (const request of await store.keys()) {
    if (request.url.startsWith(SITE)) await store.delete(request);
  }
  if ((await store.keys()).length === 0) await caches.delete(BUNDLES);
}

function forgetChoices(storage) {
  try {
    for (const key of Object.keys(globalThis[storage])) {
      if (key.startsWith("pel-")) globalThis[storage].removeItem(key);
    }
  } catch {
    // A browser that forbids storage has stored nothing.
  }
}

/** Loads the page anew, past all that is stored of it: also past the browser's own store of files. */
export async function renew() {
  const loaded = performance.getEntriesByType("resource").map(({ name }) => name);
  await forgetPage();
  const files = new Set([location.href, ...loaded.filter((name) => name.startsWith(SITE) && !name.startsWith(`${SITE}bundle/`))]);
  await Promise.allSettled([...files].map((address) => fetch(address, { cache: "reload" })));
  location.reload();
}
