// Builds dist/, which is all code of the package: the sources as JavaScript and types, and the generated code that they
// import as `#proto/*`. In the repository, gen/ is a link to proto/gen, which npm does not pack.

import { execFileSync } from "node:child_process";
import { cpSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** What the client uses of proto/gen. The rest is for servers. */
const USED = ["rowlock/v1", "google/rpc"];

const root = join(import.meta.dirname, "..");
// Built beside dist/ and then put in its place, so that another npm that packs it meanwhile finds all of it.
const dist = join(root, `dist-${process.pid}`);
execFileSync("tsc", ["-p", "tsconfig.json", "--outDir", dist], { cwd: root, stdio: "inherit" });
for (const folder of USED)
  cpSync(join(root, "gen", folder), join(dist, "gen", folder), { recursive: true, dereference: true });
// Node and TypeScript look for `#proto/*` in the nearest package.json.
writeFileSync(join(dist, "package.json"), '{ "type": "module", "imports": { "#proto/*": "./gen/*" } }\n');
rmSync(join(root, "dist"), { recursive: true, force: true });
renameSync(dist, join(root, "dist"));
