// What happens in a run, as a list that follows from its seed: what clients do, and what fails. A run that goes wrong is
// made shorter by leaving steps out.

import type { Rate } from "../faults/history/history.ts";
import { BRIEF } from "./servers/server.ts";
import { isWithSets, withSets } from "./set-steps.ts";
import { hasQueueRules, withQueueRules } from "./share-steps.ts";
import {
  CLOCK_SET,
  type ClientStep,
  FAULTS,
  type Fault,
  type FaultKind,
  type Hold,
  type Make,
  type OfClient,
  PROMOTED,
  type SetPool,
  type SetRate,
  type Spend,
  type Step,
  type Work,
} from "./step.ts";
import { between, type Chance, chanceOf, oneOf } from "./world/chance.ts";

export const SERVERS = 3;
export const CLIENTS = 4;
/** What each client does at once. */
export const HANDS = 2;
export const TTL_MS = 2_000;

export const MUTEXES = ["mutex/0", "mutex/1"];
export const SEMAPHORE = "semaphore";
export const READ_WRITE = "read-write";
/** Its limit is set for the pattern `each/*`. */
export const PATTERNED = "each/0";
export const COUNTERS = ["counter/0", "counter/1"];
/** A counter that is also deleted. */
export const ERASED = "counter/erased";
export const TASKS = "task/";
const BRIEFS = [`${BRIEF}0`, `${BRIEF}1`];
/** Its leases are also ended by force. */
export const FORCED = "forced";
export const LOCKS = [...MUTEXES, SEMAPHORE, READ_WRITE, PATTERNED, FORCED, ...BRIEFS];

/** Only spent. */
export const SPENT = "spent/0";
/** Only spent, and its rate is set for the pattern `paced/*`. */
export const PACED = "paced/0";
/** What gets rates. Those behind the first two only in some worlds, and what they match is also held. */
export const RATED = [SPENT, "paced/*", SEMAPHORE, "each/*", MUTEXES[1] as string, `${BRIEF}*`, `${TASKS}*`];
const SPENDABLE = [
  SPENT,
  SPENT,
  SPENT,
  PACED,
  PACED,
  SEMAPHORE,
  PATTERNED,
  MUTEXES[1] as string,
  `${BRIEF}0`,
];
/** A permit takes longer to come back than what servers do not know of the clock. */
const RATES: readonly Rate[] = [
  { permits: 2, perMs: 1_000, burst: 2 },
  { permits: 1, perMs: 1_000, burst: 3 },
  { permits: 5, perMs: 2_000, burst: 2 },
  { permits: 1, perMs: 2_000, burst: 1 },
];

/** Under the pools of most runs that have some. */
const TENANT = ["tree/acme/0", "tree/acme/1", "tree/acme/2", "tree/acme/read-write", "tree/acme/many"];
const TREE = [...TENANT, "tree/0", "tree/1", "tree/2", "tree/many"];
const MANY = ["tree/acme/many", "tree/many"];

/** A pool, one within it, and what is held under them. */
interface PooledWorld {
  readonly wide: string;
  readonly narrow: string;
  readonly locks: readonly string[];
}
const IN_TREE: PooledWorld = { wide: "tree/*", narrow: "tree/acme/*", locks: TREE };
const POOLED_WORLDS: readonly PooledWorld[] = [
  IN_TREE,
  IN_TREE,
  IN_TREE,
  { wide: `${TASKS}*`, narrow: `${TASKS}1*`, locks: [] },
  { wide: `${BRIEF}*`, narrow: `${BRIEF}0*`, locks: BRIEFS },
  { wide: "mutex/*", narrow: "mutex/1*", locks: MUTEXES },
];

