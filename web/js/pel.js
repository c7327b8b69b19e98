// What a page calls: loads a bundle, starts the worker that owns the WebAssembly instance, and passes requests on. The page
// fetches, the worker computes: it never needs the network, and its Content-Security-Policy may forbid it.

import { PelError, revived } from "./errors.js";
import { program } from "./program.js";
import { bundle, forget } from "./source.js";

export { PelError };

/** More have nothing to do in a note. */
const MOST_WORKERS = 16;

/**
 * Starts the worker. Bundlers find its file by this expression, which must stay as it is. Node has no `Worker` of this kind; a
 * page may not start one from another site.
 */
function begun() {
  try {
    return new Worker(new URL("./worker.js", import.meta.url), { type: "module", name: "pel" });
  } catch (error) {
    const place = "it must come from the site of the page, and the Content-Security-Policy must allow it";
    throw new PelError("no-worker", `the worker of pel-linker cannot be started: ${place}: ${error.message}`, { cause: error });
  }
}

/** What servers lack, and pages of old browsers. */
function needBrowser() {
  if (typeof Worker === "function" && typeof location === "object") return;
  const why = "Pel.load needs a browser: there is no Worker here";
  throw new PelError("no-worker", `${why}. On a server call it in code that runs in the page alone, or use the program pel`);
}

/** A worker with a bundle on a device, its helpers, and the requests that it has not answered. */
class Engine {
  #worker;
  #helpers = [];
  #waiting = new Map();
  #last = 0;
  #lost;
  /** Why it has ended. */
  #why;
  /** Bytes of its WebAssembly memory, as of its last answer. */
  memory = 0;
  /** It and the helpers that were ready then. */
  workers = 1;

  /** `lost` is called when the worker, or its device, has failed for good. */
  constructor(lost) {
    this.#lost = lost;
    this.#worker = begun();
    this.#worker.onmessage = ({ data }) => this.#take(data);
    this.#worker.onerror = (event) => this.fail(event.message || "the worker could not be started");
    this.#worker.onmessageerror = () => this.fail("a message of the worker could not be read");
  }

