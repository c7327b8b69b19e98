// The package in Node: it can be imported, as servers that render pages do, and says that it needs a browser.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";
import { project } from "./project.js";

const run = promisify(execFile);

const PROGRAM = `
const { Pel, PelError } = await import("pel-linker");
const error = await Pel.load("./bundle/").catch((error) => error);
console.log(JSON.stringify({ own: error instanceof PelError, code: error.code, message: error.message }));
`;

test("Node imports the package, and loading says what it needs", { timeout: 60_000 }, async (t) => {
  const at = await project(t);
  const { stdout, stderr } = await run("node", ["--input-type=module", "--eval", PROGRAM], { cwd: at });
  assert.equal(stderr, "");
  const { own, code, message } = JSON.parse(stdout);
  assert.deepEqual([own, code], [true, "no-worker"]);
  assert.match(message, /needs a browser/);
});

test("a script of CommonJS imports it too", { timeout: 60_000 }, async (t) => {
  const at = await project(t);
  const program = `import("pel-linker").then(({ Pel }) => console.log(typeof Pel.load));`;
  const { stdout } = await run("node", ["--input-type=commonjs", "--eval", program], { cwd: at });
  assert.equal(stdout, "function\n");
});
