// Generates all code from proto/: the server's, and then each client's by the client's own script. If this machine
// lacks a client's toolchain, the client is named and its committed code stays as it is; with --require-all that is a
// failure.

import { spawnSync } from "node:child_process";
import { globSync } from "node:fs";
import { delimiter, join } from "node:path";

/** Exit code of a client's script whose toolchain is missing. */
const NOT_HERE = 3;
const root = join(import.meta.dirname, "..");
const PATH = `${join(root, "node_modules", ".bin")}${delimiter}${process.env.PATH}`;

function run(command: string, ...args: string[]): number {
  const { status, error } = spawnSync(command, args, {
    cwd: root,
    env: { ...process.env, PATH },
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (error !== undefined) console.error(`${command}: ${error.message}`);
  return status ?? 1;
}

const makers: readonly [what: string, make: () => number][] = [
  ["proto/gen", () => run("buf", "generate")],
  ...globSync("clients/*/scripts/generate", { cwd: root })
    .sort()
    .map((script): [string, () => number] => [script, () => run(join(root, script))]),
];
const isRequired = process.argv.includes("--require-all");
for (const [what, make] of makers) {
  const status = make();
  const became = status === 0 ? "done" : status === NOT_HERE && !isRequired ? "not generated" : "FAILED";
  console.error(`${what}: ${became}`);
  if (became === "FAILED") process.exitCode = 1;
}
