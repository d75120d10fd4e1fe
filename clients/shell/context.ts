// What the commands need from their process, and what the shell and the server agree on: exit codes, names in the
// environment, units of durations. server/main.ts provides the real context, and tests provide their own. Imports
// nothing: commands that must start fast use it.

export interface CliContext {
  readonly version: string;
  readonly nodeVersion: string;
  /**
   * Bytes of memory that this process may use, by its machine or its container; more than any machine has: no bound.
   */
  readonly memoryMax: number;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly readFile: (path: string) => string;
  /** Writes what was asked for, for people and for pipes. */
  readonly out: (text: string) => void;
  /** Writes what went wrong, and the log. */
  readonly err: (text: string) => void;
  /**
   * Resolves with the name of the first signal that asks the process to stop. Once a command has read this property,
   * that signal no longer ends the process; a second one, at least a second later, does.
   */
  readonly stopSignal: Promise<string>;
  /** Resolves when standard input has ended. Reads it from then on that a command reads this property, and drops it. */
  readonly inEnded: Promise<string>;
  /** Whether `out` and `err` write to one file or pipe, where words for people and a log for programs would mix. */
  readonly outIsErr: boolean;
  /** Whether `err` writes to a terminal. */
  readonly errIsTerminal: boolean;
  /** The present size of the terminal that `out` writes to; undefined: `out` writes elsewhere. */
  readonly screen: { readonly columns: number; readonly rows: number } | undefined;
  /**
   * Calls the listener with keys that are pressed on the terminal of standard input, and with Ctrl-C as one of them, until
   * the returned function is called; undefined: there is no such terminal.
   */
  readonly onKeys: (listener: (keys: string) => void) => (() => void) | undefined;
  /** Aborted when nobody reads what `out` writes any more. */
  readonly outGone: AbortSignal;
  /** The signals that the caller of this process ignored, as nohup does: they stay ignored, here and in commands. */
  readonly ignoredSignals: readonly string[];
  /** The variables of the environment that are not valid UTF-8, which `env` cannot hold: commands get these bytes. */
  readonly bytesOfVariables: ReadonlyMap<string, Uint8Array>;
  /**
   * Calls the listener for each such signal, which then has no other effect, until the returned function is called. Does
   * nothing if the signal is ignored, unless it says something else to this process than to end.
   */
  readonly onSignal: (signal: NodeJS.Signals, listener: () => void, evenIfIgnored?: boolean) => () => void;
  /** Sends a signal to a process, to a group (negative), or to this process (0). Returns whether there was one. */
  readonly kill: (pid: number, signal: NodeJS.Signals) => boolean;
}

/** Exit codes, the same for all commands. */
export const EXIT = {
  ok: 0,
  /** The command failed, or, for a check, something is wrong. */
  failed: 1,
  /** The check could not be made. */
  unchecked: 2,
  /** The command line is wrong. */
  usage: 64,
  /** No server answered. */
  noServer: 69,
  /** The lock was not acquired. */
  notAcquired: 75,
  /** The lock was lost while the command ran. */
  lost: 76,
  /** The server does not know who asks, or its policy does not allow what was asked. */
  denied: 77,
  /** As in shells: the command cannot be executed, or there is no command of this name. */
  notExecutable: 126,
  noCommand: 127,
} as const;

/** One of EXIT, or the exit code of a command that was run. */
export type ExitCode = number;

/** Where the servers are, how to verify them, and who asks. Each has a flag of the same name. */
export const WHERE = {
  addr: "ROWLOCK_ADDR",
  server: "ROWLOCK_SERVER",
  ca: "ROWLOCK_CA",
  cert: "ROWLOCK_CERT",
  key: "ROWLOCK_KEY",
  serverName: "ROWLOCK_SERVER_NAME",
  tokenFile: "ROWLOCK_TOKEN_FILE",
} as const;

/** Describe the lock that a command runs under; of several, the first, and the tokens of all. */
export const UNDER_LOCK = {
  name: "ROWLOCK_NAME",
  token: "ROWLOCK_TOKEN",
  tokens: "ROWLOCK_TOKENS",
  lease: "ROWLOCK_LEASE",
} as const;

/** Where programs without a client find the server, such as examples/ci/with-lock.sh. The shell itself does not read them. */
const OVER_HTTP = ["ROWLOCK_HTTP", "ROWLOCK_HTTP_TOKEN"];

/** What may stand in the environment of a server, and is none of its settings. */
export const SHELL_NAMES: readonly string[] = [
  ...Object.values(WHERE),
  ...Object.values(UNDER_LOCK),
  ...OVER_HTTP,
];

/** The units in which people write durations, in milliseconds. */
export const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
