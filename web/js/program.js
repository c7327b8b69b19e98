// The WebAssembly module: fetched and compiled on the page's side, so that the worker needs no network. Engines refuse a
// module whole if they lack one of its instructions, and kernels for GPUs are two thirds of its bytes, so there are four builds.

import { PelError } from "./errors.js";
import { fetched, measured } from "./fetched.js";

// () => i32x4.relaxed_dot_i8x16_i7x16_add_s of three zeros.
const RELAXED = Uint8Array.of(
  ...[0, 97, 115, 109, 1, 0, 0, 0], // magic number, version
  ...[1, 5, 1, 96, 0, 1, 123], // a type: no parameters, one v128
  ...[3, 2, 1, 0], // a function of it
  ...[10, 19, 1, 17, 0], // its code
  ...[65, 0, 253, 15],
  ...[65, 0, 253, 15],
  ...[65, 0, 253, 15],
  ...[253, 147, 2, 11],
);

// () => i32x4.splat(0)
const SIMD = Uint8Array.of(
  ...[0, 97, 115, 109, 1, 0, 0, 0],
  ...[1, 5, 1, 96, 0, 1, 123],
  ...[3, 2, 1, 0],
  ...[10, 8, 1, 6, 0, 65, 0, 253, 17, 11],
);

/** The name of the build for this browser: that for a GPU, or the one without. */
export function build(gpu) {
  if (typeof WebAssembly !== "object") throw new PelError("no-wasm", "this browser has no WebAssembly; any one since 2021 does");
  if (!WebAssembly.validate(SIMD)) {
    throw new PelError("no-wasm", "this browser's WebAssembly has no SIMD; Chrome 91, Firefox 89, Safari 16.4 and newer have it");
  }
  const relaxed = WebAssembly.validate(RELAXED);
  if (gpu) return relaxed ? "gpu-relaxed" : "gpu";
  return relaxed ? "relaxed" : "plain";
}

/** The address of a build. Bundlers find the files by these expressions, which must stay as they are. */
const ADDRESSES = {
  plain: () => new URL("./pel_web_bg.wasm", import.meta.url),
  relaxed: () => new URL("./relaxed/pel_web_bg.wasm", import.meta.url),
  gpu: () => new URL("./gpu/pel_web_bg.wasm", import.meta.url),
  "gpu-relaxed": () => new URL("./gpu-relaxed/pel_web_bg.wasm", import.meta.url),
};

/** Fetches and compiles the module for this browser, with or without kernels for GPUs; gives it and the name of its build. */
export async function program(gpu, onProgress, signal) {
  const name = build(gpu);
  const url = ADDRESSES[name]();
  const response = measured(await fetched(url, { signal }), onProgress);
  // Servers of applications answer with their page to every address that they do not know.
  if (response.headers.get("content-type")?.startsWith("text/html")) {
    throw new PelError("network", `${url.pathname}: expected a WebAssembly module, found a page: the file is not on the server`);
  }
  try {
    // While the bytes come. A host that gives them another type has them compiled afterwards.
    const streams = response.headers.get("content-type") === "application/wasm";
    const module = streams ? await WebAssembly.compileStreaming(response) : await WebAssembly.compile(await response.arrayBuffer());
    return { name, module };
  } catch (error) {
    throw new PelError("network", `${url.pathname}: expected a WebAssembly module: ${error.message}`, { cause: error });
  }
}
