// How clients of these stories choose replicas and repeat calls: any replica, another try after a fault, and no tries
// long after the story is over.

import { setTimeout as sleep } from "node:timers/promises";
import type { Claim } from "../../../server/core/claim.ts";
import type { RunResult } from "../../../server/core/lock.ts";
import { Fault } from "../../../server/engine/faults.ts";
import * as asks from "../../support/asks.ts";
import type { Chance } from "../../support/faulty-store.ts";
import type { Replica } from "../../support/replicas.ts";
import type { Beliefs } from "./beliefs.ts";

/** Longer than any queue of the story needs, even with a dead holder and a dead waiter before each place. */
export const SETTLED_MS_MAX = 40_000;

export interface CallingOptions {
  readonly replicas: readonly Replica[];
  readonly beliefs: Beliefs;
  readonly chance: Chance;
  /** When the rounds should be over. */
  readonly untilMs: number;
  /** Whether no further round begins. */
  readonly isOver: () => boolean;
}

export class UnluckyCalls {
  readonly #options: CallingOptions;

  constructor(options: CallingOptions) {
    this.#options = options;
  }

  one<Item>(items: readonly Item[]): Item {
    return items[Math.floor(this.#options.chance() * items.length)] as Item;
  }

  maybe(share: number): boolean {
    return this.#options.chance() < share;
  }

  get replica(): Replica {
    return this.one(this.#options.replicas);
  }

  /** Calls any replica, repeatedly, until one answers. */
  async until<Result>(call: (replica: Replica) => Promise<Result>): Promise<Result> {
    for (;;) {
      const answer = await call(this.replica).catch(onlyFault);
      if (answer) return answer;
      await this.#beforeRepeat();
    }
  }

  /** Repeats a release until it is answered. Returns whether any of the calls failed. */
  async release(claim: Claim, result: RunResult | null = null): Promise<boolean> {
    let calls = 0;
    const { outcome } = await this.until(({ engine }) => {
      calls += 1;
      return engine.ask(asks.release(claim, result));
    });
    if (outcome.kind === "released") this.#options.beliefs.released(claim, outcome.byThisCall);
    return calls > 1;
  }

  /**
   * A stopped server refuses at once, so pause: a client that another client's failure left behind must not take
   * every turn.
   */
  async #beforeRepeat(): Promise<void> {
    if (performance.now() > this.#options.untilMs + 4 * SETTLED_MS_MAX)
      throw new Error("No server answers any more.");
    await sleep(1);
  }
}

export async function timed<Answer>(replica: Replica, call: (replica: Replica) => Promise<Answer>) {
  const sentMs = performance.now();
  return { answer: await call(replica), replica, sentMs };
}

/** Ignores an injected fault; rethrows anything else, which is a bug. */
export function onlyFault(error: unknown): undefined {
  if (!(error instanceof Fault)) throw error;
}
