// Waits for conditions that no event reports.

/** Slightly less than the time-out of a test, so that a wait that hangs fails where it stands. */
export const HANGS_MS = 110_000;

/** Polls until the answer is true. */
export async function until(ask: () => Promise<boolean> | boolean): Promise<void> {
  const endMs = performance.now() + HANGS_MS;
  while (!(await ask())) {
    if (performance.now() > endMs) throw new Error("What this test waits for does not happen.");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
