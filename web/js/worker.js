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
/** The requests that their callers have given up. */
const givenUp = new Set();
/** What the engine does runs one after the other, */
let queue = Promise.resolve();
/** and so do additions and removals of concepts. Requests that come between the steps of an addition do not wait for its end. */
let changes = Promise.resolve();

/** Does something once the engine has done all that was asked of it before. */
function inTurn(work) {
  const done = queue.then(work);
  queue = done.catch(() => {});
  return done;
}

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
    if (stopped()) throw new PelError("cancelled", "a newer request has come");
    const check = async () => {
      await turn();
      if (stopped()) throw new PelError("cancelled", "a newer request has come");
    };
    await check();
    const windows = engine.begin(text, request);
    let read = 0;
    const progress = () => part({ read: (read += 1), windows });
    await shared(windows, helpers, check, {
      here: (at) => {
        engine.readWindow(at);
        progress();
      },
      there: (helper, at) => helper.ask("readWindow", engine.window(at)),
      take: (at, values) => {
        engine.takeWindow(at, values);
        progress();
      },
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
  addConcepts: (job, concepts, list) => add(job, () => engine.beginConcepts(concepts, list)),
  addFile: (job, name, format, text) => add(job, () => engine.beginFile(name, format, text)),
  removeConcepts: (job, ids) => inTurn(() => engine.removeConcepts(ids)),
  addedConcepts: () => JSON.parse(engine.addedConcepts()),
  addedLists: () => JSON.parse(engine.addedLists()),
  write: (format, note) => engine.write(format, note),
  document: (name) => engine.document(name) ?? null,
};

/** Adds concepts batch by batch. Nothing is added if it is given up. */
async function add({ givenUp, part }, begin) {
  const check = async () => {
    await turn();
    if (givenUp()) throw new PelError("cancelled", "the addition was cancelled");
  };
  await check();
  const sizes = await inTurn(begin);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  let done = 0;
  const progress = (at) => part({ done: (done += sizes[at]), total });
  try {
    await shared(sizes.length, helpers, check, {
      here: async (at) => {
        await inTurn(() => engine.encodeConcepts(at));
        progress(at);
      },
      there: (helper, at) => helper.ask("encodeConcepts", engine.conceptBatch(at)),
      take: (at, values) => {
        engine.takeConcepts(at, values);
        progress(at);
      },
    });
    return JSON.parse(await inTurn(() => engine.finishConcepts()));
  } catch (error) {
    await inTurn(() => engine.dropConcepts());
    throw error;
  }
}

/** The methods that take the job too, and those of them that change the concepts. */
const CHANGES = new Set(["addConcepts", "addFile", "removeConcepts"]);
const JOBS = new Set(["link", ...CHANGES]);

async function answer({ id, method, args }) {
  const job = {
    stopped: () => newest.get(method) !== id,
    givenUp: () => givenUp.has(id),
    part: (part) => postMessage({ id, part }),
  };
  try {
    const result = await (JOBS.has(method) ? methods[method](job, ...args) : methods[method](...args));
    postMessage({ id, result, memory: memory.buffer.byteLength, workers: 1 + helpers.size });
  } catch (error) {
    // A trap leaves the instance in no state to go on.
    if (error instanceof WebAssembly.RuntimeError) postMessage({ lost: `the encoder failed: ${error.message}` });
    else postMessage({ id, error: posted(error) });
  } finally {
    givenUp.delete(id);
  }
}

addEventListener("message", ({ data }) => {
  if (data.cancel) {
    newest.delete(data.cancel);
    return;
  }
  if (data.giveUp) {
    givenUp.add(data.giveUp);
    return;
  }
  newest.set(data.method, data.id);
  if (CHANGES.has(data.method)) changes = changes.then(() => answer(data));
  else inTurn(() => answer(data));
});
