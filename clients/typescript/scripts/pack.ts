// Builds dist/, which is all code of the package: the sources as JavaScript and types, and the generated code that they
// import as `#proto/*`. In the repository, gen/ is a link to proto/gen, which npm does not pack.

import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** What the client uses of proto/gen. The rest is for servers. */
const USED = ["rowlock/v1", "google/rpc"];

const root = join(import.meta.dirname, "..");
// Built beside dist/, and then put there file by file: another npm that packs dist/ meanwhile finds each of them.
const dist = join(root, "dist");
const built = join(root, `dist-${process.pid}`);
execFileSync("tsc", ["-p", "tsconfig.json", "--outDir", built], { cwd: root, stdio: "inherit" });
for (const folder of USED)
  cpSync(join(root, "gen", folder), join(built, "gen", folder), { recursive: true, dereference: true });
// Node and TypeScript look for `#proto/*` in the nearest package.json.
writeFileSync(join(built, "package.json"), '{ "type": "module", "imports": { "#proto/*": "./gen/*" } }\n');

const files = filesIn(built);
for (const file of files) {
  mkdirSync(dirname(join(dist, file)), { recursive: true });
  renameSync(join(built, file), join(dist, file));
}
for (const file of filesIn(dist)) if (!files.includes(file)) rmSync(join(dist, file), { force: true });
rmSync(built, { recursive: true });

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
}
