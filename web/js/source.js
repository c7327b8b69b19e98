// Where a bundle comes from: an address, or bytes; and the browser's store, which keeps what has been checked. The engine
// compares every file with the checksums of the manifest, wherever it comes from.

import { PelError } from "./errors.js";
import { fetched, measured } from "./fetched.js";

const STORE = "pel-bundles";
const MANIFEST = "manifest.json";

/** The store, where there is one: browsers give it to secure pages alone, some not in private windows. */
async function store() {
  try {
    return await globalThis.caches?.open(STORE);
  } catch {
    return undefined;
  }
}

function address(source) {
  if (typeof source !== "string" && !(source instanceof URL)) return undefined;
  try {
    return new URL(source, location.href);
  } catch (error) {
    // A worker made from a blob has no folder that an address could be relative to.
    throw new PelError("input", `a bundle: expected an address, found ${JSON.stringify(source)} (within ${location.protocol})`, { cause: error });
  }
}

/** Takes a source out of the store. */
export async function forget(source) {
  const url = address(source);
  const kept = url && (await store());
  if (!kept) return;
  for (const request of await kept.keys()) {
    if (request.url.startsWith(url.href)) await kept.delete(request);
  }
}

/**
 * The files of a bundle.
 *
 * @returns `blobs`: by name, or under "" a bundle that is one file; `cached`: whether all came out of the store; `keep()`:
 * puts what was fetched into the store, once the engine has checked it
 */
export async function bundle(source, { cache, signal, onProgress }) {
  const url = address(source);
  if (!url) return { blobs: given(source), cached: false, keep: async () => {} };
  const kept = cache ? await store() : undefined;
  if (!url.pathname.endsWith("/")) return oneFile(url, kept, { signal, onProgress });
  return folder(url, kept, { signal, onProgress });
}

function given(source) {
  const blob = (bytes) => (bytes instanceof Blob ? bytes : new Blob([bytes]));
  const whole = source instanceof Blob || source instanceof ArrayBuffer || ArrayBuffer.isView(source);
  if (whole) return { "": blob(source) };
  if (source === null || typeof source !== "object") {
    throw new PelError("input", "a bundle: expected an address, bytes, or files by name");
  }
  return Object.fromEntries(Object.entries(source).map(([name, bytes]) => [name, blob(bytes)]));
}

/** What a server says of a file that tells one version of it from another; pages of other sites may read the last two alone. */
const MARKS = ["etag", "last-modified", "content-length"];

async function oneFile(url, kept, { signal, onProgress }) {
  const before = await kept?.match(url);
  const hit = before && !(await isNewer(url, before, signal)) ? before : undefined;
  let marked;
  const get = async () => {
    const stored = hit && (await kept.match(url));
    if (stored) return stored;
    const response = await fetched(url, { signal, cache: "no-cache" });
    marked = marks(response);
    return measured(response, (loaded, total) => onProgress(loaded, total, false));
  };
  const blob = await whole(get, url, signal);
  if (hit) onProgress(blob.size, blob.size, true);
  const keep = async () => {
    if (!hit) await put(kept, url, blob, marked);
  };
  return { blobs: { "": blob }, cached: Boolean(hit), keep };
}

const marks = ({ headers }) => Object.fromEntries(MARKS.filter((name) => headers.has(name)).map((name) => [name, headers.get(name)]));

/** Whether the server, if it answers, has another version than the one kept. */
async function isNewer(url, before, signal) {
  try {
    const now = marks(await fetched(url, { signal, method: "HEAD", cache: "no-cache" }));
    return Object.entries(marks(before)).some(([name, mark]) => name in now && now[name] !== mark);
  } catch {
    if (signal?.aborted) throw signal.reason;
    return false;
  }
}

/** A folder. The manifest is asked for again each time, if the network is there: it says which files are the right ones. */
async function folder(url, kept, { signal, onProgress }) {
  const at = new URL(MANIFEST, url);
  const before = await kept?.match(at);
  let text;
  try {
    text = await (await whole(() => fetched(at, { signal, cache: "no-cache" }), at, signal)).text();
  } catch (error) {
    if (!before || error.code !== "network") throw error;
    text = await before.text();
  }
  const files = Object.entries(listed(text, at));
  const total = files.reduce((sum, [, { bytes }]) => sum + bytes, 0);
  const blobs = { [MANIFEST]: new Blob([text]) };
  const fresh = new Map([[at.href, blobs[MANIFEST]]]);
  const came = new Map();
  let cached = true;
  const one = async ([name, { blake3 }]) => {
    // The checksum is part of the key, so that a file of another bundle is never taken for this one's.
    const place = new URL(name, url);
    const key = new URL(`${place.href}?blake3=${blake3}`);
    const hit = await kept?.match(key);
    cached &&= Boolean(hit);
    const arrived = (loaded) => {
      came.set(name, loaded);
      onProgress([...came.values()].reduce((sum, bytes) => sum + bytes, 0), total, cached);
    };
    // What is stored is not counted as it comes: a blob of it is there at once, without its bytes.
    const get = async () => (hit && (await kept.match(key))) || measured(await fetched(place, { signal }), arrived);
    blobs[name] = await whole(get, place, signal);
    if (hit) arrived(blobs[name].size);
    if (!hit) fresh.set(key.href, blobs[name]);
  };
  await Promise.all(files.map(one));
  const keep = async () => {
    if (!kept) return;
    for (const [key, blob] of fresh) await put(kept, key, blob);
    const wanted = new Set(files.map(([name, { blake3 }]) => `${new URL(name, url).href}?blake3=${blake3}`).concat(at.href));
    for (const request of await kept.keys()) {
      if (request.url.startsWith(url.href) && !wanted.has(request.url)) await kept.delete(request);
    }
  };
  return { blobs, cached, keep };
}

/** The files that a manifest lists. */
function listed(text, at) {
  // Servers of applications answer with their page to every address that they do not know.
  if (/^\s*</.test(text)) throw new PelError("bundle", `${at.pathname}: expected the manifest of a bundle, found a page: no bundle is there`);
  let files;
  try {
    ({ files } = JSON.parse(text));
  } catch (error) {
    throw new PelError("bundle", `${at.pathname}: expected the manifest of a bundle: ${error.message}`);
  }
  const well = files && Object.entries(files).every(([name, file]) => /^[\w.-]+$/.test(name) && Number.isSafeInteger(file?.bytes));
  if (!well) throw new PelError("bundle", `${at.pathname}: expected the manifest of a bundle, found no list of files`);
  return files;
}

/**
 * The bytes of what `get` fetches, as a blob. Browsers write large blobs to the disk as they come; where it is full, that fails, and
 * the bytes are fetched once more and stay in memory.
 */
async function whole(get, url, signal) {
  try {
    return await (await get()).blob();
  } catch (error) {
    if (error instanceof PelError || signal?.aborted) throw error;
  }
  const again = await get();
  try {
    return new Blob([await again.arrayBuffer()]);
  } catch (error) {
    throw new PelError("network", `${new URL(url).pathname} has come only in part`, { cause: error });
  }
}

/** Keeps a file; a store that is full is no reason to fail. */
async function put(kept, key, blob, headers = {}) {
  try {
    await kept?.put(key, new Response(blob, { headers: { "content-type": "application/octet-stream", ...headers } }));
  } catch {
    await kept?.delete(key);
  }
}
