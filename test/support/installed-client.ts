// The TypeScript client as a user has it: packed from its sources, then unpacked as npm would, next to the packages it
// needs.

import { execFileSync } from "node:child_process";
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");
const modules = join(root, "node_modules");
const SOURCES = ["src", "gen", "scripts", "package.json", "tsconfig.json", "README.md", "LICENSE"];

/** Installs the client into the `node_modules` of this folder. */
export function installClient(program: string): void {
  const scratch = mkdtempSync(join(tmpdir(), "rowlock-client-"));
  try {
    const checkout = join(scratch, "clients/typescript");
    // gen/ is a link to a folder outside.
    const whole = { recursive: true, dereference: true };
    for (const path of SOURCES) cpSync(join(root, "clients/typescript", path), join(checkout, path), whole);
    cpSync(join(root, "tsconfig.json"), join(scratch, "tsconfig.json"));
    symlinkSync(modules, join(scratch, "node_modules"));
    const pack = ["pack", "--ignore-scripts=false", "--pack-destination", scratch];
    execFileSync("npm", pack, { cwd: checkout, stdio: "ignore" });
    const installed = join(program, "node_modules/@rowlock/client");
    mkdirSync(installed, { recursive: true });
    const [packed] = globSync(join(scratch, "rowlock-client-*.tgz"));
    execFileSync("tar", ["-xzf", packed as string, "--strip-components=1", "-C", installed]);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  const manifest = readFileSync(join(root, "clients/typescript/package.json"), "utf8");
  for (const needed of Object.keys(JSON.parse(manifest).dependencies)) {
    mkdirSync(join(program, "node_modules", needed, ".."), { recursive: true });
    symlinkSync(join(modules, needed), join(program, "node_modules", needed));
  }
}
