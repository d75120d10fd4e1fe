// Queue rules in a run: a mutex and a semaphore whose shares are fair between groups of claims, of which one asks for most, and a
// mutex where the newest wins. In some runs the rules change while claims wait, and there may be another order.

import type { Hold, OfClient, Rules, SetRules, Step } from "./step.ts";
import { between, type Chance, chanceOf, oneOf } from "./world/chance.ts";

/** Their claims are of groups. */
export const SHARED = "share/";
const SHARED_ONE = "share/one";
const SHARED_MANY = "share/many";
const NEWEST = "newest/0";
const MANY_LIMIT = 3;
/** The key of the label. */
export const GROUP = "group";
const GROUPS = ["greedy", "greedy", "greedy", "greedy", "b", "b", "c", "d"];

/** In this share of all runs some locks have queue rules. */
const SHARE = 0.35;
/** Chosen so that those seeds have none which show something else. */
const PART = "with-queue-rules 165456";

export function hasQueueRules(seed: number): boolean {
  return chanceOf(seed, PART)() < SHARE;
}

const REPLACED_SHARE = 0.4;
/** Beside those that take the place of other steps. */
const HOLDS = 24;
const CHANGED_SHARE = 0.4;
const TRIES_SHARE = 0.1;

export interface Asking {
  readonly hands: number;
  readonly withinMs: number;
  readonly anyHold: (base: OfClient) => Hold;
  readonly chance: Chance;
}

export function withQueueRules(steps: readonly Step[], { hands, withinMs, anyHold, chance }: Asking): Step[] {
  const someone = (fromMs: number, untilMs: number): OfClient => ({
    hand: Math.floor(chance() * hands),
    atMs: between(chance, fromMs, untilMs),
  });
  const asking = (hold: Hold): Hold => {
    const { also: _also, ...alone } = hold;
    const lock = oneOf([SHARED_ONE, SHARED_MANY, SHARED_MANY, NEWEST], chance);
    const waitMs = chance() < TRIES_SHARE ? 0 : between(chance, 500, 12_000);
    const permits = lock === SHARED_MANY ? 1 + Math.floor(chance() * 2) : 1;
    return {
      ...alone,
      lock,
      mode: "permit",
      permits,
      waitMs,
      ...(lock !== NEWEST && { group: oneOf(GROUPS, chance) }),
    };
  };
  const replaced = steps.map((step) =>
    step.do === "hold" && chance() < REPLACED_SHARE ? asking(step) : step,
  );
  const added = Array.from({ length: HOLDS }, () => asking(anyHold(someone(0, withinMs))));
  const shared: Rules = { shareBy: `label:${GROUP}` };
  const newest: Rules = { waitingMax: 1 + Math.floor(chance() * 2), isNewest: true };
  const rules = [SHARED_ONE, SHARED_MANY, NEWEST].flatMap((lock): SetRules[] => {
    const usual = lock === NEWEST ? newest : shared;
    const first = { ...someone(0, 30), do: "rules" as const, lock, rules: usual };
    if (chance() >= CHANGED_SHARE) return [first];
    const other = { ...someone(0, withinMs), do: "rules" as const, lock, rules: null };
    return [first, other, ...(chance() < 0.5 ? [{ ...first, ...someone(other.atMs, withinMs) }] : [])];
  });
  const limit = { ...someone(0, 30), do: "limit" as const, lock: SHARED_MANY, limit: MANY_LIMIT };
  return [...replaced, ...added, ...rules, limit];
}
