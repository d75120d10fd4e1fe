// Builds dist/, which is all code of the package: the sources as JavaScript and types, and the generated code that they
// import as `#proto/*`. In the repository, gen/ is a link to proto/gen, which npm does not pack.

import { execFileSync } from "node:child_process";
import { cpSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** What the client uses of proto/gen. The rest is for servers. */
const USED = ["rowlock/v1", "google/rpc"];

const root = join(import.meta.dirname, "..");
const dist = join(root, "dist");
rmSync(dist, { recursive: true, force: true });
execFileSync("tsc", ["-p", "tsconfig.json"], { cwd: root, stdio: "inherit" });
for (const folder of USED)
  cpSync(join(root, "gen", folder), join(dist, "gen", folder), { recursive: true, dereference: true });
// Node and TypeScript look for `#proto/*` in the nearest package.json.
writeFileSync(join(dist, "package.json"), '{ "type": "module", "imports": { "#proto/*": "./gen/*" } }\n');
