// Sets the log up: one line of JSON for each event that an operator would look for. Secrets are struck out of the
// finished line, so that none gets through by a field or an error that nobody thought of.

import type { Logger as Log } from "pino";
import { pino } from "pino";

/** The log of a process. */
export type { Logger as Log } from "pino";

/** The part of it that most use, so that it is easy to stand in for. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface LogOptions {
  readonly level: string;
  /** Takes one finished line. */
  readonly write: (line: string) => void;
}

export function createLog(options: LogOptions): Log {
  const { level, write } = options;
  return pino(
    {
      level,
      // Who runs it knows the host and the process; both are noise in a container.
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: (line: string) => write(strikeSecrets(line)) },
  );
}

const STRUCK = "***";
/** The password in a URL of any kind; up to the last @, as passwords with an @ in them are pasted, too. */
const URL_PASSWORD = /([A-Za-z][A-Za-z0-9+.-]*:\/\/[^\s:@/"\\]*):[^\s"\\]*@/g;
/** A ticket or lease id: whoever knows it can renew and release. The lock and the ticket number may be shown. */
const CLAIM_ID = /\b([0-9a-z]{1,13}\.[0-9a-z]{1,13})\.[A-Za-z0-9_-]{22}(?![A-Za-z0-9_-])/g;
/** Fields of claims, calls and connections. A request id leads to its lease, so it is a secret, too. */
const SECRET_FIELD =
  /"(secret|password|authorization|(?:lease|ticket|request)_?[iI]d)":(?:"(?:[^"\\]|\\.)*"|[^,}\]"]+)/g;

/** A line without passwords, ticket and lease ids, request ids and whatever else proves a right. */
function strikeSecrets(line: string): string {
  return line
    .replace(SECRET_FIELD, `"$1":"${STRUCK}"`)
    .replace(URL_PASSWORD, `$1:${STRUCK}@`)
    .replace(CLAIM_ID, `$1.${STRUCK}`);
}
