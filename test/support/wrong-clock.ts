// The wall clock of a process, set wrong while it runs. Needs libfaketime (the Debian package). The monotonic clock stays
// right. For a process that reads its clock through the C library: Go does not.

import { globSync, renameSync, writeFileSync } from "node:fs";

const [LIBRARY] = globSync("/usr/lib/*/faketime/libfaketimeMT.so.1");

export const hasWrongClocks = LIBRARY !== undefined;

export interface WrongClock {
  /** For the process; nothing if the library is not here. */
  readonly env: Readonly<Record<string, string>>;
  /** Makes the clock wrong by this many seconds. */
  set(seconds: number): void;
}

/**
 * @param file says how wrong it is.
 * @param lateS the process reads it so often, in seconds; 0: with each reading of the clock, which takes some microseconds.
 */
export function wrongClock(file: string, lateS = 0): WrongClock {
  const set = (seconds: number) => {
    writeFileSync(`${file}.new`, `${seconds < 0 ? "" : "+"}${seconds}`);
    renameSync(`${file}.new`, file);
  };
  set(0);
  const env = {
    LD_PRELOAD: String(LIBRARY),
    FAKETIME_TIMESTAMP_FILE: file,
    ...(lateS === 0 ? { FAKETIME_NO_CACHE: "1" } : { FAKETIME_CACHE_DURATION: String(lateS) }),
    FAKETIME_DONT_FAKE_MONOTONIC: "1",
    // Otherwise each wait by the monotonic clock would end at once.
    FAKETIME_FORCE_MONOTONIC_FIX: "0",
  };
  return { env: hasWrongClocks ? env : {}, set };
}
