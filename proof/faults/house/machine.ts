// The machine that a database is on, of which a fault can fill the disk, set the clock and slow the flushes. What cannot be
// had here is left out, and `missing` says why.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hasSmallDisks, mountSmallDisk, type SmallDisk } from "../../../test/process/small-disk.ts";
import { type SlowFlushes, slowFlushes } from "../../../test/support/slow-flushes.ts";
import { hasWrongClocks, type WrongClock, wrongClock } from "../../../test/support/wrong-clock.ts";

/** For the files of a database and what a run writes. */
const DISK_MIB = 700;
/**
 * Much shorter than a clock is wrong. A process that looked with each reading would do little else where it reads the
 * clock as often as MySQL does.
 */
export const CLOCKS_LATE_S = 1;

export interface Machine {
  /** For the files of the database. */
  readonly folder: string;
  /** For the process that is the database, or has it in it. */
  readonly env: Readonly<Record<string, string>>;
  readonly disk: Pick<SmallDisk, "fill" | "makeRoom"> | null;
  readonly clock: Pick<WrongClock, "set"> | null;
  readonly flushes: Pick<SlowFlushes, "set"> | null;
  readonly missing: readonly string[];
}

export function openMachine(stops: AsyncDisposableStack): Machine {
  const files = mkdtempSync(join(tmpdir(), "rowlock-machine-"));
  stops.defer(() => rmSync(files, { recursive: true, force: true }));
  const disk = hasSmallDisks ? mountSmallDisk(DISK_MIB) : null;
  if (disk) stops.defer(() => disk.remove());
  const clock = hasWrongClocks ? wrongClock(join(files, "clock"), CLOCKS_LATE_S) : null;
  const flushes = slowFlushes();
  stops.defer(() => flushes.remove());
  const isSlowable = flushes.library !== null;
  return {
    folder: disk?.directory ?? files,
    env: preloaded([clock?.env ?? {}, flushes.env]),
    disk,
    clock,
    flushes: isSlowable ? flushes : null,
    missing: [
      ...(disk ? [] : ["a full disk: a small disk needs root on Linux"]),
      ...(clock ? [] : ["clocks that are set: libfaketime is not installed"]),
      ...(isSlowable ? [] : ["slow flushes: there is no compiler (cc)"]),
    ],
  };
}

/** One environment with all of these libraries. */
function preloaded(envs: readonly Readonly<Record<string, string>>[]): Record<string, string> {
  const libraries = envs.flatMap(({ LD_PRELOAD }) => LD_PRELOAD ?? []);
  const env = Object.assign({}, ...envs) as Record<string, string>;
  return libraries.length > 0 ? { ...env, LD_PRELOAD: libraries.join(":") } : env;
}
