// All code that is generated from proto/: that of the server, and then that of each client, by its own script. A client
// whose toolchain is not on this machine is named, and what is committed of it stays as it is; with --require-all that has
// failed.

import { spawnSync } from "node:child_process";
import { globSync } from "node:fs";
import { delimiter, join } from "node:path";

/** Said by a client's script where its toolchain is missing. */
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
