// Processes of the suite that must not outlive its runner, however that ends short of SIGKILL: also where they are frozen.

const kills = new Set<() => void>();

process.on("exit", () => {
  for (const kill of kills) kill();
});

/** Until what it answers is called, `kill` is called when the runner ends. It must not wait for anything. */
export function endWithRunner(kill: () => void): () => void {
  kills.add(kill);
  return () => void kills.delete(kill);
}

/** So that a signal ends the runner by way of its `exit`. */
export function exitOnSignals(): void {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => process.exit(1));
}
