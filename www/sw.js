// Stores the site's files for offline use, and blocks requests of the page to other sites.
//
// The files are listed in files.json, and each is checked against its hash before it is stored. The program has several
// builds; the one for this browser is stored when the page first requests it. The engine stores the bundle itself.

const SITE = self.registration.scope;
/** All sites of an origin share its caches, so the names include the site. */
const PREFIX = `pel-site ${SITE} `;
const STATE = `pel-site-state ${SITE}`;
const POINTER = new URL("current-version", SITE).href;
const NEXT = new URL("next-version", SITE).href;
const LIST = new URL("files.json", SITE).href;

/** A worker gets its policy from its own response, not from the page: it may only load scripts of the site. */
const WORKER_POLICY = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'";

self.addEventListener("install", (event) => {
  event.waitUntil((async () => {
    const [list, current] = [await fetchList(), await currentVersion()];
    // Without a network the stored files remain in use.
    if (!list && !current) throw new Error("files.json could not be fetched");
    if (list && list.version !== current) await keepWhole(list);
    if (list && !current) await setCurrent(list.version);
    await self.skipWaiting();
  })());
});

self.addEventListener("activate", (event) => {
  event.waitUntil(dropOld().then(() => self.clients.claim()));
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const { origin, href, search, hash } = new URL(request.url);
  if (origin !== self.location.origin) {
    event.respondWith(elsewhere(event));
    return;
  }
  if (request.method !== "GET" || !href.startsWith(SITE)) return;
  const path = href.slice(SITE.length, href.length - search.length - hash.length);
  if (path.startsWith("bundle/")) event.waitUntil(tell(event));
  else if (request.mode !== "navigate") event.respondWith(answer(path, event));
  else if (path === "" || path === "index.html") {
    event.respondWith(open(event));
    event.waitUntil(update(event));
  }
});

/** Blocks requests to other sites from this page, but not from other pages of the origin. */
async function elsewhere({ request, clientId }) {
  const client = await self.clients.get(clientId);
  const own = !client || isPage(client.url) || client.url.startsWith(`${SITE}pkg/`);
  return own ? Response.error() : fetch(request);
}

const isPage = (url) => [SITE, `${SITE}index.html`].includes(url.split(/[?#]/)[0]);

/** Switches to a complete newer version, unless a page of the older one is open, and answers with the page. */
async function open(event) {
  const next = await nextVersion();
  if (next && !(await isOpenBeside(event.request))) await setCurrent(next).then(dropOld, stayAsItIs);
  return answer("index.html", event);
}

/** Where the browser has no room even for the name of a version, the older one remains in use. */
function stayAsItIs() {}

/** Whether another page of the site is open. A page that reloads is still listed. */
async function isOpenBeside({ isReloadNavigation }) {
  const open = (await self.clients.matchAll({ type: "window" })).filter(({ url }) => isPage(url));
  return open.length > (isReloadNavigation ? 1 : 0);
}

async function answer(path, event) {
  const cache = PREFIX + (await currentVersion());
  const file = await kept(cache, new URL(path, SITE).href);
  if (file) return file;
  event.waitUntil(tell(event));
  const integrity = isProgram(path) && (await (await kept(cache, LIST))?.json())?.files[path];
  if (!integrity) return fetch(event.request);
  const whole = await checked(path, integrity);
  const copy = whole.clone();
  event.waitUntil(caches.open(cache).then((store) => store.put(new URL(path, SITE).href, copy)).catch(withoutRoom));
  return whole;
}

/** A full store is no reason to fail: what was fetched is used, and fetched again another time. */
function withoutRoom() {}

/** The cached response of an address. Does not use caches.open, which would create the cache. */
const kept = (cacheName, address) => caches.match(address, { cacheName });

const isProgram = (path) => path.endsWith(".wasm");

/** Stores a newer version for the next opening of the page. If the site no longer exists, removes its files. */
async function update(event) {
  const list = await fetchList(() => leave(event));
  if (!list || list.version === (await nextVersion())) return;
  // A withdrawn version must not be used.
  await (await caches.open(STATE)).delete(NEXT);
  if (list.version === (await currentVersion())) return;
  await keepWhole(list).catch(() => {});
}

/** Stores all files of a version, or none. */
async function keepWhole(list) {
  try {
    await keep(list);
  } catch (error) {
    await caches.delete(PREFIX + list.version);
    throw error;
  }
}

/** Removes the stored files of a site that no longer exists, and reloads the page from the network. */
async function leave({ resultingClientId }) {
  const page = await opened(resultingClientId);
  await self.registration.unregister();
  const own = (await caches.keys()).filter((name) => name === STATE || name.startsWith(PREFIX));
  await Promise.all(own.map((name) => caches.delete(name)));
  await page?.navigate(page.url);
}

/** Waits for the page that a navigation opens; undefined if it was closed. */
async function opened(id) {
  for (let tries = 0; tries < 50; tries += 1) {
    const page = await self.clients.get(id);
    if (page) return page;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return undefined;
}

async function fetchList(gone = async () => {}) {
  try {
    const response = await fetch(LIST, { cache: "no-store" });
    if ([404, 410].includes(response.status)) await gone();
    return response.ok ? await response.json() : null;
  } catch {
    return null;
  }
}

/** Stores all files of a version as the next one. Of the program it stores the builds of the current version. */
async function keep({ version, files }) {
  const cache = await caches.open(PREFIX + version);
  const before = PREFIX + (await currentVersion());
  const isWanted = async (path) => !isProgram(path) || Boolean(await kept(before, new URL(path, SITE).href));
  await Promise.all(Object.entries(files).map(async ([path, integrity]) => {
    if (await isWanted(path)) await cache.put(new URL(path, SITE).href, await checked(path, integrity));
  }));
  await cache.put(LIST, new Response(JSON.stringify({ files })));
  await (await caches.open(STATE)).put(NEXT, new Response(version));
}

/** A file of the site, compared with its hash. */
async function checked(path, integrity) {
  const address = new URL(path, SITE).href;
  const response = await fetch(address, { cache: "no-cache", integrity });
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
  const headers = new Headers(response.headers);
  headers.delete("content-encoding");
  if (path.endsWith(".js")) headers.set("content-security-policy", WORKER_POLICY);
  return new Response(await response.blob(), { headers });
}

async function currentVersion() {
  return (await kept(STATE, POINTER))?.text();
}

/** The complete newer version, if there is one. */
async function nextVersion() {
  return (await kept(STATE, NEXT))?.text();
}

async function setCurrent(version) {
  const state = await caches.open(STATE);
  await state.put(POINTER, new Response(version));
  await state.delete(NEXT);
}

async function dropOld() {
  const wanted = [await currentVersion(), await nextVersion()].map((version) => PREFIX + version);
  const old = (await caches.keys()).filter((name) => name.startsWith(PREFIX) && !wanted.includes(name));
  await Promise.all(old.map((name) => caches.delete(name)));
}

/** Reports a network request of a worker to the pages. The address of the worker says which page it belongs to (privacy.js). */
async function tell(event) {
  const at = Date.now();
  const client = event.clientId && (await self.clients.get(event.clientId));
  if (!client || client.type !== "worker") return;
  const owner = new URL(client.url).searchParams.get("page");
  for (const page of await self.clients.matchAll({ type: "window" })) {
    page.postMessage({ kind: "worker-request", at, owner, address: event.request.url });
  }
}
