// By which limit rules this server decides, and since when all others do. A transaction that began under older rules may still
// grant by them, so a server says that rules are in force only when all such transactions are over. Whoever changes a rule
// waits until each server has said so: from then on no server decides by the older rules.

import { setTimeout as sleep } from "node:timers/promises";
import type { LoadPlan, Store } from "../../storage/store.ts";
import { REPLICAS_MAX } from "../../storage/store.ts";
import { RULES_ASKED_MS, RULES_AWAITED_MS } from "../engine-bounds.ts";

export interface RulesInForceOptions {
  readonly store: Pick<Store, "transact" | "replicas">;
  /** This one. */
  readonly replica: bigint;
  /** The register should say which rules are in force. Does not wait. */
  readonly onInForce: () => void;
}

/** Transactions that decide, as a store has them. */
type Transact = Store["transact"];

export class RulesInForce {
  readonly #options: RulesInForceOptions;
  readonly #underWay = new Set<Promise<void>>();
  #seen = -1n;
  #seenTimes = 0;
  #revision = -1n;
  /** Which of the revisions that were seen it is. */
  #revisionTimes = 0;

  constructor(options: RulesInForceOptions) {
    this.#options = options;
  }

  /** Everything that is decided from now on goes by rules of this revision or a later one; -1: not known. */
  get revision(): bigint {
    return this.#revision;
  }

  /** As that of the store. Every transaction that decides has to go this way. */
  readonly transact: Transact = (plan: LoadPlan, decide) => {
    const transacting = this.#options.store.transact(plan, decide);
    const over = () => void this.#underWay.delete(settled);
    const settled = transacting.then(over, over);
    this.#underWay.add(settled);
    return transacting;
  };

  /** Transactions that begin from now on read rules of this revision or a later one. Does not wait. */
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
   * Resolves when nothing is decided any more by rules of this revision or an earlier one, once they have been changed: with
   * 0. Or after a while: with the number of servers that have not said so. Throws StoreErrors.
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

  /** When all transactions that are under way now are over. */
  async #drained(): Promise<void> {
    await Promise.all(this.#underWay);
  }
}