/** In this share of all runs the hands of a client begin their steps together, so that its session sends them in one message. */
const TOGETHER_SHARE = 0.5;
/** How long clients begin something new. */
const FOR_MS = 5_000;
const NARROW_MS = 1_500;
const COMMIT_FAULTS = ["COMMITs do not arrive", "answers of COMMITs are lost", "COMMITs come late"] as const;
const FAULTS_MAX = 4;
const STEPS_PER_HAND = 3;
/** One run in so many has a promoted copy, as much else cannot be checked there. */
const PROMOTED_SHARE = 0.08;
/** In one run in so many the clock is set, and no server starts: one that does knows nothing of the clock before. */
const CLOCK_SET_SHARE = 0.15;
const STARTS_A_SERVER: readonly FaultKind[] = ["a server crashes", "a server is drained"];

/** Clients give one try in so many up within this time. */
const HASTE_SHARE = 0.15;
const HASTE_MS_MAX = 40;

/** One run in so many has watches, because they cost as much as all the rest of a run. */
const WATCHED_SHARE = 0.25;

export function isWatched(seed: number): boolean {
  return chanceOf(seed, "watched")() < WATCHED_SHARE;
}

/** One run in so many is about one thing at one lock, while COMMITs go wrong. */
const NARROW_SHARE = 0.25;
const NARROW_KINDS = ["hold", "count", "limit", "work"] as const;

export function stepsOf(seed: number): Step[] {
  const chance = chanceOf(seed, "steps");
  const steps: Step[] = [];
  const narrow = chance() < NARROW_SHARE ? oneOf(NARROW_KINDS, chance) : undefined;
  const isTogether = chanceOf(seed, "together")() < TOGETHER_SHARE;
  for (let hand = 0; hand < CLIENTS * HANDS; hand++) {
    const others = isTogether && hand % HANDS > 0 ? steps.slice(-STEPS_PER_HAND) : [];
    for (let count = 0; count < STEPS_PER_HAND; count++) {
      const ownMs = between(chance, 0, narrow ? NARROW_MS : FOR_MS);
      const base = { hand, atMs: others[count]?.atMs ?? ownMs };
      const index = steps.length;
      steps.push(narrow ? narrowStep(base, narrow, index, chance) : clientStep(base, index, chance));
    }
  }
  if (narrow) {
    for (const kind of COMMIT_FAULTS)
      if (chance() < 0.7) steps.push({ ...fault(kind, chance), atMs: 0, forMs: NARROW_MS });
  }
  const isPromoted = chance() < PROMOTED_SHARE;
  // A clock that is set back makes the pause after a fail-over longer than anything can be checked for.
  const isClockSet = !isPromoted && chance() < CLOCK_SET_SHARE;
  const kinds = FAULTS.filter((kind) => {
    if (kind === PROMOTED || kind === CLOCK_SET) return false;
    return !(isClockSet && STARTS_A_SERVER.includes(kind));
  });
  const faults = Math.floor(chance() * (FAULTS_MAX + 1));
  for (let count = 0; count < faults; count++) steps.push(fault(oneOf(kinds, chance), chance));
  if (isPromoted) steps.push(fault(PROMOTED, chance));
  if (isClockSet) steps.push(fault(CLOCK_SET, chance));
  const rated = isRated(seed) ? withRates(steps, narrow !== undefined, chanceOf(seed, "rates")) : steps;
  const pooled = isPooled(seed) ? withPools(rated, narrow !== undefined, chanceOf(seed, "pools")) : rated;
  const inSome = isWithSets(seed) ? inSets(pooled, narrow !== undefined, chanceOf(seed, "sets")) : pooled;
  const all = hasQueueRules(seed) ? inQueues(inSome, narrow !== undefined, chanceOf(seed, "rules")) : inSome;
  return inHaste(all, chanceOf(seed, "haste")).sort((a, b) => a.atMs - b.atMs);
}

/** Names that are also held without sets, and those under the pools of the run. */
function inSets(steps: readonly Step[], isNarrow: boolean, chance: Chance): Step[] {
  const others = [SEMAPHORE, READ_WRITE, FORCED, ...MUTEXES, ...BRIEFS];
  const used = steps.flatMap((step) => (step.do === "hold" && TREE.includes(step.lock) ? step.lock : []));
  return withSets(steps, {
    ...{ others, pooled: [...new Set(used)], isNarrow, hands: CLIENTS * HANDS },
    ...{ withinMs: isNarrow ? NARROW_MS : FOR_MS, anyHold: (base) => hold(base, chance) },
    chance,
  });
}

