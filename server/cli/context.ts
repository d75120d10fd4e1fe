// What the commands need of the process that they run in. main.ts makes it of the real one, tests make their own.

export interface CliContext {
  readonly version: string;
  readonly nodeVersion: string;
  /** Bytes that this process may have, by its machine or its container; more than any machine has: no bound. */
  readonly memoryMax: number;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly readFile: (path: string) => string;
  /** For people and for pipes: what was asked for. */
  readonly out: (text: string) => void;
  /** What went wrong, and the log. */
  readonly err: (text: string) => void;
  /**
   * Resolves with the name of the first signal that asks the process to stop. From when it is first read, none ends it. SIGHUP
   * asks for that only where the terminal is gone.
   */
  readonly stopSignal: Promise<string>;
  /** Whether this process was started at a terminal that has been closed. */
  readonly isTerminalGone: () => boolean;
  /** Whether a person sees what goes wrong as it is written. */
  readonly errIsTerminal: boolean;
  /** The size of the terminal that what was asked for is written to, as it is now; undefined where it goes elsewhere. */
  readonly screen: { readonly columns: number; readonly rows: number } | undefined;
  /** Aborted when nobody reads any more what was asked for. */
  readonly outGone: AbortSignal;
  /** Calls the listener with each such signal, which then does nothing else; until what is returned is called. */
  readonly onSignal: (signal: NodeJS.Signals, listener: () => void) => () => void;
  /** Sends a signal to a process, to a group (negative), or to this process (0). Whether there was one. */
  readonly kill: (pid: number, signal: NodeJS.Signals) => boolean;
}

/** Exit codes, the same for all commands. */
export const EXIT = {
  ok: 0,
  /** It could not be done, or, for a check, something is wrong. */
  failed: 1,
  /** A check could not be made. */
  unchecked: 2,
  /** `rowlock run` and `rowlock capture`, whose other codes are those of its command: the command line is wrong. */
  usage: 64,
  /** No server has answered. */
  noServer: 69,
  /** The lock was not acquired. */
  notAcquired: 75,
  /** The lock was lost while the command ran. */
  lost: 76,
  /** As shells have it: the command cannot be executed; there is none of this name. */
  notExecutable: 126,
  noCommand: 127,
} as const;

/** One of these, or that of a command which was run. */
export type ExitCode = number;
