// The package's types, used by a strict TypeScript.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";

const here = (name) => new URL(name, import.meta.url).pathname;

test("the package's types fit its use", { timeout: 120_000 }, () => {
  const options = ["--noEmit", "--strict", "--target", "es2022", "--module", "es2022", "--moduleResolution", "bundler"];
  const { status, stdout } = spawnSync(
    here("node_modules/.bin/tsc"),
    ["--ignoreConfig", ...options, "--lib", "es2022,dom,dom.iterable", here("types.ts")],
    { encoding: "utf8" },
  );
  assert.equal(status, 0, stdout);
});

test("every documented call is there, and no other", async () => {
  const { Pel } = await import("../../web/js/pel.js");
  const { readFile } = await import("node:fs/promises");
  const types = await readFile(new URL("../../web/js/pel.d.ts", import.meta.url), "utf8");
  const body = types.slice(types.indexOf("export class Pel {"));
  const documented = [...body.matchAll(/^ {2}(?:static )?(\w+)\(/gm)].map(([, name]) => name).filter((name) => name !== "constructor");
  const methods = Object.getOwnPropertyNames(Pel.prototype).filter((name) => name !== "constructor");
  assert.deepEqual(new Set(documented), new Set([...methods, "load"]));
});