function inQueues(steps: readonly Step[], isNarrow: boolean, chance: Chance): Step[] {
  const withinMs = isNarrow ? NARROW_MS : FOR_MS;
  const anyHold = (base: OfClient) => hold(base, chance);
  return withQueueRules(steps, { hands: CLIENTS * HANDS, withinMs, anyHold, chance });
}

/** In this share of all runs some locks have rates, and clients spend instead of other things that they would do. */
const RATED_SHARE = 0.35;

function isRated(seed: number): boolean {
  return chanceOf(seed, "are-rated")() < RATED_SHARE;
}

/** Of names beside those that are only spent. */
const RATED_TOO_SHARE = 0.3;
const SPENDS_SHARE = 0.6;
/** Beside those that take the place of other steps. */
const SPENDS = 16;

function withRates(steps: readonly Step[], isNarrow: boolean, chance: Chance): Step[] {
  const spending = steps.map((step) => {
    const mayBe = step.do !== "fault" && (isNarrow || step.do === "hold");
    if (!mayBe || chance() >= SPENDS_SHARE) return step;
    const { hand, atMs } = step;
    return spend({ hand, atMs }, isNarrow ? SPENT : oneOf(SPENDABLE, chance), chance);
  });
  const rates = RATED.flatMap((target, index) =>
    index < 2 || chance() < RATED_TOO_SHARE ? ratesOf(target, chance) : [],
  );
  const more = Array.from({ length: SPENDS }, () => {
    const base = {
      hand: Math.floor(chance() * CLIENTS * HANDS),
      atMs: between(chance, 0, isNarrow ? NARROW_MS : FOR_MS),
    };
    return spend(base, isNarrow ? SPENT : oneOf(SPENDABLE, chance), chance);
  });
  return [...spending, ...more, ...rates];
}

/** One is set early, and mostly stays, or is set again. */
function ratesOf(target: string, chance: Chance): SetRate[] {
  const usual = oneOf(RATES, chance);
  const changes = Math.floor(chance() * 3);
  return Array.from({ length: 1 + changes }, (_, index) => ({
    do: "rate" as const,
    hand: Math.floor(chance() * CLIENTS * HANDS),
    atMs: index === 0 ? between(chance, 0, 300) : between(chance, 0, FOR_MS),
    target,
    rate: chance() < 0.7 ? usual : chance() < 0.3 ? null : oneOf(RATES, chance),
  }));
}

function spend(base: OfClient, lock: string, chance: Chance): Spend {
  const kind = chance();
  const waitMs = kind < 0.5 ? 0 : kind < 0.85 ? between(chance, 100, 3_000) : between(chance, 8_000, 12_000);
  const agains = Math.max(0, Math.floor(chance() * 5) - 2);
  return {
    ...base,
    do: "spend",
    lock,
    permits: chance() < 0.7 ? 1 : 2,
    waitMs,
    isStreamed: chance() < 0.5,
    isDoubled: chance() < 0.25,
    againMs: Array.from({ length: agains }, () => workMs(chance)),
  };
}

/** In this share of all runs some locks are under pools. */
const POOLED_SHARE = 0.35;
/** Chosen so that those seeds have none which show something else. */
const POOLED_PART = "with-pools 27";

export function isPooled(seed: number): boolean {
  return chanceOf(seed, POOLED_PART)() < POOLED_SHARE;
}

const POOLED_HOLDS_SHARE = 0.6;
/** Beside those that take the place of other steps. */
const POOLED_HOLDS = 14;
const CALM_SHARE = 0.15;
const CALM_HOLDS = 50;
const MANY_LIMIT = 20;
const POOLED_SPENDS_SHARE = 0.25;
const POOLED_TASKS = 12;
const POOL_LIMITS = [0, 1, 1, 2, 2, 3, 3, 4, 5];
const POOL_RATED_SHARE = 0.35;
const POOL_REMOVED_SHARE = 0.15;

