// Sets up the log: one line of JSON for each event that an operator would look for. Secrets are struck out of the
// finished line, so that none gets through in an unforeseen field or error.

import { type Logger as Log, pino } from "pino";
import type { Span } from "../core/span.ts";
import { escapeObeyed, strikeSecrets } from "./lines.ts";

export type { Logger as Log } from "pino";

type Level = "debug" | "info" | "warn" | "error";
/** The methods that most callers use, so that tests can replace them easily. */
export type Logger = Readonly<Record<Level, (fields: object, message: string) => void>>;

export interface LogOptions {
  readonly level: string;
  readonly write: (line: string) => void;
}

export function createLog(options: LogOptions): Log {
  const { level, write } = options;
  return pino(
    {
      level,
      // Whoever runs the server knows the host and the process; both are noise in a container.
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: (line: string) => write(escapeObeyed(strikeSecrets(line))) },
  );
}

/** Limits how often the same thing is logged: once in an interval instead of a thousand times a second. */
export class Seldom {
  readonly #intervalMs: number;
  readonly #muted = new Map<string, { readonly untilMs: number; suppressed: number }>();

  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs;
  }

  /** Call it when `what` has happened. Returns how often it was suppressed before; null: it is again. */
  suppressed(what: string): number | null {
    const nowMs = performance.now();
    const muted = this.#muted.get(what);
    if (muted && nowMs < muted.untilMs) {
      muted.suppressed += 1;
      return null;
    }
    this.#muted.set(what, { untilMs: nowMs + this.#intervalMs, suppressed: 0 });
    return muted?.suppressed ?? 0;
  }
}

export function traceIds(span: Span | undefined) {
  return span && { trace_id: span.traceId, span_id: span.spanId };
}
