// Work that its caller may give up by a signal, from its beginning to its end.

/** Begins the work, unless it was given up before. Once given up, `abandon` is told why, and sees to it that the work rejects. */
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
