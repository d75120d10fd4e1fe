// Timings that do not depend on the machine's other load: a wait in the code shows up in every run, a busy machine's
// delay does not.

/** The duration of the shortest of `runs` runs, in milliseconds. */
export async function leastMs(runs: number, run: () => Promise<unknown>): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let count = 0; count < runs; count++) {
    const startedMs = performance.now();
    await run();
    least = Math.min(least, performance.now() - startedMs);
  }
  return least;
}