function withPools(steps: readonly Step[], isNarrow: boolean, chance: Chance): Step[] {
  if (!isNarrow && chance() < CALM_SHARE) return calmSteps(chance);
  const world = isNarrow ? IN_TREE : oneOf(POOLED_WORLDS, chance);
  const withinMs = isNarrow ? NARROW_MS : FOR_MS;
  const { locks } = world;
  const pooled = steps.map((step) => {
    const mayBe = locks.length > 0 && step.do !== "fault" && (isNarrow || step.do === "hold");
    return mayBe && chance() < POOLED_HOLDS_SHARE ? pooledStep(step, locks, chance) : step;
  });
  const more: Step[] = Array.from({ length: locks.length > 0 ? POOLED_HOLDS : POOLED_TASKS }, (_, index) => {
    const base = someone(0, withinMs, chance);
    if (locks.length > 0) return pooledStep(base, locks, chance);
    return chance() < 0.4 ? make(base, steps.length + index, chance) : work(base, chance);
  });
  const pools = [world.wide, world.narrow].flatMap((target) => {
    const first = setPool(someone(0, chance() < 0.5 ? 300 : withinMs * 0.6, chance), target, chance);
    const changes = Math.floor(chance() * 5);
    return [
      first,
      ...Array.from({ length: changes }, () => setPool(someone(0, withinMs, chance), target, chance)),
    ];
  });
  return [...pooled, ...more, ...(locks === TREE ? limitsOfMany(withinMs, chance) : []), ...pools];
}

/** Nothing fails, and the pools stay as they are made: so it shows who waits for longer than those that came later. */
function calmSteps(chance: Chance): Step[] {
  const holds = Array.from({ length: CALM_HOLDS }, () => {
    const lock = oneOf([...TREE, ...MANY, ...MANY], chance);
    return pooledStep(someone(0, FOR_MS, chance), [lock], chance);
  });
  const pools = [IN_TREE.wide, IN_TREE.narrow].map((target) => {
    const { hand, atMs } = someone(0, 30, chance);
    return { hand, atMs, do: "pool" as const, target, limit: oneOf([2, 3, 3], chance), rate: null };
  });
  return [...holds, ...limitsOfMany(0, chance), ...pools];
}

/** `changesMs`: they may change until then; 0: they stay. */
function limitsOfMany(changesMs: number, chance: Chance): Step[] {
  return MANY.flatMap((lock) => {
    const usual = { ...someone(0, 30, chance), do: "limit" as const, lock, limit: MANY_LIMIT };
    if (changesMs === 0 || chance() >= 0.3) return [usual];
    return [usual, { ...usual, ...someone(0, changesMs, chance), limit: Math.floor(chance() * 6) }];
  });
}

function someone(fromMs: number, untilMs: number, chance: Chance): OfClient {
  return { hand: Math.floor(chance() * CLIENTS * HANDS), atMs: between(chance, fromMs, untilMs) };
}

function pooledStep({ hand, atMs }: OfClient, locks: readonly string[], chance: Chance): ClientStep {
  const base = { hand, atMs };
  const lock = oneOf(locks, chance);
  const permits = MANY.includes(lock) ? 1 + Math.floor(chance() * 3) : 1;
  if (chance() < POOLED_SPENDS_SHARE) return { ...spend(base, lock, chance), permits };
  const kind = chance();
  return {
    ...hold(base, chance),
    lock,
    mode: !lock.endsWith("read-write") ? "permit" : chance() < 0.4 ? "exclusive" : "shared",
    permits,
    waitMs: kind < 0.25 ? 0 : kind < 0.8 ? between(chance, 100, 4_000) : between(chance, 8_000, 12_000),
    holdMs: chance() < 0.25 ? between(chance, 500, 3_000) : between(chance, 0, 300),
  };
}

