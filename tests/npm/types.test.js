// The types of the installed package, by strict TypeScript.

import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { here, project, tool } from "./project.js";

const STRICT = ["--noEmit", "--strict", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess", "--target", "es2022", "--types", ""];

for (const [module, resolution] of [
  ["es2022", "bundler"],
  ["preserve", "bundler"],
  ["node16", "node16"],
  ["nodenext", "nodenext"],
]) {
  test(`types: --module ${module} --moduleResolution ${resolution}`, { timeout: 120_000 }, async (t) => {
    const at = await project(t);
    await writeFile(join(at, "package.json"), `{ "type": "module" }`);
    // The documented use of tests/browser, by the name of the package.
    const calls = await readFile(here("../browser/types.ts"), "utf8");
    await writeFile(join(at, "calls.ts"), calls.replace("../../web/js/pel.js", "pel-linker"));
    await writeFile(join(at, "rules.ts"), RULES);
    const args = [...STRICT, "--module", module, "--moduleResolution", resolution, "--lib", "es2022,dom,dom.iterable", "calls.ts", "rules.ts"];
    const { status, output } = await tool(at, ".bin/tsc", ["--ignoreConfig", ...args]);
    assert.equal(status, 0, output);
  });
}

const RULES = `import { type ContextRules, type ErrorCode, type Link, Pel } from "pel-linker";

export async function german(rules: string): Promise<Link["laterality"]> {
  const pel = await Pel.load("bundle/", { contextRules: "german" });
  const own: ContextRules = { name: "ward.rules", text: rules };
  await pel.setContextRules(own);
  await pel.setContextRules({ text: rules });
  // @ts-expect-error: no such rules are built in
  await pel.setContextRules("dutch");
  const { links } = await pel.link("Kein Fieber.");
  return links[0]?.laterality;
}

export const code: ErrorCode = "no-worker";
// @ts-expect-error: files of the package that are not its interface
export const inner: Promise<unknown> = import("pel-linker/pel_web.js");
`;
