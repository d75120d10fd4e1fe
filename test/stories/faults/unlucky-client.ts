// A well-behaved client: it asks with and without request ids, waits, polls, comes back through another replica,
// confirms a grant that came after a wait, renews, releases, gives up, and now and then abandons its lease. It
// records in Beliefs what it believes. It repeats failed calls as the contract allows.

import { setTimeout as sleep } from "node:timers/promises";
import type { Claim, Mode, Terms } from "../../../server/core/claim.ts";
import type { Outcome } from "../../../server/core/command.ts";
import type { AcquireInput } from "../../../server/engine/answers.ts";
import * as asks from "../../support/asks.ts";
import { ask, follower, type Replica } from "../../support/replicas.ts";
import { type Belief, keyOf } from "./beliefs.ts";
import { type CallingOptions, onlyFault, SETTLED_MS_MAX, timed, UnluckyCalls } from "./unlucky-calls.ts";

/** A lock of the test, and what clients ask of it. */
export interface Target {
  readonly name: string;
  readonly id: bigint;
  readonly modes: readonly Mode[];
  readonly permitsMax: number;
  /** The share of leases that clients abandon. */
  readonly deaths: number;
  /** What each lease asks the lock to remember. */
  readonly terms?: Terms;
}

export interface ClientOptions extends CallingOptions {
  readonly name: string;
  readonly targets: readonly Target[];
}

const TTL_US_MIN = 200_000;
const TTL_US_MAX = 600_000;
const HOLD_MS_MAX = 10;

/** The lease that a round may hold. */
interface Hand {
  readonly claim: Claim;
  readonly nowUs: number;
  readonly sentMs: number;
}

interface Asked {
  /** undefined if the call failed. */
  readonly answer: { readonly outcome: Outcome; readonly nowUs: number } | undefined;
  readonly replica: Replica;
  readonly sentMs: number;
}

