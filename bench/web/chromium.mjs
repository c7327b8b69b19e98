// Times encoders in a Chromium on one thread, by turns: our two builds of the wasm package (plain and relaxed SIMD), and
// ONNX Runtime Web. Prints one line of JSON.
//
//   node chromium.mjs --pel PACKAGE --model NAME=FOLDER... [--onnx NAME=FILE...] [--rounds 3]
//
// PACKAGE is what scripts/build/wasm-build --release --features pel-web/parts printed; FOLDER has config.json and model.safetensors. The
// browser is that of tests/browser, whose packages must be installed (./check browser does it).

import { dirname } from "node:path";
import { parseArgs } from "node:util";
import { EMPTY, openPage, serve } from "../../tests/browser/browser.js";

const { values: options } = parseArgs({
  options: {
    pel: { type: "string" },
    model: { type: "string", multiple: true, default: [] },
    onnx: { type: "string", multiple: true, default: [] },
    rounds: { type: "string", default: "3" },
  },
});
if (!options.pel || options.model.length === 0) throw new Error("--pel and --model are needed");

const median = (times) => times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)];
const named = (text) => (text.includes("=") ? text.split(/=(.*)/s, 2) : ["pel", text]);

/** In the page: the median milliseconds for each shape, after the browser's best compiler has done its work. */
async function timed({ kind, from, build, shapes }) {
  const read = async (name) => new Uint8Array(await (await fetch(name)).arrayBuffer());
  let encode;
  if (kind === "pel") {
    const pel = await import(`/pkg/${build}pel_web.js`);
    await pel.default();
    const encoder = new pel.BenchEncoder(await read(`${from}config.json`), await read(`${from}model.safetensors`));
    encode = (ids, batch, seq) => encoder.encode(ids, batch, seq);
  } else {
    const { InferenceSession, Tensor, env } = await import("/ort/ort.wasm.min.mjs");
    env.wasm.numThreads = 1;
    env.wasm.wasmPaths = "/ort/";
    const session = (globalThis[from] ??= await InferenceSession.create(await read(from), { executionProviders: ["wasm"] }));
    encode = (ids, batch, seq) =>
      session.run({
        input_ids: new Tensor("int64", BigInt64Array.from(ids, BigInt), [batch, seq]),
        attention_mask: new Tensor("int64", new BigInt64Array(batch * seq).fill(1n), [batch, seq]),
      });
  }
  const found = [];
  for (const [batch, seq] of shapes) {
    const ids = Int32Array.from({ length: batch * seq }, (_, at) => 1000 + ((at * 7919) % 20000));
    const once = async () => {
      const start = performance.now();
      await encode(ids, batch, seq);
      return performance.now() - start;
    };
    for (const end = performance.now() + 2500; performance.now() < end; ) await once();
    const times = [];
    for (let round = 0; round < 9; round += 1) times.push(await once());
    found.push(times.sort((a, b) => a - b)[4]);
  }
  return found;
}

const shapes = [[1, 32], [16, 64]];
const ort = new URL("node_modules/onnxruntime-web/dist/", import.meta.url).pathname;
const folder = (path) => `${path.replace(/\/$/, "")}/`;
const [folders, engines] = [{ "/pkg/": folder(options.pel), "/ort/": ort }, []];
for (const [name, path] of options.model.map(named)) {
  folders[`/model/${name}/`] = folder(path);
  for (const build of ["", "relaxed/"]) {
    engines.push({ name: build ? `${name}, relaxed` : name, kind: "pel", from: `/model/${name}/`, build });
  }
}
for (const [name, path] of options.onnx.map(named)) {
  folders[`/onnx/${name}/`] = folder(dirname(path));
  engines.push({ name, kind: "onnx", from: `/onnx/${name}/${path.split("/").at(-1)}` });
}
const server = await serve(folders, { "/empty.html": EMPTY });
const { page, close } = await openPage();
try {
  await page.goto(new URL("empty.html", server.address).href);
  const found = engines.map(() => []);
  for (let round = 0; round < Number(options.rounds); round += 1) {
    for (const [at, { kind, from, build }] of engines.entries()) {
      found[at].push(await page.evaluate(timed, { kind, from, build, shapes }));
    }
  }
  const rows = shapes.map(([batch, seq], shape) => ({
    batch,
    seq,
    ms: Object.fromEntries(engines.map(({ name }, at) => [name, median(found[at].map((times) => times[shape]))])),
  }));
  console.log(JSON.stringify({ browser: page.context().browser().version(), rows }));
} finally {
  await close();
  await server.close();
}
