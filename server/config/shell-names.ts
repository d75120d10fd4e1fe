// Names in the environment that are the shell's: where its servers are, and what a command under a lock finds. Settings of a
// server have other names. Loads nothing: commands that have to start fast use it, too.

/** Where the servers are, and how to know them; each beside the flag of its name. */
export const WHERE = {
  addr: "ROWLOCK_ADDR",
  server: "ROWLOCK_SERVER",
  ca: "ROWLOCK_CA",
  cert: "ROWLOCK_CERT",
  key: "ROWLOCK_KEY",
  serverName: "ROWLOCK_SERVER_NAME",
} as const;

/** The lock that a command runs under. */
export const UNDER_LOCK = { name: "ROWLOCK_NAME", token: "ROWLOCK_TOKEN", lease: "ROWLOCK_LEASE" } as const;

export const SHELL_NAMES: readonly string[] = [...Object.values(WHERE), ...Object.values(UNDER_LOCK)];
