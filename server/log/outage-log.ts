// An outage of the database, as lines of the log: one when it begins, one now and then while it lasts, one when it is
// over. Loops, calls and the probe of health tell here what has failed. What fails although the database answers is left
// to them.

import type { Logger } from "./log.ts";

/** How often an outage is told again while it lasts. */
const STILL_EVERY_MS = 10_000;

/** The database answers: others were in the way, or this server wanted more than there is room for. */
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

/** Who failed. */
type Where = { readonly loop: string } | { readonly method: string };

interface Outage {
  readonly sinceMs: number;
  toldMs: number;
  callsFailed: number;
  /** When the probe worked, and nothing has failed since. */
  workedMs: number | null;
}

interface Trouble {
  readonly reason: string;
  /** In one sentence. */
  readonly cause: string;
  readonly isOutage: boolean;
}

export class OutageLog {
  readonly #log: Logger;
  #outage: Outage | null = null;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Answers whether it is part of an outage, and so needs no further word. */
  failed(where: Where, error: unknown): boolean {
    const trouble = troubleOf(error);
    if (!trouble || !(trouble.isOutage || this.#outage)) return false;
    this.#note(where, trouble, error);
    return true;
  }

  /** Whatever the reason: what cannot be written cannot be used. */
  probeFailed(error: unknown): void {
    const trouble = troubleOf(error) ?? { reason: "unexpected", cause: String(error), isOutage: true };
    this.#note({ loop: "health" }, trouble, error);
  }

  /**
   * The outage is over when nothing has failed from one probe that worked to the next: on a full disk there may be room
   * for what a probe writes, and for nothing else.
   */
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
      this.#outage = { sinceMs: nowMs, toldMs: nowMs, callsFailed: 0, workedMs: null };
      this.#log.warn({ reason }, `the database cannot be used: ${cause}`);
    }
    const outage = this.#outage;
    outage.workedMs = null;
    if ("method" in where) outage.callsFailed += 1;
    if (nowMs - outage.toldMs >= STILL_EVERY_MS) {
      outage.toldMs = nowMs;
      const { sinceMs, callsFailed } = outage;
      const forMs = Math.round(nowMs - sinceMs);
      this.#log.warn({ reason, forMs, callsFailed }, `the database still cannot be used: ${cause}`);
    }
    this.#log.debug({ ...where, err: error }, "failed while the database cannot be used");
  }
}

/** What an error of the store or of the engine says of the database; null for any other, and for a server that stops. */
function troubleOf(error: unknown): Trouble | null {
  if (!(error instanceof Error) || !("kind" in error) || !("reason" in error)) return null;
  const { kind, reason, cause } = error;
  if (typeof reason !== "string" || kind === "shutting_down") return null;
  // The engine's own words are for callers; what happened is in those of the store.
  const said = cause instanceof Error && "reason" in cause ? cause : error;
  return { reason, cause: said.message, isOutage: kind !== "overloaded" && !NO_OUTAGE.has(reason) };
}
