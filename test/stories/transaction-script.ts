// Scripts how the transactions of one replica end, in order; a test adds to the script as it goes.

import type { Store } from "../../server/storage/store.ts";
import { StoreError } from "../../server/storage/store.ts";
import { wrapped } from "../support/wrapped-store.ts";

type Transact = Store["transact"];
type Fate = (transact: Transact) => Transact;

const unknown = () => new StoreError("unknown_outcome", "injected", "A fault made by a test.");

/** Commits, but the replica does not learn it; `meanwhile` happens before the retry. */
export const committed =
  (meanwhile: () => Promise<unknown> = async () => {}): Fate =>
  (transact) =>
  async (plan, decide) => {
    await transact(plan, decide);
    await meanwhile();
    throw unknown();
  };

/** Is rolled back, but the replica does not learn it; `meanwhile` happens before the retry. */
export const rolledBack =
  (meanwhile: () => Promise<unknown> = async () => {}): Fate =>
  (transact) =>
  async (plan, decide) => {
    const rolling = transact(plan, (loaded) => {
      decide(loaded);
      throw unknown();
    });
    await rolling.catch(async (error: unknown) => {
      await meanwhile();
      throw error;
    });
  };

export class TransactionScript {
  readonly #fates: Fate[] = [];

  push(...fates: readonly Fate[]): void {
    this.#fates.push(...fates);
  }

  get isOver(): boolean {
    return this.#fates.length === 0;
  }

  /** Wraps the first store that it is given; transactions of the others succeed. */
  ofFirst(): (store: Store) => Store {
    let first = true;
    return (store) => {
      if (!first) return store;
      first = false;
      const transact: Transact = (plan, decide) => {
        const run: Transact = store.transact.bind(store);
        return (this.#fates.shift()?.(run) ?? run)(plan, decide);
      };
      return wrapped(store, { transact });
    };
  }
}
