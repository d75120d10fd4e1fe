// Waits for conditions that no event reports.

/** Polls until the answer is true; only the test's time-out ends the wait. */
export async function until(ask: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await ask())) await new Promise((resolve) => setTimeout(resolve, 5));
}
