// The worker that owns the WebAssembly instance. It computes and answers; it opens no connection: what it needs beside its
// own scripts, the page hands over. Further workers run this script too: they encode for the first one (helper.js).

import { PelError, posted } from "./errors.js";
import { Helper, help, shared } from "./helper.js";
// Not by import(): Vite, as it comes, cannot split the code of a worker.
import * as gpu from "./gpu/pel_web.js";
import * as gpuRelaxed from "./gpu-relaxed/pel_web.js";
import * as plain from "./pel_web.js";
import * as relaxed from "./relaxed/pel_web.js";

const BUILDS = { plain, relaxed, gpu, "gpu-relaxed": gpuRelaxed };

let pkg;
let memory;
let engine;
/** The workers that encode for this one. */
const helpers = new Set();
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

  /** Encodes for the worker at the other end of a port from now on. */
  help: (port) => help(port, pkg),

  /** Lets the workers at these ports help. Each gets the files of the encoders, and is asked once it has read them. */
  assist(ports) {
    for (const port of ports) {
      const helper = new Helper(port, () => helpers.delete(helper));
      const ready = helper.read(engine.helperFiles().map((name) => [name, engine.file(name)]));
      // This worker links alone where a helper cannot start.
      ready.then(() => helpers.add(helper)).catch(() => {});
    }
  },

  async link({ stopped, part }, text, request) {
    const check = async () => {
      await turn();
      if (stopped()) throw new PelError("cancelled", "a newer request has come");
    };
    await check();
    const windows = engine.begin(text, request);
    await shared(windows, helpers, check, {
      here: (at) => engine.readWindow(at),
      there: (helper, at) => helper.ask("readWindow", engine.window(at)),
      take: (at, values) => engine.takeWindow(at, values),
    });
    const total = engine.detect();
    let done = 0;
    const search = (at) => {
      const links = JSON.parse(engine.search(at));
      done += links.length;
      part({ links, done, total });
    };
    await shared(engine.batches(), helpers, check, {
      // Enough at a time that a helper need not wait while this worker computes.
      ahead: 2,
      here: async (at) => {
        await engine.encode(at);
        search(at);
      },
      there: (helper, at) => helper.ask("encode", engine.batch(at)),
      take: (at, values) => {
        engine.takeVectors(at, values);
        search(at);
      },
    });
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
    postMessage({ id, result, memory: memory.buffer.byteLength, workers: 1 + helpers.size });
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
