// Fetching with errors that say what was fetched, and with progress.

import { PelError } from "./errors.js";

/** An address as messages name it. An address that contains its data is not repeated. */
function shown(url) {
  const { protocol, pathname } = new URL(url, location.href);
  return protocol === "data:" ? "data within an address" : pathname;
}

/** A response that is whole and well. */
export async function fetched(url, options) {
  let response;
  try {
    response = await fetch(url, { credentials: "same-origin", ...options });
  } catch (error) {
    throw new PelError("network", `${shown(url)} cannot be fetched: is the server there?`, { cause: error });
  }
  if (!response.ok) {
    throw new PelError("network", `${shown(url)} cannot be fetched: the server answers ${response.status}`);
  }
  return response;
}

/** The same response, which tells how many bytes have come, of how many (0: unknown). */
export function measured(response, onProgress) {
  // The length of a compressed body is not that of what comes out.
  const total = response.headers.get("content-encoding") ? 0 : Number(response.headers.get("content-length") ?? 0);
  let loaded = 0;
  const count = new TransformStream({
    transform(chunk, out) {
      loaded += chunk.byteLength;
      onProgress(loaded, Math.max(total, loaded));
      out.enqueue(chunk);
    },
  });
  return new Response(response.body.pipeThrough(count), { headers: response.headers });
}
