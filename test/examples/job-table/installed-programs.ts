// The programs of examples/coming-from/job-table as their readers have them, with the packages installed.

import { cpSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { installClient } from "../../support/npm-packages.ts";

const HOUSE = join(import.meta.dirname, "../../..");

/** Returns the folder, which is `job-table` in `into`. */
export function installedPrograms(into: string): string {
  const folder = join(into, "job-table");
  const source = join(HOUSE, "examples/coming-from/job-table");
  cpSync(source, folder, { recursive: true, filter: (path) => !path.includes("node_modules") });
  installClient(folder);
  symlinkSync(join(HOUSE, "node_modules/mysql2"), join(folder, "node_modules/mysql2"));
  return folder;
}
