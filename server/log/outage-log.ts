// Logs an outage of the database: one line when it begins, one now and then while it lasts, one when it is over.
// Loops, calls and the health probe report their failures here. Failures while the database answers are left to them.

import type { Logger } from "./log.ts";

const STILL_EVERY_MS = 10_000;

/** The database answers, but others were in the way, or this server wanted more than there is room for. */
const NO_OUTAGE: ReadonlySet<string> = new Set([
  "changed",
  "closed",
  "deadlock",
  "duplicate_request",
  "lock_row_vanishes",
  "lock_wait_timeout",
  "pool_exhausted",
  "row_changed",
  "unexpected",
]);

type Where = { readonly loop: string } | { readonly method: string };

interface Outage {
  readonly sinceMs: number;
  loggedMs: number;
  callsFailed: number;
  /** When the probe worked, if nothing has failed since; otherwise null. */
  workedMs: number | null;
}

interface Trouble {
  readonly reason: string;
  readonly cause: string;
  readonly isOutage: boolean;
}

export class OutageLog {
  readonly #log: Logger;
  #outage: Outage | null = null;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Returns whether the failure is part of an outage, so that the caller need not log it. */
  failed(where: Where, error: unknown): boolean {
    const trouble = troubleOf(error);
    if (!trouble || !(trouble.isOutage || this.#outage)) return false;
    this.#note(where, trouble, error);
    return true;
  }

  /** Counts as an outage whatever the reason: a database that cannot be written cannot be used. */
  probeFailed(error: unknown): void {
    const trouble = troubleOf(error) ?? { reason: "unexpected", cause: String(error), isOutage: true };
    this.#note({ loop: "health" }, trouble, error);
  }

  /** Over if nothing fails between two probes that work: a full disk may have room for what a probe writes alone. */
  probeWorked(): void {
    const outage = this.#outage;
    if (!outage) return;
    if (outage.workedMs === null) {
      outage.workedMs = performance.now();
      return;
    }
    this.#outage = null;
    const { sinceMs, workedMs, callsFailed } = outage;
    this.#log.info({ forMs: Math.round(workedMs - sinceMs), callsFailed }, "the database can be used again");
  }

  #note(where: Where, { reason, cause }: Trouble, error: unknown): void {
    const nowMs = performance.now();
    if (!this.#outage) {
      this.#outage = { sinceMs: nowMs, loggedMs: nowMs, callsFailed: 0, workedMs: null };
      this.#log.warn({ reason }, `the database cannot be used: ${cause}`);
    }
    const outage = this.#outage;
    outage.workedMs = null;
    if ("method" in where) outage.callsFailed += 1;
    if (nowMs - outage.loggedMs >= STILL_EVERY_MS) {
      outage.loggedMs = nowMs;
      const { sinceMs, callsFailed } = outage;
      const forMs = Math.round(nowMs - sinceMs);
      this.#log.warn({ reason, forMs, callsFailed }, `the database still cannot be used: ${cause}`);
    }
    this.#log.debug({ ...where, err: error }, "failed while the database cannot be used");
  }
}

/** null: it says nothing about the database, or the server stops. */
function troubleOf(error: unknown): Trouble | null {
  if (!(error instanceof Error) || !("kind" in error) || !("reason" in error)) return null;
  const { kind, reason, cause } = error;
  if (typeof reason !== "string" || kind === "shutting_down") return null;
  // The engine's message is for callers; the store's says what happened.
  const said = cause instanceof Error && "reason" in cause ? cause : error;
  return { reason, cause: said.message, isOutage: kind !== "overloaded" && !NO_OUTAGE.has(reason) };
}
