// Whether the database lets this replica decide. The decisions of the last seconds show it, at next to no cost: kept are
// a few times and one error. A probe proves it by decisions of its own: two requests for a lock of the replica's own, and
// their release. They take the way of every command, so they fail where clients' commands fail. One request waits behind
// the other, because a transaction that leaves a waiter also needs the row of rowlock_meta.

import type { Release } from "../../core/command.ts";
import { probeName } from "../../core/lock.ts";
import type { AcquireInput, AnswerTo } from "../answers.ts";
import { PROBE_TTL_US, RECENT_DECISIONS_MS } from "../engine-bounds.ts";
import { Fault, isHeldUp } from "../faults.ts";
import type { AsksByLock } from "../transaction/transaction.ts";

/** The engine, as the probe uses it. */
interface Probed {
  acquire(input: AcquireInput, follower: null): Promise<AnswerTo<"acquire">>;
  ask(release: Release): Promise<unknown>;
}

export class Health {
  readonly #probe: AcquireInput;
  /** The id of the probe's lock; null before the first probe. */
  #probedLock: bigint | null = null;
  #committedMs = Number.NEGATIVE_INFINITY;
  #failedMs = Number.NEGATIVE_INFINITY;
  #failure: Fault | null = null;
  #suspectedMs = Number.NEGATIVE_INFINITY;
  /** Called on each failure. Must not throw. */
  onTrouble = () => {};

  constructor(replica: bigint) {
    this.#probe = {
      ...{ name: probeName(replica), mode: "exclusive", permits: 1, requestId: "", owner: "", labels: {} },
      ...{ terms: null, mayWait: true, ttlUs: PROBE_TTL_US, maxWaitUs: PROBE_TTL_US },
    };
  }

  /** Calls `heard` after each answer. Throws what a client's call would throw; leftovers then end by themselves. */
  async probe(engine: Probed, heard: () => void): Promise<void> {
    const answers = await Promise.all([1, 2].map(() => engine.acquire(this.#probe, null)));
    heard();
    await Promise.all(
      answers.map(async ({ outcome, lockId }) => {
        this.#probedLock = lockId;
        if ("claim" in outcome) await engine.ask({ verb: "release", ref: outcome.claim });
        heard();
      }),
    );
  }

  committed(asks: AsksByLock): void {
    if (!this.#areProbes(asks)) this.#committedMs = performance.now();
  }

  /** Records a failed decision. A lock that another transaction holds says nothing about the other locks. */
  failed(error: unknown, asks?: AsksByLock): void {
    if (!(error instanceof Fault) || error.kind !== "unavailable" || (asks && this.#areProbes(asks))) return;
    if (!isHeldUp(error)) {
      this.#failedMs = performance.now();
      this.#failure = error;
    }
    this.suspected();
  }

  /** Records another failure of something that needs the database. */
  suspected(): void {
    this.#suspectedMs = performance.now();
    this.onTrouble();
  }

  /** What the decisions of the last seconds say about the database; excludes those of the probe. */
  get recent() {
    const fromMs = performance.now() - RECENT_DECISIONS_MS;
    return {
      /** Whether a transaction was committed. */
      committed: this.#committedMs >= fromMs,
      /** performance.now() of the last commit; -Infinity: none so far. */
      committedMs: this.#committedMs,
      /** The last failure that was due to the database; null: none. */
      failure: this.#failedMs >= fromMs ? this.#failure : null,
      /** Something failed that may concern only one lock, or was no decision. */
      isSuspect: this.#suspectedMs >= fromMs,
    };
  }

  #areProbes(asks: AsksByLock): boolean {
    return asks.size === 1 && this.#probedLock !== null && asks.has(this.#probedLock);
  }
}
