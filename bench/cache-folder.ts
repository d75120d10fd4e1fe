// A new folder for what a run writes. Not in the temporary folder, which may be in memory.

import { mkdirSync, mkdtempSync } from "node:fs";
import { join } from "node:path";

const PARENT = join(import.meta.dirname, "../node_modules/.cache");

/** Whoever makes it removes it. */
export function makeCacheFolder(prefix: string): string {
  mkdirSync(PARENT, { recursive: true });
  return mkdtempSync(join(PARENT, prefix));
}