  #take({ id, result, error, part, lost, memory, workers }) {
    if (memory) Object.assign(this, { memory, workers });
    if (lost) return this.fail(lost);
    const request = this.#waiting.get(id);
    if (!request) return;
    if (part) return request.onPart?.(part);
    this.#waiting.delete(id);
    if (error) request.reject(revived(error));
    else request.resolve(result);
  }

  /** Gives the worker up. */
  fail(why) {
    if (!this.#worker) return;
    const error = new PelError("device", why);
    this.end(error);
    this.#lost(error);
  }

  /** Asks the worker; parts of the answer go to `onPart`. `signal` gives the request up, if its method allows that. */
  ask(method, args, { transfer = [], onPart, signal } = {}) {
    if (!this.#worker) return Promise.reject(this.#why);
    if (signal?.aborted) return Promise.reject(ended(signal));
    const id = (this.#last += 1);
    const giveUp = () => this.#worker?.postMessage({ giveUp: id });
    signal?.addEventListener("abort", giveUp, { once: true });
    const answered = new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject, onPart });
      this.#worker.postMessage({ id, method, args }, transfer);
    });
    return answered.finally(() => signal?.removeEventListener("abort", giveUp));
  }

  /** Starts further workers with the program, which encode for this one as soon as they are ready. */
  async assist(count, program) {
    const ports = [];
    for (let at = 0; at < count; at += 1) {
      const { port1, port2 } = new MessageChannel();
      const helper = begun();
      helper.postMessage({ method: "start", args: [program] });
      helper.postMessage({ method: "help", args: [port2] }, [port2]);
      this.#helpers.push(helper);
      ports.push(port1);
    }
    if (count > 0) await this.ask("assist", [ports], { transfer: ports });
  }

  /** Tells the worker that an answer is not wanted any more. */
  cancel(method) {
    this.#worker?.postMessage({ cancel: method });
  }

  /** Ends the worker; what waits is rejected. */
  end(error) {
    this.#why ??= error;
    this.#worker?.terminate();
    this.#worker = undefined;
    for (const helper of this.#helpers) helper.terminate();
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}

/** The device to begin with. */
async function chosen(wanted) {
  if (wanted === "wasm") return "wasm";
  if (wanted !== "auto" && wanted !== "webgpu") {
    throw new PelError("input", `device: expected auto, webgpu or wasm, found ${JSON.stringify(wanted)}`);
  }
  let adapter;
  try {
    adapter = await navigator.gpu?.requestAdapter({ powerPreference: "high-performance" });
  } catch {
    // A browser that cannot even be asked has none.
  }
  if (wanted === "webgpu") {
    if (!adapter) throw new PelError("no-webgpu", "this browser has no WebGPU adapter; WebAssembly works without one");
    return "webgpu";
  }
  // A processor in disguise is slower than WebAssembly.
  const info = adapter?.info;
  const software = info?.isFallbackAdapter || /swiftshader|llvmpipe|software/i.test(`${info?.architecture} ${info?.description}`);
  return adapter && !software ? "webgpu" : "wasm";
}

/** A threshold as JSON can say it; beyond every score is the largest number. */
function finite(threshold) {
  if (threshold === undefined || threshold === null) return threshold;
  if (typeof threshold !== "number" || Number.isNaN(threshold)) {
    throw new PelError("input", "a threshold: expected a number");
  }
  return Math.min(Math.max(threshold, -3.4e38), 3.4e38);
}

/** Rules of context as the engine takes them: a name, and the text of rules that are not built in. */
function rulesOf(rules) {
  if (typeof rules === "string") return [rules];
  if (typeof rules?.text === "string" && typeof (rules.name ?? "") === "string") return [rules.name ?? "context.rules", rules.text];
  throw new PelError("input", "context rules: expected the name of built-in rules, or { name, text }");
}

/** The number of workers that encode. */
function workersOf(workers = 1) {
  if (Number.isInteger(workers) && workers >= 1 && workers <= MOST_WORKERS) return workers;
  throw new PelError("input", `workers: expected a whole number from 1 to ${MOST_WORKERS}, found ${JSON.stringify(workers)}`);
}

/** A lone half of a surrogate pair has no place in UTF-8; in its stead comes a character of the same width. */
function wellFormed(text) {
  if (typeof text !== "string") return text;
  const lone = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
  return text.toWellFormed?.() ?? text.replace(lone, "\ufffd");
}

/** What an AbortSignal says, as our error. */
function ended(signal) {
  return new PelError("cancelled", "ended by its signal", { cause: signal.reason });
}

export class Pel {
  #engine;
  #device;
  #said;
  #restart;
  #starting;
  #added = [];
  /** The rules of context, if they are not the engine's own. */
  #rules = null;
  #freed = false;
  #linking = 0;
  /** What the engine was asked for with the text that was linked last. */
  #linked = null;

  static async load(source, options = {}) {
    const { signal } = options;
    try {
      needBrowser();
      if (signal?.aborted) throw ended(signal);
      return await Pel.#loaded(source, options);
    } catch (error) {
      // Each step fails in its own words when its signal ends it; here is the one place that gives them one.
      throw signal?.aborted ? ended(signal) : error;
    }
  }

  static async #loaded(source, options) {
    const { device = "auto", onProgress, onDevice, cache = true, signal } = options;
    const helpers = workersOf(options.workers) - 1;
    const progress = (phase, loaded, total, cached) => onProgress?.({ phase, loaded, total, cached });
    const pel = new Pel(Pel.#key);
    if (options.contextRules !== undefined) pel.#rules = rulesOf(options.contextRules);
    const wanted = await chosen(device);
    const compiled = program(wanted === "webgpu", (loaded, total) => progress("program", loaded, total, false), signal);
    let starting;
    const started = async () => {
      const engine = new Engine((error) => pel.#failed(engine, error, onDevice));
      starting = engine;
      try {
        await engine.ask("start", [await compiled]);
      } catch (error) {
        engine.end(error);
        throw error;
      }
      return engine;
    };
    const stop = () => starting?.end(ended(signal));
    signal?.addEventListener("abort", stop, { once: true });
    // All at once: the worker starts and the program compiles while the bundle comes.
    let next = started();
    const [files] = await Promise.all([
      bundle(source, { cache, signal, onProgress: (loaded, total, cached) => progress("bundle", loaded, total, cached) }),
      next,
    ]).catch((error) => {
      starting?.end(error);
      signal?.removeEventListener("abort", stop);
      throw error;
    });
    pel.#restart = async (device) => {
      progress("start", 0, 0, files.cached);
      const engine = await (next ?? started());
      next = undefined;
      try {
        // Blobs, which the browser keeps outside of the page's memory: a restart needs them again.
        pel.#said = await engine.ask("load", [files.blobs, device]);
        if (pel.#rules) await engine.ask("setContextRules", pel.#rules);
        if (pel.#freed) throw new PelError("freed", "this handle has been freed");
      } catch (error) {
        engine.end(error);
        throw error;
      }
      pel.#engine = engine;
      pel.#device = device;
      // Not awaited: the page is ready without them.
      if (device === "wasm") engine.assist(helpers, await compiled).catch(() => {});
    };
    try {
      await pel.#restart(wanted);
    } catch (error) {
      if (error.code === "bundle" && files.cached) {
        // What the browser's store gave back is damaged: once more from where it came.
        await forget(source);
        return Pel.#loaded(source, options);
      }
      const gpu = wanted === "webgpu" && device === "auto" && !["bundle", "newer-bundle", "input"].includes(error.code) && !signal?.aborted;
      if (!gpu) throw error;
      await pel.#restart("wasm");
      onDevice?.({ device: "wasm", why: error.message });
    } finally {
      signal?.removeEventListener("abort", stop);
    }
    await files.keep();
    return pel;
  }

  static #key = Symbol("only Pel.load makes a handle");

  constructor(key) {
    if (key !== Pel.#key) throw new PelError("input", "use Pel.load: there is no handle before a bundle is loaded");
  }

  /** The GPU has gone, or the worker: a new one goes on in WebAssembly, with the concepts that were added. */
  #failed(engine, error, onDevice) {
    if (this.#freed || engine !== this.#engine) return;
    const gone = this.#device;
    this.#starting = this.#takeOver().then(() => {
      if (gone === "webgpu") onDevice?.({ device: "wasm", why: error.message });
    });
    // Who asks next tries again.
    this.#starting.catch(() => {});
  }

  async #takeOver() {
    await this.#restart("wasm");
    for (const { list, concepts } of this.#added) {
      await this.#engine.ask("addConcepts", [JSON.stringify(concepts), list ?? undefined]);
    }
    // Decisions and explanations are about the text that was linked last; a newer one that ends this is as good.
    if (this.#linked) await this.#engine.ask("link", this.#linked).catch(() => {});
  }

  /** Waits for an engine; where taking over has failed, it is tried once more. */
  async #ready() {
    const starting = this.#starting;
    try {
      await starting;
    } catch {
      if (this.#starting === starting) {
        this.#starting = this.#takeOver();
        this.#starting.catch(() => {});
      }
      await this.#starting;
    }
  }

  /** Asks the engine; a request whose GPU failed under it is asked again of the device that takes over. */
  async #ask(method, args, options) {
    if (this.#freed) throw new PelError("freed", "this handle has been freed");
    await this.#ready();
    const [engine, device] = [this.#engine, this.#device];
    try {
      return await engine.ask(method, args, options);
    } catch (error) {
      if (error.code !== "device" || device !== "webgpu" || this.#freed) throw error;
      engine.fail(error.message);
      await this.#starting;
      return this.#engine.ask(method, args, options);
    }
  }

  async link(text, { onLinks, onRead, signal, ...request } = {}) {
    if (typeof text !== "string") throw new PelError("input", "expected a text");
    if (signal?.aborted) throw ended(signal);
    const own = (this.#linking += 1);
    const newer = new PelError("cancelled", "a newer request has come");
    this.#engine?.cancel("link");
    const stop = () => own === this.#linking && this.#engine?.cancel("link");
    signal?.addEventListener("abort", stop, { once: true });
    try {
      const onPart = (part) => {
        if (own !== this.#linking) return;
        if (part.links) onLinks?.(part);
        else onRead?.({ done: part.read, total: part.windows });
      };
      const args = [wellFormed(text), JSON.stringify({ ...request, threshold: finite(request.threshold) })];
      await this.#ready();
      if (signal?.aborted) throw ended(signal);
      if (own !== this.#linking) throw newer;
      const whole = await this.#ask("link", args, { onPart });
      if (own !== this.#linking) throw newer;
      if (signal?.aborted) throw ended(signal);
      this.#linked = args;
      return { ...whole, device: this.#device };
    } catch (error) {
      throw signal?.aborted ? ended(signal) : error;
    } finally {
      signal?.removeEventListener("abort", stop);
    }
  }

  async setContextRules(rules) {
    const chosen = rulesOf(rules);
    await this.#ask("setContextRules", chosen);
    this.#rules = chosen;
  }

  async decide({ threshold } = {}) {
    return this.#ask("decide", [finite(threshold)]);
  }

  async explain({ start, end, fragments }, { k = 10, threshold } = {}) {
    return this.#ask("explain", [JSON.stringify({ start, end, fragments }), k, finite(threshold)]);
  }

  async addConcepts(concepts, { list, onProgress, signal } = {}) {
    if (signal?.aborted) throw ended(signal);
    const [method, args] = Array.isArray(concepts)
      ? ["addConcepts", [JSON.stringify(concepts), list]]
      : ["addFile", [list ?? concepts.name, concepts.format, concepts.text]];
    try {
      const added = await this.#ask(method, args, { onPart: onProgress, signal });
      this.#added = await this.#ask("addedLists", []);
      return added;
    } catch (error) {
      throw error.code === "cancelled" && signal?.aborted ? ended(signal) : error;
    }
  }

  async removeConcepts(ids) {
    const gone = await this.#ask("removeConcepts", [ids && JSON.stringify(ids)]);
    this.#added = await this.#ask("addedLists", []);
    return gone;
  }

  addedConcepts() {
    return this.#ask("addedConcepts", []);
  }

  async exportConcepts() {
    return (await this.addedConcepts()).map((concept) => `${JSON.stringify(concept)}\n`).join("");
  }

  concept(id) {
    return this.#ask("concept", [id]);
  }

  find(text, { k = 10 } = {}) {
    return this.#ask("find", [text, k]);
  }

  async write(format, note) {
    const { name, text } = note;
    return this.#ask("write", [format, JSON.stringify({ ...note, name: wellFormed(name), text: wellFormed(text) })]);
  }

  document(name) {
    return this.#ask("document", [name]);
  }

  device() {
    return this.#device;
  }

  version() {
    return this.#said.version;
  }

  manifest() {
    return this.#said.manifest;
  }

  memory() {
    return this.#engine.memory;
  }

  workers() {
    return this.#engine.workers;
  }

  free() {
    this.#freed = true;
    this.#engine?.end(new PelError("freed", "this handle has been freed"));
  }
}
