// Ends processes of the suite, even frozen ones, when the runner ends in any way except SIGKILL.

const kills = new Set<() => void>();

process.on("exit", () => {
  for (const kill of kills) kill();
});

/**
 * Calls `kill` when the runner ends, unless the returned function was called before. `kill` must not wait for
 * anything.
 */
export function endWithRunner(kill: () => void): () => void {
  kills.add(kill);
  return () => void kills.delete(kill);
}

/** Makes signals end the runner through its `exit` event. */
export function exitOnSignals(): void {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => process.exit(1));
}
