// Leaves in a build of which commit it is: that of COMMIT, where the sources came without their git, as an image's do, or that
// of this checkout. Where neither is known the build has no more than its version.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { COMMIT_FILE, commitIn, commitOf } from "../server/config/version.ts";

const root = join(import.meta.dirname, "..");
const given = process.env.COMMIT ?? "";
const commit = given === "" ? commitOf(root) : commitIn(given);
if (given !== "" && commit === null)
  throw new Error(`COMMIT is no whole id of a commit: ${JSON.stringify(given)}`);
if (commit !== null) writeFileSync(join(root, "dist", COMMIT_FILE), `${commit}\n`);