function setPool(base: OfClient, target: string, chance: Chance): SetPool {
  const kind = chance();
  if (kind < POOL_REMOVED_SHARE) return { ...base, do: "pool", target, limit: null, rate: null };
  const rate = chance() < POOL_RATED_SHARE ? oneOf(RATES, chance) : null;
  const limit = rate && chance() < 0.4 ? null : oneOf(POOL_LIMITS, chance);
  return { ...base, do: "pool", target, limit, rate };
}

function inHaste(steps: readonly Step[], chance: Chance): Step[] {
  return steps.map((step) => {
    const mayBe = step.do === "hold" || step.do === "spend" || step.do === "work";
    return mayBe && chance() < HASTE_SHARE ? { ...step, firstMs: between(chance, 0, HASTE_MS_MAX) } : step;
  });
}

function narrowStep(
  base: OfClient,
  kind: (typeof NARROW_KINDS)[number],
  index: number,
  chance: Chance,
): ClientStep {
  if (kind === "work") return chance() < 0.3 ? make(base, index, chance) : work(base, chance);
  if (kind === "count") return { ...base, do: "count", lock: COUNTERS[0] as string };
  if (kind === "limit") return { ...base, do: "limit", lock: SEMAPHORE, limit: 1 + Math.floor(chance() * 9) };
  return { ...hold(base, chance), lock: MUTEXES[0] as string, mode: "permit", permits: 1 };
}

function fault(kind: FaultKind, chance: Chance): Fault {
  return {
    do: "fault",
    fault: kind,
    atMs: between(chance, 200, FOR_MS),
    forMs: chance() < 0.3 ? between(chance, 2_000, 6_000) : between(chance, 50, 1_500),
    client: Math.floor(chance() * CLIENTS),
    server: Math.floor(chance() * SERVERS),
    force: chance(),
  };
}

function clientStep(base: OfClient, index: number, chance: Chance): ClientStep {
  const kind = chance();
  if (kind < 0.6) return hold(base, chance);
  if (kind < 0.7) return { ...base, do: "count", lock: oneOf([...COUNTERS, ERASED], chance) };
  if (kind < 0.72) return { ...base, do: "erase" };
  if (kind < 0.79) {
    const lock = oneOf([SEMAPHORE, PATTERNED], chance);
    return { ...base, do: "limit", lock, limit: Math.floor(chance() * 4) };
  }
  if (kind < 0.82) return { ...base, do: "force", lock: FORCED };
  return kind < 0.89 ? make(base, index, chance) : work(base, chance);
}

function make(base: OfClient, index: number, chance: Chance): Make {
  const attempts = 2 + Math.floor(chance() * 10);
  return { ...base, do: "make", task: `${TASKS}${index}`, attempts, restMs: restMs(chance) };
}

function work(base: OfClient, chance: Chance): Work {
  const waitMs = chance() < 0.3 ? 0 : between(chance, 50, 3_000);
  const max = 1 + Math.floor(chance() * 2);
  return { ...base, do: "work", waitMs, workMs: workMs(chance), max, restMs: restMs(chance) };
}

function restMs(chance: Chance): number {
  return chance() < 0.3 ? Math.round(between(chance, 100, 1_500)) : 0;
}

function hold(base: OfClient, chance: Chance): Hold {
  const lock = oneOf(LOCKS, chance);
  const isSemaphore = lock === SEMAPHORE || lock === PATTERNED;
  return {
    ...base,
    do: "hold",
    lock,
    mode: lock !== READ_WRITE ? "permit" : chance() < 0.4 ? "exclusive" : "shared",
    permits: isSemaphore ? 1 + Math.floor(chance() * 2) : 1,
    ttlMs: chance() < 0.5 ? 1_000 : TTL_MS,
    waitMs: chance() < 0.2 ? 0 : between(chance, 100, 4_000),
    holdMs: workMs(chance),
  };
}

/** Mostly short, sometimes longer than a ttl. */
function workMs(chance: Chance): number {
  return chance() < 0.1 ? between(chance, 1_000, 3_000) : between(chance, 0, 300);
}
