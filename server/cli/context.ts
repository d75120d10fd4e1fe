// What the commands need of the process that they run in. main.ts makes it of the real one, tests make their own.

export interface CliContext {
  readonly version: string;
  readonly nodeVersion: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly readFile: (path: string) => string;
  /** For people and for pipes: what was asked for. */
  readonly out: (text: string) => void;
  /** What went wrong, and the log. */
  readonly err: (text: string) => void;
  /** Resolves with the name of the first signal that asks the process to stop. From when it is first read, none ends it. */
  readonly stopSignal: Promise<string>;
}

/** Exit codes, the same for all commands. */
export const EXIT = {
  ok: 0,
  /** It could not be done, or, for a check, something is wrong. */
  failed: 1,
  /** A check could not be made. */
  unchecked: 2,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];
