// The builds of the wasm package: each kernel equals its plain loops, and the page loads the build for its engine and device. PEL_WASM_PACKAGE names the folder of the package, built with the feature `parts`; ./check sets it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { EMPTY, openPage, serve, WEBGPU } from "./browser.js";

const folder = process.env.PEL_WASM_PACKAGE;
const BUILDS = ["", "relaxed/", "gpu/", "gpu-relaxed/"];

/** Runs `act` with a page, and fails on any error of the page. */
async function onPage(act, flags) {
  assert.ok(folder, "PEL_WASM_PACKAGE is not set: run ./check browser");
  const server = await serve({ "/pkg/": folder }, { "/empty.html": EMPTY });
  const { page, complaints, close } = await openPage(flags);
  try {
    await act(page, (path) => page.goto(new URL(path, server.address).href));
    assert.deepEqual(complaints, []);
  } finally {
    await close();
    await server.close();
  }
}

/**
 * In the page: products of random and of adversarial values, by plain loops and by the build's instructions.
 *
 * @returns for each case its name, and both results as bits
 */
async function products(build) {
  const pel = await import(`/pkg/${build}pel_web.js`);
  await pel.default();
  let state = 1;
  const random = (count) =>
    Float32Array.from({ length: count }, () => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return state / 2 ** 31 - 1;
    });
  const spoilt = (values, bad) => {
    for (let at = 0; at < values.length; at += 7) values[at] = bad;
    return values;
  };
  const cases = [];
  for (const m of [1, 3, 4, 5, 8, 9, 17]) {
    for (const k of [1, 3, 4, 31, 64, 70]) {
      for (const n of [1, 15, 16, 17, 33]) cases.push([`${m} x ${k} x ${n}`, random(m * k), random(n * k), random(n), k]);
    }
  }
  for (const bad of [NaN, Infinity, -Infinity, 1e-42, 3e38]) {
    const one = (name, a, b) => cases.push([`${bad} in ${name}`, a, b, random(17), 37]);
    one("rows", spoilt(random(5 * 37), bad), random(17 * 37));
    one("columns", random(5 * 37), spoilt(random(17 * 37), bad));
  }
  // The largest codes of both sides: the sum overflows 16 bits.
  for (const sign of [1, -1]) {
    const rows = new Float32Array(9 * 4096).fill(1);
    for (let row = 0; row < 9; row += 1) rows[row * 4096] = 0;
    cases.push([`${sign} everywhere`, rows, new Float32Array(33 * 4096).fill(sign), new Float32Array(33), 4096]);
  }
  const bits = (values) => Array.from(new Uint32Array(values.buffer, values.byteOffset, values.length));
  return cases.map(([name, a, b, bias, depth]) => {
    const [plain, best] = [true, false].map((plain) => bits(pel.int8Product(plain, a, b, bias, depth)));
    return { name, plain, best };
  });
}

for (const build of BUILDS) {
  test(`products of bytes equal those of plain loops: pkg/${build}`, { timeout: 60_000 }, () =>
    onPage(async (page, goto) => {
      await goto("empty.html");
      const found = await page.evaluate(products, build);
      assert.ok(found.length > 200);
      for (const { name, plain, best } of found) assert.deepEqual(best, plain, name);
      const sum = new Float32Array(Uint32Array.from(found.find(({ name }) => name === "1 everywhere").best).buffer);
      for (const value of sum) assert.ok(Math.abs(value - 4095) < 0.1, `${value}`);
    }),
  );
}

/** The package's modules that a page fetches when it loads a missing bundle on a device. */
async function fetchedBy(page, device) {
  const code = await page.evaluate(async (device) => {
    const { Pel } = await import("/pkg/pel.js");
    return Pel.load(new Uint8Array([1, 2, 3]), { device }).catch((error) => error.code);
  }, device);
  const paths = () => performance.getEntriesByType("resource").map((entry) => new URL(entry.name).pathname);
  return [code, (await page.evaluate(paths)).filter((path) => path.endsWith(".wasm"))];
}

// An engine with relaxed SIMD; one without, whose probe is the longer one; one without SIMD.
for (const [device, flags, builds] of [
  ["wasm", [], { 1000: "/pkg/relaxed/pel_web_bg.wasm", 30: "/pkg/pel_web_bg.wasm", 0: "no-wasm" }],
  ["webgpu", WEBGPU, { 1000: "/pkg/gpu-relaxed/pel_web_bg.wasm", 30: "/pkg/gpu/pel_web_bg.wasm", 0: "no-wasm" }],
  // It takes no software adapter for a GPU.
  ["auto", WEBGPU, { 1000: "/pkg/relaxed/pel_web_bg.wasm" }],
]) {
  test(`a page loads one build, that for its engine: ${device}`, { timeout: 120_000 }, async () => {
    for (const [most, build] of Object.entries(builds)) {
      await onPage(async (page, goto) => {
        await page.addInitScript((most) => {
          const validate = WebAssembly.validate;
          WebAssembly.validate = (bytes) => bytes.length <= most && validate(bytes);
        }, Number(most));
        await goto("empty.html");
        const expected = build === "no-wasm" ? ["no-wasm", []] : ["bundle", [build]];
        assert.deepEqual(await fetchedBy(page, device), expected);
      }, flags);
    }
  });
}

test("builds without kernels for GPUs say so", { timeout: 60_000 }, () =>
  onPage(async (page, goto) => {
    await goto("empty.html");
    const error = await page.evaluate(async () => {
      const pel = await import("/pkg/relaxed/pel_web.js");
      await pel.default();
      return pel.Engine.load(new pel.Files(), true).catch(({ code, message }) => ({ code, message }));
    });
    assert.deepEqual(error, { code: "no-webgpu", message: "WebGPU cannot be used here: this build of the program has no kernels for it" });
  }),
);
