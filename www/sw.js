// Keeps the site's files so that it opens without a network, and lets nothing of the site reach another one.
//
// The files are those of files.json, each checked against its hash before it is kept; the program itself, which comes in
// several builds, when the page first asks for the one that this browser runs. The bundle of model and concepts is none of
// them: the engine keeps it itself.

const SITE = self.registration.scope;
/** Caches are the origin's: the names say whose they are, so that two sites of one origin leave each other's alone. */
const PREFIX = `pel-site ${SITE} `;
const STATE = `pel-site-state ${SITE}`;
const POINTER = new URL("current-version", SITE).href;
const NEXT = new URL("next-version", SITE).href;
const LIST = new URL("files.json", SITE).href;

/** A worker takes its policy from its own file, not from the page: it may load scripts of the site and nothing else. */
const WORKER_POLICY = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'";

self.addEventListener("install", (event) => {
  event.waitUntil((async () => {
    const [list, current] = [await fetchList(), await currentVersion()];
    // Without a network the files that are here already continue.
    if (!list && !current) throw new Error("files.json could not be fetched");
    if (list && list.version !== current) await keep(list);
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

/** Nothing of this page reaches another site; other pages in the same place are none of its business. */
async function elsewhere({ request, clientId }) {
  const client = await self.clients.get(clientId);
  const own = !client || isPage(client.url) || client.url.startsWith(`${SITE}pkg/`);
  return own ? Response.error() : fetch(request);
}

const isPage = (url) => [SITE, `${SITE}index.html`].includes(url.split(/[?#]/)[0]);

/** Takes a newer version that is complete, unless a page of the older one is open, and answers with its page. */
async function open(event) {
  const next = await nextVersion();
  if (next && !(await isOpenBeside(event.request))) {
    await setCurrent(next);
    await dropOld();
  }
  return answer("index.html", event);
}

/** Whether a page of the site is open beside the one that is asked for; one that is loaded again is still counted. */
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
  return integrity ? keepOne(await caches.open(cache), path, integrity) : fetch(event.request);
}

/** What a cache has of an address. Opening it would make it, also after the site was let go. */
const kept = (cacheName, address) => caches.match(address, { cacheName });

const isProgram = (path) => path.endsWith(".wasm");

/** Keeps a newer version beside the one in use; the next opening of the page takes it. A site that has gone is let go. */
async function update(event) {
  const list = await fetchList(() => leave(event));
  if (!list || list.version === (await nextVersion())) return;
  // One that has been taken back is not wanted any more.
  await (await caches.open(STATE)).delete(NEXT);
  if (list.version === (await currentVersion())) return;
  try {
    await keep(list);
  } catch {
    await caches.delete(PREFIX + list.version);
  }
}

/** The site's files are not there any more: whatever has come to its place is shown, and not hidden by what was kept of it. */
async function leave({ resultingClientId }) {
  const page = await opened(resultingClientId);
  await self.registration.unregister();
  const own = (await caches.keys()).filter((name) => name === STATE || name.startsWith(PREFIX));
  await Promise.all(own.map((name) => caches.delete(name)));
  await page?.navigate(page.url);
}

/** The page that a navigation opens, as soon as it is there; none if it was closed. */
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

/** Keeps a version's files, whole, as the next one; of the program the builds that the version in use has. */
async function keep({ version, files }) {
  const cache = await caches.open(PREFIX + version);
  const before = PREFIX + (await currentVersion());
  const isWanted = async (path) => !isProgram(path) || Boolean(await kept(before, new URL(path, SITE).href));
  await Promise.all(Object.entries(files).map(async ([path, integrity]) => {
    if (await isWanted(path)) await keepOne(cache, path, integrity);
  }));
  await cache.put(LIST, new Response(JSON.stringify({ files })));
  await (await caches.open(STATE)).put(NEXT, new Response(version));
}

async function keepOne(cache, path, integrity) {
  const address = new URL(path, SITE).href;
  const response = await fetch(address, { cache: "no-cache", integrity });
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
  const headers = new Headers(response.headers);
  headers.delete("content-encoding");
  if (path.endsWith(".js")) headers.set("content-security-policy", WORKER_POLICY);
  const whole = new Response(await response.blob(), { headers });
  await cache.put(address, whole.clone());
  return whole;
}

async function currentVersion() {
  return (await kept(STATE, POINTER))?.text();
}

/** The version that is kept beside it whole, if there is one. */
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

/** Tells the page that its worker has asked the network; with several pages open it is not known whose worker it is. */
async function tell(event) {
  const at = Date.now();
  const client = event.clientId && (await self.clients.get(event.clientId));
  if (!client || client.type !== "worker") return;
  const pages = await self.clients.matchAll({ type: "window" });
  if (pages.length === 1) pages[0].postMessage({ kind: "worker-request", at });
}
