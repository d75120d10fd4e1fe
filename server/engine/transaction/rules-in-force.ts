// Tracks the limit rules by which this server decides, and when all others decide by them too. A transaction that began
// under older rules may still grant by them, so a server reports rules as in force only when all such transactions are
// over. A rule change waits until each server has reported: from then on no server decides by the older rules.

import { setTimeout as sleep } from "node:timers/promises";
import type { LoadPlan, Store } from "../../storage/store.ts";
import { REPLICAS_MAX } from "../../storage/store.ts";
import { RULES_ASKED_MS, RULES_AWAITED_MS } from "../engine-bounds.ts";

export interface RulesInForceOptions {
  readonly store: Pick<Store, "transact" | "replicas">;
  /** This replica. */
  readonly replica: bigint;
  /** Called when the rules in force have changed, so that the register shows them. Must not wait. */
  readonly onInForce: () => void;
}

/** As in the store: runs a transaction that decides. */
type Transact = Store["transact"];

export class RulesInForce {
  readonly #options: RulesInForceOptions;
  readonly #underWay = new Set<Promise<void>>();
  #seen = -1n;
  #seenTimes = 0;
  #revision = -1n;
  /** The value of `#seenTimes` when this revision was seen. */
  #revisionTimes = 0;

  constructor(options: RulesInForceOptions) {
    this.#options = options;
  }

  /** All decisions from now on use rules of this revision or a later one; -1: unknown. */
  get revision(): bigint {
    return this.#revision;
  }

  /** As the store's `transact`. Every deciding transaction must use this one. */
  readonly transact: Transact = (plan: LoadPlan, decide) => {
    const transacting = this.#options.store.transact(plan, decide);
    const over = () => void this.#underWay.delete(settled);
    const settled = transacting.then(over, over);
    this.#underWay.add(settled);
    return transacting;
  };

  /** Reports that new transactions read rules of this revision or a later one. Does not wait. */
  saw(revision: bigint): void {
    if (revision === this.#seen) return;
    this.#seen = revision;
    const times = ++this.#seenTimes;
    void this.#drained().then(() => {
      if (times < this.#revisionTimes) return;
      this.#revision = revision;
      this.#revisionTimes = times;
      this.#options.onInForce();
    });
  }

  /**
   * Call after rules of this revision were changed. Resolves with 0 when no server decides by rules of this revision or
   * an earlier one any more. After RULES_AWAITED_MS, resolves with the number of servers that have not yet reported.
   * Throws StoreErrors.
   */
  async everywhereAfter(revision: bigint): Promise<number> {
    await this.#drained();
    const { store, replica } = this.#options;
    for (const untilMs = performance.now() + RULES_AWAITED_MS; ; await sleep(RULES_ASKED_MS)) {
      const { nowUs, replicas } = await store.replicas(REPLICAS_MAX);
      const behind = replicas.filter(
        ({ id, deadlineUs, rulesRevision }) =>
          id !== replica && deadlineUs > nowUs && rulesRevision <= revision,
      );
      if (behind.length === 0 || performance.now() > untilMs) return behind.length;
    }
  }

  /** Resolves when all transactions now under way are over. */
  async #drained(): Promise<void> {
    await Promise.all(this.#underWay);
  }
}
