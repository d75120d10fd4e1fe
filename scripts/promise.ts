// Promises what proto/ says now: from the next commit on, `npm run check` refuses what would break a client of it. To be run
// when a version is released; it refuses, too, to take back what was promised before.

import { spawnSync } from "node:child_process";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const buf = (...args: string[]) =>
  spawnSync(join(root, "node_modules/.bin/buf"), args, { cwd: root, stdio: "inherit" }).status === 0;

const PROMISED = "proto/promised.binpb";
const kept = buf("breaking", "--against", PROMISED);
if (!kept || !buf("build", "--exclude-source-info", "--output", PROMISED)) process.exitCode = 1;
