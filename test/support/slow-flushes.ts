// A library for LD_PRELOAD that slows the flushes of a process to its disk, and is steered by a file.

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface SlowFlushes {
  /** null if there is no compiler. */
  readonly library: string | null;
  readonly env: Readonly<Record<string, string>>;
  /** 0: at full speed. */
  set(ms: number): void;
  remove(): void;
}

export function slowFlushes(): SlowFlushes {
  const folder = mkdtempSync(join(tmpdir(), "rowlock-fsync-"));
  const library = join(folder, "slow-fsync.so");
  const source = join(import.meta.dirname, "slow-fsync.c");
  const made = spawnSync("cc", ["-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"]);
  const file = join(folder, "ms");
  const isMade = made.status === 0;
  return {
    library: isMade ? library : null,
    env: isMade ? { LD_PRELOAD: library, SLOW_FSYNC: file } : {},
    set: (ms) => writeFileSync(file, String(ms)),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
