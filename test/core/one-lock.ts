// One lock for table tests: issues commands, lets time pass, and shows the resulting claims. A thin layer over rows in
// memory; its defaults let a test name only what it is about.

import { expect } from "vitest";
import { type Claim, SPENDS } from "../../server/core/claim.ts";
import type { Acquire, Command, Event, Outcome } from "../../server/core/command.ts";
import type { Clock } from "../../server/core/database-clock.ts";
import { type FailOver, type Lock, NO_FAIL_OVER } from "../../server/core/lock.ts";
import type { NotedChange } from "../../server/core/noted-change.ts";
import type { Rate } from "../../server/core/rate.ts";
import { RowsInMemory } from "./rows-in-memory.ts";

export const SECOND_US = 1_000_000;
export const GRACE_US = 10 * SECOND_US;
export const ATTACHED_FOR_US = 15 * SECOND_US;
export const RETENTION_US = 600 * SECOND_US;
/** Two replicas. */
export const HERE = 1n;
export const THERE = 2n;

export const NAME = "etl/load";

export class OneLock {
  readonly rows: RowsInMemory;
  nowUs = 1_000_000 * SECOND_US;
  /** When the replica reconnected to the database; null: it was never away. */
  backAtUs: number | null = null;
  failOver: FailOver = NO_FAIL_OVER;
  /** The events reported by the last transaction. */
  events: readonly Event[] = [];
  /** The changes noted by the last transaction. */
  noted: readonly NotedChange[] = [];
  #made = 0;

  constructor(setting: { limit?: number } = {}) {
    this.rows = new RowsInMemory({
      graceUs: GRACE_US,
      attachedForUs: ATTACHED_FOR_US,
      keptForUs: () => RETENTION_US,
      queueMax: 1_000,
    });
    this.rows.addLock(NAME);
    if (setting.limit !== undefined) this.setLimit(setting.limit);
  }

  /** Lets time pass without looking at the lock. */
  pass(us: number): this {
    this.nowUs += us;
    return this;
  }

  /** The database's clock is set back, and nobody looks at the lock. */
  setBack(us: number): this {
    this.nowUs -= us;
    return this;
  }

  get clock(): Clock {
    const { nowUs, backAtUs } = this;
    return { nowUs, atLeastUs: nowUs, jumpedAtUs: null, skippedUs: 0, backAtUs };
  }

  /** Runs one transaction with these commands. */
  transact(...commands: Command[]): Outcome[] {
    return this.transactLate(commands, 0);
  }

  /** Runs one transaction with commands that arrived `agoUs` ago. */
  transactLate(commands: readonly Command[], agoUs: number): Outcome[] {
    const look = { clock: this.clock, failOver: this.failOver, heads: 256 };
    const { outcomes, events, noted } = this.rows.transact(NAME, commands, look, agoUs / 1_000);
    this.events = events;
    this.noted = noted;
    return [...outcomes];
  }

  do(command: Command): Outcome {
    return this.transact(command)[0] as Outcome;
  }

  /** An Acquire of one permit that may wait, with a stream on this replica, unless `options` say otherwise. */
  asks(options: Partial<Acquire> = {}): Acquire {
    this.#made += 1;
    return {
      verb: "acquire",
      name: NAME,
      mode: "permit",
      permits: 1,
      ttlUs: 30 * SECOND_US,
      requestId: `request-${this.#made}`,
      secret: `secret-${this.#made}`.padEnd(22, "-"),
      owner: "",
      labels: {},
      mayWait: true,
      maxWaitUs: null,
      replica: HERE,
      ...options,
    };
  }

  acquire(options: Partial<Acquire> = {}): Outcome {
    return this.do(this.asks(options));
  }

  /** An Acquire that is granted immediately. */
  lease(options: Partial<Acquire> = {}): Claim {
    return claimOf(this.acquire(options), "held");
  }

  /** An Acquire that has to wait. */
  ticket(options: Partial<Acquire> = {}): Claim {
    return claimOf(this.acquire(options), "waiting");
  }

  attach(claim: Claim, replica: bigint | null = HERE): Outcome {
    return this.do({ verb: "attach", ref: claim, replica });
  }

  renew(claim: Claim, ttlUs?: number): Outcome {
    return this.do({ verb: "renew", ref: claim, ttlUs });
  }

  release(claim: Claim, repeated = false): Outcome {
    return this.do({ verb: "release", ref: claim, repeated });
  }

  setLimit(limit: number | null): Outcome {
    return this.do({ verb: "set_limit", name: NAME, limit, expectedVersion: undefined, reason: "a test" });
  }

  setRate(rate: Rate | null): Outcome {
    return this.do({ verb: "set_limit", name: NAME, rate, expectedVersion: undefined, reason: "a test" });
  }

  /** An Acquire that only takes of the rate. */
  spend(options: Partial<Acquire> = {}): Outcome {
    return this.acquire({ ttlUs: SPENDS, ...options });
  }

  /** Ends one claim, or all holders if null. */
  forceRelease(claim: Claim | null, reason = "stuck"): Outcome {
    const ticketNumber = claim?.ticketNumber ?? null;
    return this.do({ verb: "force_release", name: NAME, ticketNumber, reason });
  }

  /** Looks at the lock, and at these claims of it, and does nothing else. */
  advance(...claims: Claim[]): this {
    this.transact({ verb: "advance", claims });
    return this;
  }

  /** The claim's stored row. */
  now(claim: Claim): Claim {
    const row = this.rows.claim(claim);
    if (!row) throw new Error(`claim ${claim.ticketNumber} is gone`);
    return row;
  }

  /** The state of each claim, in the order given: "held", "waiting", or how it ended. */
  states(...claims: Claim[]): string[] {
    return claims.map((claim) => {
      const row = this.now(claim);
      return row.endReason ?? row.state;
    });
  }

  get lock(): Lock {
    return this.rows.lock(NAME);
  }
}

/** The claim of an outcome that must be of this kind. */
export function claimOf(outcome: Outcome, kind: "held" | "waiting" | "ended"): Claim {
  expect(outcome.kind).toBe(kind);
  return (outcome as Extract<Outcome, { kind: "held" }>).claim;
}
