// Claims for several locks in a run: some of its holds take two to four locks instead of one, and further ones are added, at few
// names, so that they meet. Operators end leases at one of the names by force, and turn a limit.

import type { Hold, OfClient, Step, Wanted } from "./step.ts";
import { between, type Chance, chanceOf, oneOf } from "./world/chance.ts";

export const SETS = "set/";
/** Above all names that begin so. */
export const SETS_END = "set0";
const MUTEXES = ["set/0", "set/1", "set/2", "set/3"];
const READ_WRITE = "set/read-write";
/** Its limit is set, and turned in some runs. */
const MANY = "set/many";
const MANY_LIMIT = 3;

/** In this share of all runs some claims are for several locks. */
const SHARE = 0.35;
/** Chosen so that those seeds have none which show something else. */
const PART = "with-sets 44462";

export function isWithSets(seed: number): boolean {
  return chanceOf(seed, PART)() < SHARE;
}

/** In this share of them nothing fails: only there it shows who waits for longer than is right. */
const CALM_SHARE = 0.2;
/** In this share the sets meet at three mutexes, all in the same second or two. */
const TIGHT_SHARE = 0.3;
const TIGHT_MS = 1_500;
const REPLACED_SHARE = 0.5;
/** Beside those that take the place of other steps. */
const HOLDS = 18;
const SETS_SHARE = 0.7;
const OTHERS_SHARE = 0.4;
const EXCLUSIVE_SHARE = 0.2;
const TRIES_SHARE = 0.2;
const LONG_WAITS_SHARE = 0.4;
const FORCES_MAX = 3;

export interface Usable {
  /** Locks that single claims use. */
  readonly others: readonly string[];
  /** Locks under pools. */
  readonly pooled: readonly string[];
  readonly isNarrow: boolean;
  readonly hands: number;
  readonly withinMs: number;
  readonly anyHold: (base: OfClient) => Hold;
  readonly chance: Chance;
}

export function withSets(steps: readonly Step[], usable: Usable): Step[] {
  const { others, pooled, isNarrow, hands, chance, anyHold } = usable;
  const isCalm = chance() < CALM_SHARE;
  const isTight = chance() < TIGHT_SHARE;
  const withinMs = isTight ? Math.min(TIGHT_MS, usable.withinMs) : usable.withinMs;
  const few = isTight || isNarrow;
  const own = few ? MUTEXES.slice(0, 3) : [...MUTEXES, READ_WRITE, MANY];
  const more = few ? [] : others.filter(() => chance() < OTHERS_SHARE);
  const names = [...own, ...more, ...pooled];
  const someone = (): OfClient => ({
    hand: Math.floor(chance() * hands),
    atMs: between(chance, 0, withinMs),
  });
  const asSet = (hold: Hold): Hold => {
    const [first, ...also] = shuffled(names, chance)
      .slice(0, 2 + Math.floor(chance() * 3))
      .map((lock) => wanted(lock, chance));
    return { ...hold, ...(first as Wanted), also, waitMs: waitMs(chance) };
  };
  const kept = isCalm ? steps.filter((step) => step.do === "pool" || step.do === "hold") : steps;
  const replaced = kept.map((step) => (step.do === "hold" && chance() < REPLACED_SHARE ? asSet(step) : step));
  const added = Array.from({ length: HOLDS }, (): Hold => {
    const hold = anyHold(someone());
    if (chance() < SETS_SHARE) return asSet(hold);
    return { ...hold, ...wanted(oneOf(names, chance), chance), waitMs: waitMs(chance) };
  });
  const forces = Array.from({ length: isCalm ? 0 : Math.floor(chance() * (FORCES_MAX + 1)) }, (): Step => {
    return { ...someone(), do: "force", lock: oneOf(names, chance) };
  });
  return [...replaced, ...added, ...forces, ...(few ? [] : limits(someone, isCalm, chance))];
}

function limits(someone: () => OfClient, isCalm: boolean, chance: Chance): Step[] {
  const usual = {
    ...someone(),
    atMs: between(chance, 0, 30),
    do: "limit" as const,
    lock: MANY,
    limit: MANY_LIMIT,
  };
  if (isCalm || chance() >= 0.4) return [usual];
  return [usual, { ...usual, ...someone(), limit: Math.floor(chance() * 4) }];
}

/** What may be asked of a lock with such a name. */
function wanted(lock: string, chance: Chance): Wanted {
  if (lock.endsWith("read-write")) return { lock, mode: chance() < 0.4 ? "exclusive" : "shared", permits: 1 };
  if (lock.endsWith("many") || lock === "semaphore")
    return { lock, mode: "permit", permits: 1 + Math.floor(chance() * 2) };
  const isExclusive = lock.startsWith(SETS) && chance() < EXCLUSIVE_SHARE;
  return { lock, mode: isExclusive ? "exclusive" : "permit", permits: 1 };
}

/** 0: a try. */
function waitMs(chance: Chance): number {
  const kind = chance();
  if (kind < TRIES_SHARE) return 0;
  return kind < TRIES_SHARE + LONG_WAITS_SHARE ? between(chance, 8_000, 12_000) : between(chance, 100, 4_000);
}

function shuffled<One>(all: readonly One[], chance: Chance): One[] {
  return all
    .map((one) => ({ one, at: chance() }))
    .sort((a, b) => a.at - b.at)
    .map(({ one }) => one);
}
