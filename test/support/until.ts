// Waiting for what no event tells.

/** Asks until the answer is yes; the tests' time-out ends it. */
export async function until(ask: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await ask())) await new Promise((resolve) => setTimeout(resolve, 5));
}
