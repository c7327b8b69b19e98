// Helpers: projects with the packed package installed, and their real bundlers. PEL_NPM names the packed package; scripts/test/npm-test sets it.

import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
export const here = (name) => new URL(name, import.meta.url).pathname;

/** The packed package, a `.tgz`. */
export function tarball() {
  if (!process.env.PEL_NPM) throw new Error("PEL_NPM is not set: run scripts/test/npm-test");
  return process.env.PEL_NPM;
}

/**
 * A new project with copies of `folders` and the package, installed by npm without a network. It lies in this folder, so that it finds the
 * bundlers and React that are installed here. It is removed at the end of the test.
 */
export async function project(t, ...folders) {
  const root = await mkdtemp(here("work-"));
  t.after(() => rm(root, { recursive: true, force: true }));
  // npm would ask a registry for the other packages of a project.
  const installed = join(root, "installed");
  await mkdir(installed);
  await run("npm", ["install", "--offline", "--no-audit", "--no-fund", "--no-save", "--loglevel=error", "--prefix", installed, tarball()]);
  const at = join(root, "project");
  await mkdir(at);
  // Not what someone has installed or built in an example.
  const filter = (path) => !/\/(node_modules|dist|public|bundle)$/.test(path);
  for (const folder of folders) await cp(here(folder), at, { recursive: true, filter });
  await cp(join(installed, "node_modules"), join(at, "node_modules"), { recursive: true });
  return at;
}

/**
 * Runs an installed program in a project.
 *
 * @param {string} name a program within `node_modules`
 * @returns its exit status, and what it printed
 */
export async function tool(at, name, args = [], env = {}) {
  const options = { cwd: at, env: { ...process.env, NODE_ENV: "production", NO_COLOR: "1", ...env }, maxBuffer: 1 << 26 };
  try {
    const { stdout, stderr } = await run(here(`node_modules/${name}`), args, options);
    return { status: 0, output: stdout + stderr };
  } catch (error) {
    return { status: error.code, output: `${error.stdout}${error.stderr}` };
  }
}
