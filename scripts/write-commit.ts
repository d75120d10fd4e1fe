// Records the commit in a build: the one of COMMIT if the sources came without git, as for an image, otherwise the
// one of this checkout. If neither is known, the build has only its version.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { COMMIT_FILE, commitIn, commitOf } from "../server/config/version.ts";

const root = join(import.meta.dirname, "..");
const given = process.env.COMMIT ?? "";
const commit = given === "" ? commitOf(root) : commitIn(given);
if (given !== "" && commit === null)
  throw new Error(`COMMIT is no whole id of a commit: ${JSON.stringify(given)}`);
if (commit !== null) writeFileSync(join(root, "dist", COMMIT_FILE), `${commit}\n`);
