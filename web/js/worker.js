// The worker that owns the WebAssembly instance. It computes and answers; it opens no connection: what it needs beside its
// own scripts, the page hands over.

import { PelError, posted } from "./errors.js";
// Not by import(): Vite, as it comes, cannot split the code of a worker.
import * as gpu from "./gpu/pel_web.js";
import * as gpuRelaxed from "./gpu-relaxed/pel_web.js";
import * as plain from "./pel_web.js";
import * as relaxed from "./relaxed/pel_web.js";

const BUILDS = { plain, relaxed, gpu, "gpu-relaxed": gpuRelaxed };

let pkg;
let memory;
let engine;
/** The newest request of each method; older ones stop at their next step. */
const newest = new Map();
/** Requests run one after the other. */
let queue = Promise.resolve();

/** Lets messages in, so that a newer request can end this one. A timer would wait four milliseconds each time. */
const turn = (() => {
  const { port1, port2 } = new MessageChannel();
  const waiting = [];
  port1.onmessage = () => waiting.shift()?.();
  return () =>
    new Promise((resolve) => {
      waiting.push(resolve);
      port2.postMessage(null);
    });
})();

const parsed = (json) => (json === undefined ? null : JSON.parse(json));

const methods = {
  async start({ name, module }) {
    pkg = BUILDS[name];
    ({ memory } = await pkg.default({ module_or_path: module }));
  },

  async load(blobs, device) {
    const files = new pkg.Files();
    for (const [name, blob] of Object.entries(blobs)) {
      const bytes = new Uint8Array(await blob.arrayBuffer());
      if (name === "") files.addWhole(bytes);
      else files.add(name, bytes);
    }
    engine = await pkg.Engine.load(files, device === "webgpu");
    return { version: pkg.version(), manifest: JSON.parse(engine.manifest()) };
  },

  async link({ stopped, part }, text, request) {
    const total = engine.begin(text, request);
    for (let done = 0; ; ) {
      await turn();
      if (stopped()) throw new PelError("cancelled", "a newer request has come");
      if (!(await engine.encode())) break;
      const links = JSON.parse(engine.search());
      done += links.length;
      part({ links, done, total });
    }
    return JSON.parse(engine.linked());
  },

  setContextRules: (name, text) => engine.setContextRules(name, text),
  decide: (threshold) => JSON.parse(engine.decide(threshold)),
  explain: async (span, k, threshold) => JSON.parse(await engine.explain(span, k, threshold)),
  find: async (text, k) => JSON.parse(await engine.find(text, k)),
  concept: (id) => parsed(engine.concept(id)),
  addConcepts: async (concepts, list) => JSON.parse(await engine.addConcepts(concepts, list)),
  addFile: async (name, format, text) => JSON.parse(await engine.addFile(name, format, text)),
  removeConcepts: (ids) => engine.removeConcepts(ids),
  addedConcepts: () => JSON.parse(engine.addedConcepts()),
  addedLists: () => JSON.parse(engine.addedLists()),
  write: (format, note) => engine.write(format, note),
  document: (name) => engine.document(name) ?? null,
};

async function answer({ id, method, args }) {
  const job = { stopped: () => newest.get(method) !== id, part: (part) => postMessage({ id, part }) };
  try {
    if (method === "link" && job.stopped()) throw new PelError("cancelled", "a newer request has come");
    const result = await (method === "link" ? methods.link(job, ...args) : methods[method](...args));
    postMessage({ id, result, memory: memory.buffer.byteLength });
  } catch (error) {
    // A trap leaves the instance in no state to go on.
    if (error instanceof WebAssembly.RuntimeError) postMessage({ lost: `the encoder failed: ${error.message}` });
    else postMessage({ id, error: posted(error) });
  }
}

addEventListener("message", ({ data }) => {
  if (data.cancel) {
    newest.delete(data.cancel);
    return;
  }
  newest.set(data.method, data.id);
  queue = queue.then(() => answer(data));
});
