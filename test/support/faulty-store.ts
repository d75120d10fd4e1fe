// A store with seeded faults: transactions fail before they begin, after the decision (rolled back), or after the
// commit with an unknown outcome; answers come late. All of it is within what store.ts allows, so every promise of an
// engine must hold over it.

import { setTimeout as sleep } from "node:timers/promises";
import type { Store } from "../../server/storage/store.ts";
import { StoreError } from "../../server/storage/store.ts";
import { withOwn } from "./with-own.ts";

/** From 0 up to 1, the same sequence for the same seed. */
export type Chance = () => number;

export interface Faults {
  /** Turns faults on and off; delays go on. */
  on: boolean;
  /** Counts of the faults made, by kind. */
  readonly made: Map<string, number>;
}

const DELAY_MS_MAX = 15;
/** The longest wait for a lost answer to COMMIT: long enough for others to do a lot meanwhile. */
const SWALLOWED_MS_MAX = 150;
const DELAYED = 0.25;

const KINDS = [
  // Weights: faults per hundred transactions.
  { kind: "before", weight: 5 },
  { kind: "unavailable", weight: 2 },
  { kind: "rolled_back", weight: 6 },
  { kind: "rolled_back_unknown", weight: 5 },
  { kind: "committed_unknown", weight: 8 },
  { kind: "rolled_back_swallowed", weight: 3 },
  { kind: "committed_swallowed", weight: 3 },
] as const;
type Kind = (typeof KINDS)[number]["kind"];

/** mulberry32: small, and good enough to choose faults. */
export function chanceFrom(seed: number): Chance {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function faultyStore(store: Store, chance: Chance, faults: Faults): Store {
  const late = () => (chance() < DELAYED ? sleep(chance() * DELAY_MS_MAX) : undefined);
  const transact: Store["transact"] = async (plan, decide) => {
    const kind = faults.on ? kindBy(chance()) : null;
    if (kind) faults.made.set(kind, (faults.made.get(kind) ?? 0) + 1);
    await late();
    if (kind === "before") throw failure("transient");
    if (kind === "unavailable") throw failure("unavailable");
    const swallowed = () => sleep(chance() * SWALLOWED_MS_MAX);
    const transacting = store.transact(plan, (loaded) => {
      const writes = decide(loaded);
      if (kind === "rolled_back") throw failure("transient");
      if (kind?.startsWith("rolled_back_")) throw failure("unknown_outcome");
      return writes;
    });
    if (kind === "rolled_back_swallowed") await transacting.catch(swallowed);
    await transacting;
    await late();
    if (kind === "committed_swallowed") await swallowed();
    if (kind?.startsWith("committed_")) throw failure("unknown_outcome");
  };
  // A poll's result is already old when the engine uses it.
  const poll: Store["poll"] = async (lockIds, aheadUs) => {
    const read = await store.poll(lockIds, aheadUs);
    await late();
    return read;
  };
  const claims: Store["claims"] = async (keys) => {
    const read = await store.claims(keys);
    await late();
    return read;
  };
  const resolve: Store["resolve"] = async (names) => {
    if (faults.on && kindBy(chance()) === "before") throw failure("transient");
    return store.resolve(names);
  };
  return withOwn(store, { transact, poll, claims, resolve });
}

function kindBy(number: number): Kind | null {
  let left = number * 100;
  for (const { kind, weight } of KINDS) {
    left -= weight;
    if (left < 0) return kind;
  }
  return null;
}

function failure(kind: StoreError["kind"]): StoreError {
  return new StoreError(kind, "injected", "A fault made by a test.");
}
