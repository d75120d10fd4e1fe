// Tracks the limit rules by which this server decides, and when all others decide by them too. A transaction that began
// under older rules may still grant by them, so a server registers rules as in force only when all such transactions
// are over. A rule change waits until each server has registered: from then on no server decides by the older rules.

import { setTimeout as sleep } from "node:timers/promises";
import { REPLICA_KEPT_US, REPLICAS_MAX, type ReplicaRow, type Store } from "../../storage/store.ts";
import { RULES_ASKED_MS, RULES_AWAITED_MS } from "../engine-bounds.ts";
import type { CheckedStore } from "./checked-store.ts";

export interface RulesInForceOptions {
  readonly store: Pick<Store, "replicas" | "register">;
  readonly checked: Pick<CheckedStore, "drained">;
  readonly entry: ReplicaRow;
  readonly onFailure: (loop: string, error: unknown) => void;
}

export class RulesInForce {
  readonly #options: RulesInForceOptions;
  #seen = -1n;
  #seenTimes = 0;
  /** All decisions from now on use rules of this revision or a later one; -1: unknown. */
  #revision = -1n;
  /** The value of `#seenTimes` when this revision was seen. */
  #revisionTimes = 0;
  /** Registrations under way, by what they say. Their promises never reject. */
  readonly #registering = new Map<Promise<unknown>, string>();

  constructor(options: RulesInForceOptions) {
    this.#options = options;
  }

  /** Renews this replica's entry in the register, which proves that the database can be written. Throws StoreErrors. */
  async register(): Promise<void> {
    const { store, entry } = this.#options;
    const says = () => `${entry.address} ${this.#revision}`;
    // On another connection, an older entry could arrive last: without the port, other servers cannot ask this one.
    const others = [...this.#registering].filter(([, said]) => said !== says());
    await Promise.all(others.map(([over]) => over));
    const registered = store.register(entry, REPLICA_KEPT_US, this.#revision);
    const over = registered.catch(() => {}).finally(() => this.#registering.delete(over));
    this.#registering.set(over, says());
    await registered;
  }

  /** Reports that new transactions read rules of this revision or a later one. Does not wait. */
  saw(revision: bigint): void {
    if (revision === this.#seen) return;
    this.#seen = revision;
    const times = ++this.#seenTimes;
    void this.#options.checked.drained().then(() => {
      if (times < this.#revisionTimes) return;
      this.#revision = revision;
      this.#revisionTimes = times;
      this.register().catch((error: unknown) => this.#options.onFailure("beat", error));
    });
  }

  /**
   * Call after a change of rules of this revision. Resolves when no server decides by it any more, with 0, or after
   * RULES_AWAITED_MS with the number of those that have not yet reported. Throws StoreErrors.
   */
  async everywhereAfter(revision: bigint): Promise<number> {
    const { store, checked, entry } = this.#options;
    await checked.drained();
    for (const untilMs = performance.now() + RULES_AWAITED_MS; ; await sleep(RULES_ASKED_MS)) {
      const { nowUs, replicas } = await store.replicas(REPLICAS_MAX);
      const behind = replicas.filter(
        ({ id, deadlineUs, rulesRevision }) =>
          id !== entry.id && deadlineUs > nowUs && rulesRevision <= revision,
      );
      if (behind.length === 0 || performance.now() > untilMs) return behind.length;
    }
  }
}
