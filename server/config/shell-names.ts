// Names in the environment for the shell commands: where their servers are, and what a command under a lock finds. A
// server's settings have other names. Imports nothing: commands that must start fast use it, too.

/** Where the servers are, and how to verify them. Each has a flag of the same name. */
export const WHERE = {
  addr: "ROWLOCK_ADDR",
  server: "ROWLOCK_SERVER",
  ca: "ROWLOCK_CA",
  cert: "ROWLOCK_CERT",
  key: "ROWLOCK_KEY",
  serverName: "ROWLOCK_SERVER_NAME",
} as const;

/** Describe the lock that a command runs under. */
export const UNDER_LOCK = { name: "ROWLOCK_NAME", token: "ROWLOCK_TOKEN", lease: "ROWLOCK_LEASE" } as const;

export const SHELL_NAMES: readonly string[] = [...Object.values(WHERE), ...Object.values(UNDER_LOCK)];
