// Closes clients when the process is asked to end, so that what they hold is free at once instead of after its ttl.
// Nothing can be done for `process.exit()` and crashes, as a release takes a round trip.

const SIGNALS = ["SIGTERM", "SIGINT"] as const;

const open = new Set<() => Promise<void>>();

/** Calls `close` at SIGTERM and SIGINT, until the returned function is called. */
export function closeOnSignal(close: () => Promise<void>): () => void {
  if (open.size === 0) for (const signal of SIGNALS) process.prependListener(signal, closeAll);
  open.add(close);
  return () => {
    if (open.delete(close) && open.size === 0) for (const signal of SIGNALS) process.off(signal, closeAll);
  };
}

/** Ends the process by the signal, unless the program itself listens for it and so decides. */
async function closeAll(signal: NodeJS.Signals): Promise<void> {
  // This listener runs first, so that those that listen once are still there.
  const isHeard = process.listenerCount(signal) > 1;
  await Promise.all([...open].map((close) => close()));
  if (!isHeard) process.kill(process.pid, signal);
}