export class UnluckyClient {
  readonly #options: ClientOptions;
  readonly #calls: UnluckyCalls;
  #rounds = 0;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#calls = new UnluckyCalls(options);
  }

  /** Runs rounds until the time is over. */
  async run(): Promise<void> {
    while (!this.#options.isOver()) {
      this.#rounds += 1;
      await this.#round();
    }
  }

  async #round(): Promise<void> {
    const target = this.#calls.one(this.#options.targets);
    const mode = this.#calls.one(target.modes);
    const wanted = ask(target.name, {
      mode,
      permits: mode === "permit" ? 1 + Math.floor(this.#options.chance() * target.permitsMax) : 1,
      ttlUs: TTL_US_MIN + Math.floor(this.#options.chance() * (TTL_US_MAX - TTL_US_MIN)),
      ...(target.terms && { terms: target.terms }),
      requestId: this.#calls.maybe(0.6) ? `${this.#options.name}/${this.#rounds}` : "",
    });
    const askedMs = performance.now();
    const tokenBefore = this.#options.beliefs.lastToken(target.id);
    const style = this.#options.chance();
    const hand =
      style < 0.2
        ? await this.#askOnce(wanted)
        : style < 0.45 && wanted.requestId !== ""
          ? await this.#poll(wanted)
          : await this.#wait(wanted);
    if (!hand) return;
    const { claim, nowUs, sentMs } = hand;
    await this.#hold(
      this.#options.beliefs.begin(claim, nowUs, { sentMs, askedMs }, tokenBefore),
      target.deaths,
    );
  }

  /** Calls Acquire once, without taking a place. */
  async #askOnce(wanted: AcquireInput): Promise<Hand | null> {
    const { answer, sentMs } = await this.#acquire({ ...wanted, mayWait: false }, null);
    if (answer?.outcome.kind !== "held") return null;
    return { claim: answer.outcome.claim, nowUs: answer.nowUs, sentMs };
  }

  /** Repeats Acquire with one request id; each call is a sign of life. */
  async #poll(wanted: AcquireInput): Promise<Hand | null> {
    for (;;) {
      const { answer, sentMs } = await this.#acquire(wanted, null);
      if (answer?.outcome.kind === "held") {
        return { claim: answer.outcome.claim, nowUs: answer.nowUs, sentMs };
      }
      if (answer?.outcome.kind !== "waiting") return null;
      // Gives up silently: its place lapses, and so does any grant to it.
      if (this.#calls.maybe(0.004)) return null;
      await sleep(2 + this.#options.chance() * 15);
    }
  }

  /** Waits on an open stream, which may be lost and continued at another replica. */
  async #wait(wanted: AcquireInput): Promise<Hand | null> {
    let waiter = follower();
    let { answer, replica, sentMs }: Asked = await this.#acquire(wanted, waiter);
    while (answer?.outcome.kind === "waiting") {
      const { claim } = answer.outcome;
      const patienceMs = this.#calls.maybe(0.2) ? this.#options.chance() * 60 : SETTLED_MS_MAX;
      const settled = await Promise.race([waiter.toldClaim, sleep(patienceMs, null, { ref: false })]);
      if (settled) return this.#confirm(settled.claim);
      if (patienceMs === SETTLED_MS_MAX) {
        const view = await replica.engine.view(wanted.name);
        const shown = JSON.stringify(view, (_, value) => (typeof value === "bigint" ? `${value}n` : value));
        throw new Error(
          `The waiter of ${keyOf(claim)} at replica ${replica.engine.replica} was lost: ${shown}`,
        );
      }
      const canReturn = wanted.requestId !== "" || this.#calls.maybe(0.5);
      replica.engine.detach(claim, waiter, canReturn);
      if (!canReturn || this.#calls.maybe(0.04)) return null;
      waiter = follower();
      ({ answer, replica, sentMs } = await this.#attach(claim, waiter));
    }
    if (answer?.outcome.kind !== "held") return null;
    return { claim: answer.outcome.claim, nowUs: answer.nowUs, sentMs };
  }

  /** A grant after a wait may have been delayed in transit by any time: the client trusts it only after a Renew. */
  async #confirm(claim: Claim): Promise<Hand | null> {
    if (claim.state === "ended") {
      // The stream was open and the replica alive, so the place must not lapse: only its deadline or a lowered limit
      // may end the wait.
      if (claim.endReason === "lapsed") throw new Error(`The followed place of ${keyOf(claim)} lapsed.`);
      return null;
    }
    const sentMs = performance.now();
    const answer = await this.#calls.until(({ engine }) => engine.ask(asks.renew(claim, undefined)));
    if (answer?.outcome.kind !== "held") return null;
    return { claim: answer.outcome.claim, nowUs: answer.nowUs, sentMs };
  }

  async #hold(belief: Belief, deaths: number): Promise<void> {
    const { chance, beliefs } = this.#options;
    const { claim } = belief;
    do {
      await sleep(chance() * HOLD_MS_MAX);
      if (!this.#calls.maybe(0.3)) continue;
      const sentMs = performance.now();
      const renewed = await this.#calls.replica.engine.ask(asks.renew(claim, undefined)).catch(onlyFault);
      if (renewed?.outcome.kind !== "held") continue;
      beliefs.prolong(belief, renewed.outcome.claim, renewed.nowUs, sentMs);
    } while (this.#calls.maybe(0.3));
    // Abandons the lease, which ends by itself.
    if (this.#calls.maybe(deaths)) {
      beliefs.forgotten(belief);
      return;
    }
    beliefs.end(belief);
    const releases = this.#calls.maybe(0.3) ? 2 : 1;
    const failed = await Promise.all(Array.from({ length: releases }, () => this.#calls.release(claim)));
    // If no release call failed, exactly one of them was told that it ended the lease.
    if (failed.includes(true) || beliefs.timesReleased(claim) === 1) return;
    const ended = await this.#calls.until(({ engine }) => engine.ask(asks.renew(claim, undefined)));
    if (ended.outcome.kind === "ended" && ended.outcome.claim.endReason === "released") {
      beliefs.breaches.push(`${keyOf(claim)} was released, and by nobody`);
    }
  }

  /** Repeats failed calls where that is safe: with a request id, at any replica. */
  async #acquire(wanted: AcquireInput, waiter: ReturnType<typeof follower> | null): Promise<Asked> {
    const ask = (replica: Replica) => timed(replica, ({ engine }) => engine.acquire(wanted, waiter));
    if (wanted.requestId === "") {
      const replica = this.#calls.replica;
      return await ask(replica).catch((error) => ({
        answer: onlyFault(error),
        replica,
        sentMs: performance.now(),
      }));
    }
    const asked = await this.#calls.until(ask);
    const { outcome } = asked.answer;
    if ("claim" in outcome) this.#options.beliefs.answered(wanted.requestId, outcome.claim);
    return asked;
  }

  #attach(claim: Claim, waiter: ReturnType<typeof follower>): Promise<Asked> {
    return this.#calls.until((replica) => timed(replica, ({ engine }) => engine.attach(claim, waiter)));
  }
}
