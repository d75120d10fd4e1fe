// A disk of a few megabytes that a test can fill and free. It is a mounted memory file system, which needs root and
// Linux; elsewhere the tests that want one are skipped and say so.

import { execFileSync, spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { postGuardian } from "../support/mysql-family/guardian.ts";

const MIB = 1_048_576;
/** Large pieces first, because they are quick; then what is left. */
const PIECES = [MIB, 4_096, 1];

export interface SmallDisk {
  readonly directory: string;
  /** Takes all remaining space. May be called again. */
  fill(): void;
  /** Frees what `fill` took. May be called again. */
  makeRoom(): void;
  /** From now on nothing can be written. Nobody may have a file open for writing. */
  becomeReadOnly(): void;
  /** May be called twice. */
  remove(): void;
}

/** Whether a small disk can be mounted here; for `test.skipIf`. */
export const hasSmallDisks: boolean = (() => {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return false;
  const directory = mkdtempSync(join(tmpdir(), "rowlock-disk-"));
  const mounted = spawnSync("mount", mountArgs(1, directory), { stdio: "ignore" }).status === 0;
  if (mounted) spawnSync("umount", [directory], { stdio: "ignore" });
  rmSync(directory, { recursive: true, force: true });
  return mounted;
})();

/** For test titles: the reason why tests are skipped here. */
export const NEEDS_SMALL_DISK = hasSmallDisks ? "" : " (left out: a small disk needs root on Linux)";

export function mountSmallDisk(mebibytes: number): SmallDisk {
  const directory = mkdtempSync(join(tmpdir(), "rowlock-disk-"));
  const guardian = postGuardian(directory);
  execFileSync("mount", mountArgs(mebibytes, directory));
  const ballast = join(directory, "ballast");
  let mounted = true;
  return {
    directory,
    fill() {
      const file = openSync(ballast, "a");
      for (const bytes of PIECES) writeUntilFull(file, Buffer.alloc(bytes));
      closeSync(file);
    },
    makeRoom: () => rmSync(ballast, { force: true }),
    becomeReadOnly: () => void execFileSync("mount", ["-o", "remount,ro", directory]),
    remove() {
      if (!mounted) return;
      mounted = false;
      execFileSync("umount", ["-l", directory]);
      rmSync(directory, { recursive: true, force: true });
      guardian.dismiss();
    },
  };
}

function mountArgs(mebibytes: number, directory: string): string[] {
  return ["-t", "tmpfs", "-o", `size=${mebibytes}m`, "rowlock-test", directory];
}

function writeUntilFull(file: number, piece: Buffer): void {
  for (;;) {
    try {
      if (writeSync(file, piece) < piece.length) return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOSPC") return;
      throw error;
    }
  }
}
