// Times our two builds of the wasm package, with plain and with relaxed SIMD, in a Chromium, by turns. Prints one line of JSON.
//
//   node builds.mjs --pel PACKAGE --model FOLDER [--rounds 3]
//
// PACKAGE is what scripts/wasm-build --release --features pel-web/parts printed; FOLDER has config.json and model.safetensors. The
// browser is that of tests/browser, whose packages must be installed (./check browser does it).

import { parseArgs } from "node:util";
import { openPage, serve } from "../../tests/browser/browser.js";

const { values: options } = parseArgs({
  options: { pel: { type: "string" }, model: { type: "string" }, rounds: { type: "string", default: "3" } },
});
if (!options.pel || !options.model) throw new Error("--pel and --model are needed");

const median = (times) => times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)];

/** In the page: the median milliseconds for each shape, after the engine's best compiler has done its work. */
async function timed({ build, shapes }) {
  const pel = await import(`/pkg/${build}pel_web.js`);
  await pel.default();
  const read = async (name) => new Uint8Array(await (await fetch(`/model/${name}`)).arrayBuffer());
  const encoder = new pel.BenchEncoder(await read("config.json"), await read("model.safetensors"));
  return shapes.map(([batch, seq]) => {
    const ids = Int32Array.from({ length: batch * seq }, (_, at) => 1000 + ((at * 7919) % 20000));
    const once = () => {
      const start = performance.now();
      encoder.encode(ids, batch, seq);
      return performance.now() - start;
    };
    for (const end = performance.now() + 2500; performance.now() < end; ) once();
    return Array.from({ length: 9 }, once).sort((a, b) => a - b)[4];
  });
}

const shapes = [[1, 32], [16, 64]];
const folder = (path) => `${path.replace(/\/$/, "")}/`;
const server = await serve(
  { "/pkg/": folder(options.pel), "/model/": folder(options.model) },
  { "/empty.html": `<!doctype html><link rel="icon" href="data:,">` },
);
const { page, close } = await openPage();
try {
  await page.goto(new URL("empty.html", server.address).href);
  const found = { "": [], "relaxed/": [] };
  for (let round = 0; round < Number(options.rounds); round += 1) {
    for (const build of Object.keys(found)) found[build].push(await page.evaluate(timed, { build, shapes }));
  }
  const rows = shapes.map(([batch, seq], at) => {
    const [plain, relaxed] = Object.values(found).map((rounds) => median(rounds.map((times) => times[at])));
    return { batch, seq, plain_ms: plain, relaxed_ms: relaxed, ratio: relaxed / plain };
  });
  console.log(JSON.stringify({ browser: page.context().browser().version(), builds: rows }));
} finally {
  await close();
  await server.close();
}
