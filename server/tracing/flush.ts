// The end of what is sent to a collector: a server that stops does not wait long for it.

/** Less than a server takes at most to stop after its calls. */
const FLUSH_MS = 500;

/** Resolves when `stop` has sent the rest, or has failed, or after FLUSH_MS. Never rejects: the exporters log what is lost. */
export async function flushed(stop: () => Promise<void>): Promise<void> {
  const over = Promise.withResolvers<void>();
  const timer = setTimeout(over.resolve, FLUSH_MS);
  stop().then(over.resolve, over.resolve);
  await over.promise;
  clearTimeout(timer);
}
