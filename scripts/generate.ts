// Generates all code from proto/, and bundles the page, by the script of each client; the TypeScript client's script makes
// proto/gen, which the server uses, too, and from which scripts/hot-codec.ts makes the server's own code afterwards. If this machine lacks a client's toolchain, the client is named and its
// committed code stays as it is; with --require-all that is a failure.

import { spawnSync } from "node:child_process";
import { globSync } from "node:fs";
import { delimiter, join } from "node:path";

/** Exit code of a client's script whose toolchain is missing. */
const NOT_HERE = 3;
const root = join(import.meta.dirname, "..");
const PATH = `${join(root, "node_modules", ".bin")}${delimiter}${process.env.PATH}`;

function run(script: string, ...args: string[]): number {
  const { status, error } = spawnSync(script, args, {
    cwd: root,
    env: { ...process.env, PATH },
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (error !== undefined) console.error(`${script}: ${error.message}`);
  return status ?? 1;
}

const isRequired = process.argv.includes("--require-all");
for (const script of globSync("clients/*/scripts/generate", { cwd: root }).sort()) {
  report(script, run(join(root, script)));
}
const HOT_CODEC = "scripts/hot-codec.ts";
report(HOT_CODEC, run("node", HOT_CODEC));

function report(script: string, status: number): void {
  const became = status === 0 ? "done" : status === NOT_HERE && !isRequired ? "not generated" : "FAILED";
  console.error(`${script}: ${became}`);
  if (became === "FAILED") process.exitCode = 1;
}
