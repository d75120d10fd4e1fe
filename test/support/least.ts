// Times that do not depend on what else the machine does: a wait that the code makes is in each run, a busy machine's is not.

/** The shortest of some runs, in milliseconds. */
export async function leastMs(runs: number, run: () => Promise<unknown>): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let count = 0; count < runs; count++) {
    const startedMs = performance.now();
    await run();
    least = Math.min(least, performance.now() - startedMs);
  }
  return least;
}
