// Times encoders as WebAssembly in Node on one thread: ONNX Runtime Web, and ours. Prints one line of JSON.
//
//   node bench.mjs --onnx NAME=FILE... [--pel PACKAGE --model FOLDER...] [--shapes 1x32,16x64] [--seconds 0.5]
//
// PACKAGE is a folder that wasm-bindgen wrote; FOLDER has config.json and model.safetensors, and may be given as
// NAME=FOLDER, several times, for several encoders of ours. Where the engine has relaxed SIMD, the package's build for it
// is timed too, as NAME-relaxed.

import { readFile } from "node:fs/promises";
import path from "node:path";
import { parseArgs } from "node:util";
import { pathToFileURL } from "node:url";
import { build } from "../../web/js/program.js";

const { values: options } = parseArgs({
  options: {
    onnx: { type: "string", multiple: true, default: [] },
    pel: { type: "string" },
    model: { type: "string", multiple: true, default: [] },
    shapes: { type: "string", default: "1x32,16x64" },
    seconds: { type: "string", default: "0.5" },
  },
});

const shapes = options.shapes.split(",").map((shape) => shape.split("x").map(Number));
const seconds = Number(options.seconds);
if (!(seconds >= 0) || shapes.some((shape) => shape.length !== 2 || !shape.every((size) => size > 0))) {
  throw new Error("--shapes wants BATCHxTOKENS with commas, --seconds a number");
}

/** The part of `text` before its first `=`, or `otherwise`, and the rest. */
const named = (text, otherwise) => (text.includes("=") ? text.split(/=(.*)/s, 2) : [otherwise, text]);

/** Token ids of full rows; which ones they are makes no difference to the time. */
const tokenIds = (batch, seq) => Int32Array.from({ length: batch * seq }, (_, at) => 1000 + ((at * 7919) % 20000));

/** V8 compiles WebAssembly quickly first, and well once it has run for a while; only that is of interest. */
const WARM_UP_MS = 1500;

/** Milliseconds of each run, after warming up: at least three, until the time is used. */
async function timed(run) {
  for (const end = performance.now() + WARM_UP_MS; performance.now() < end; ) await run();
  const times = [];
  const end = performance.now() + 1000 * seconds;
  while (times.length < 3 || performance.now() < end) {
    const start = performance.now();
    await run();
    times.push(performance.now() - start);
  }
  return times;
}

const median = (times) => times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)];

/** An engine is a function from (ids, batch, seq) to vectors, one after the other. */
async function onnxEngine(file) {
  const { InferenceSession, Tensor, env } = await import("onnxruntime-web/wasm");
  env.wasm.numThreads = 1;
  env.wasm.simd = true;
  const session = await InferenceSession.create(await readFile(file), { executionProviders: ["wasm"] });
  return async (ids, batch, seq) => {
    const feeds = {
      input_ids: new Tensor("int64", BigInt64Array.from(ids, BigInt), [batch, seq]),
      attention_mask: new Tensor("int64", new BigInt64Array(batch * seq).fill(1n), [batch, seq]),
    };
    return (await session.run(feeds)).vector.data;
  };
}

async function ourEngine(folder, model) {
  const glue = "pel_web.js";
  const pel = await import(pathToFileURL(path.resolve(folder, glue)));
  // The glue for the web wants the module's bytes; the glue for Node has loaded them.
  if (typeof pel.default === "function") {
    await pel.default({ module_or_path: await readFile(path.join(folder, glue.replace(/\.js$/, "_bg.wasm"))) });
  }
  const read = (name) => readFile(path.join(model, name));
  const encoder = new pel.BenchEncoder(await read("config.json"), await read("model.safetensors"), 1);
  return async (ids, batch, seq) => encoder.encode(ids, batch, seq);
}

const engines = [];
for (const given of options.onnx) {
  const [name, file] = named(given, path.basename(given));
  engines.push([name, await onnxEngine(file)]);
}
for (const given of options.pel === undefined ? [] : options.model) {
  const [name, folder] = named(given, "pel");
  engines.push([name, await ourEngine(options.pel, folder)]);
  if (build() === "relaxed") engines.push([`${name}-relaxed`, await ourEngine(path.join(options.pel, "relaxed"), folder)]);
}

const rows = [];
const first = new Map();
for (const [batch, seq] of shapes) {
  const ids = tokenIds(batch, seq);
  for (const [engine, encode] of engines) {
    const vectors = await encode(ids, batch, seq);
    // How far the vectors lie from the first engine's: the least cosine.
    const shape = `${batch}x${seq}`;
    if (!first.has(shape)) first.set(shape, vectors.slice());
    const base = first.get(shape);
    const dim = vectors.length / batch;
    let cosine = 1;
    for (let row = 0; row < batch; row += 1) {
      let dot = 0;
      for (let at = row * dim; at < (row + 1) * dim; at += 1) dot += vectors[at] * base[at];
      cosine = Math.min(cosine, dot);
    }
    const times = await timed(() => encode(ids, batch, seq));
    rows.push({ engine, batch, seq, median_ms: median(times), runs: times.length, cosine_to_first: cosine });
  }
}
console.log(JSON.stringify({ node: process.version, web: rows }));
