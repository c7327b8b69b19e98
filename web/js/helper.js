// Further workers that encode for the one that links: its side, theirs, and how the work is shared. Each has a WebAssembly
// instance of its own, so no page needs to be isolated for them, as shared memory would ask.

import { posted, revived } from "./errors.js";

/** A further worker, as the worker that links sees it. */
export class Helper {
  #port;
  #lost;
  #waiting = new Map();
  #last = 0;

  /** `lost` is called when it can help no more. */
  constructor(port, lost) {
    this.#port = port;
    this.#lost = lost;
    this.#port.onmessage = ({ data }) => this.#take(data);
  }

  /** Gives it its files, pairs of a name and bytes. Its answer says that it is ready; there is none if it could not start. */
  read(files) {
    const transfer = files.map(([, bytes]) => bytes.buffer);
    return this.#ask({ files }, transfer);
  }

  /** The values of some rows. */
  ask(method, rows) {
    return this.#ask({ method, rows }, []);
  }

  #take({ id, result, error }) {
    const { resolve, reject } = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (!error) return resolve(result);
    this.#lost();
    reject(revived(error));
  }

  #ask(message, transfer) {
    const id = (this.#last += 1);
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#port.postMessage({ id, ...message }, transfer);
    });
  }
}

/** The other side: answers what comes through the port. */
export function help(port, pkg) {
  let encoders;
  port.onmessage = ({ data: { id, files, method, rows } }) => {
    try {
      if (files) {
        const given = new pkg.Files();
        for (const [name, bytes] of files) given.add(name, bytes);
        encoders = pkg.Helper.load(given);
        port.postMessage({ id });
        return;
      }
      const result = encoders[method](rows);
      port.postMessage({ id, result }, [result.buffer]);
    } catch (error) {
      port.postMessage({ id, error: posted(error) });
    }
  };
}

/**
 * Does `count` pieces of work, from the first on, here and in the helpers. `here` does one; `there` asks a helper for one, and
 * `take` takes what it gives; `ahead` pieces wait in each helper at most. `check` is awaited before each piece that is done
 * here, and ends everything by an error. A piece that a helper fails at is done here.
 */
export async function shared(count, helpers, check, { ahead = 1, here, there, take }) {
  let next = 0;
  let ended = false;
  const again = [];
  const taken = () => again.pop() ?? (next < count ? next++ : undefined);
  const own = async (at) => {
    for (; at !== undefined; at = taken()) {
      await here(at);
      await check();
    }
  };
  const other = async (helper) => {
    for (let at = taken(); at !== undefined && !ended; at = taken()) {
      let values;
      try {
        values = await there(helper, at);
      } catch {
        again.push(at);
        return;
      }
      if (!ended) take(at, values);
    }
  };
  // The first piece is done here, where its result is seen soonest.
  const first = taken();
  const others = [...helpers].flatMap((helper) => Array.from({ length: ahead }, () => other(helper)));
  try {
    await Promise.all([own(first), ...others]);
    // What failed elsewhere after this worker had ended.
    await own(taken());
  } finally {
    ended = true;
  }
}
