// Runs work that its caller may cancel by a signal.

/**
 * Starts `work`, or rejects if `signal` is already aborted. On abort it calls `abandon` with the reason, which must
 * make `work` reject.
 */
export async function untilGivenUp<Outcome>(
  signal: AbortSignal | undefined,
  abandon: (why: unknown) => void,
  work: () => Promise<Outcome>,
): Promise<Outcome> {
  signal?.throwIfAborted();
  const giveUp = () => abandon(signal?.reason);
  signal?.addEventListener("abort", giveUp);
  try {
    return await work();
  } finally {
    signal?.removeEventListener("abort", giveUp);
  }
}
