// The clock of all histories: CLOCK_MONOTONIC, which the processes of one machine share.

/** Milliseconds. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000;
}
