// Promises the present proto/: from the next commit on, `npm run check` refuses changes that would break its clients.
// Run it when a version is released. It also refuses to take back an earlier promise.

import { spawnSync } from "node:child_process";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const buf = (...args: string[]) =>
  spawnSync(join(root, "node_modules/.bin/buf"), args, { cwd: root, stdio: "inherit" }).status === 0;

const PROMISED = "proto/promised.binpb";
const kept = buf("breaking", "--against", PROMISED);
if (!kept || !buf("build", "--exclude-source-info", "--output", PROMISED)) process.exitCode = 1;
