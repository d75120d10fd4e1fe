// How long a wait is likely to last, judged by how long recent leases of the lock were held. Plays the wait some times:
// each holder and each waiter before the claim holds the lock as long as one of the recent leases, drawn at random, and
// grants follow the rules of the core. Pure: the draws have a fixed seed, so the same rows give the same estimate.

import type { Claim } from "../../core/claim.ts";
import { fits } from "../../core/limit.ts";
import { countHolder, type Lock } from "../../core/lock.ts";
import { ESTIMATED_FROM_MAX, ESTIMATED_FROM_MIN, PLAYED_WAITS } from "../engine-bounds.ts";
import type { WaitEstimate } from "../history.ts";

type Wanted = Pick<Claim, "mode" | "permits">;

export interface PlayedWait {
  readonly nowUs: number;
  readonly lock: Lock;
  readonly limit: number;
  /** The oldest holders. */
  readonly holders: readonly Claim[];
  /** The first of `ahead` waiters before the claim. */
  readonly waiters: readonly Wanted[];
  readonly ahead: number;
  /** The claim that waits. */
  readonly asked: Wanted;
  /** Ended claims of the lock, newest first. */
  readonly recent: readonly Claim[];
}

/** How long the recent leases were held that somebody released. */
export function heldTimesUs(recent: readonly Claim[]): number[] {
  return recent
    .filter(({ endReason, grantedAtUs }) => endReason === "released" && grantedAtUs !== null)
    .slice(0, ESTIMATED_FROM_MAX)
    .map(({ endedAtUs, grantedAtUs }) => Math.max(0, (endedAtUs ?? 0) - (grantedAtUs ?? 0)));
}

/** null: there are too few recent leases for an estimate. The claim must fit sooner or later. */
export function estimate(wait: PlayedWait): WaitEstimate | null {
  const times = heldTimesUs(wait.recent);
  if (times.length < ESTIMATED_FROM_MIN) return null;
  const draws = new Draws(times);
  const waits = Array.from({ length: PLAYED_WAITS }, () => played(wait, draws)).sort((a, b) => a - b);
  const at = (share: number) => Math.round(waits[Math.floor(share * (waits.length - 1))] as number);
  return { lowUs: at(0.1), medianUs: at(0.5), highUs: at(0.9), leases: times.length };
}

/** Time until the claim is granted, in one play that begins at time 0. */
function played({ nowUs, lock, limit, holders, waiters, ahead, asked }: PlayedWait, draws: Draws): number {
  const counted = { ...lock };
  const share = weightOf(lock, holders);
  const holding = holders.map(({ mode, permits, grantedAtUs }) => ({
    asked: { mode, permits: mode === "permit" ? share * permits : permits },
    endsUs: draws.leftUs(Math.max(0, nowUs - (grantedAtUs ?? nowUs))),
  }));
  let timeUs = 0;
  for (const waiter of [...waiters, asked]) {
    while (!fits(counted, limit, waiter) && holding.length > 0) {
      const first = holding.reduce((a, b) => (b.endsUs < a.endsUs ? b : a));
      holding.splice(holding.indexOf(first), 1);
      timeUs = Math.max(timeUs, first.endsUs);
      countHolder(counted, first.asked, -1);
      // Whoever was not read has gone with the last of those that were.
      if (holding.length === 0) Object.assign(counted, NOBODY);
    }
    // A waiter that never fits ends when its turn comes.
    if (!fits(counted, limit, waiter)) continue;
    countHolder(counted, waiter);
    holding.push({ asked: waiter, endsUs: timeUs + draws.anyUs() });
  }
  // Waiters that were not read take as long as those that were.
  return waiters.length === 0 ? timeUs : (timeUs * ahead) / waiters.length;
}

const NOBODY = { heldPermits: 0, sharedHolders: 0, exclusiveHolders: 0, holders: 0 };

/** How many permits stand for one of a holder that was read, as those stand for all. */
function weightOf({ heldPermits }: Lock, holders: readonly Wanted[]): number {
  const read = holders.reduce((sum, { mode, permits }) => sum + (mode === "permit" ? permits : 0), 0);
  return read === 0 ? 1 : heldPermits / read;
}

/** Draws from times. Linear congruential, as any generator is good enough here. */
class Draws {
  readonly #timesUs: readonly number[];
  #state = 1;

  constructor(timesUs: readonly number[]) {
    this.#timesUs = [...timesUs].sort((a, b) => a - b);
  }

  anyUs(from = 0): number {
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0;
    const index = from + Math.floor((this.#state / 2 ** 32) * (this.#timesUs.length - from));
    return this.#timesUs[index] as number;
  }

  /** What is left for a holder of this age. One that has outlasted all recent leases holds on as long as a new one. */
  leftUs(ageUs: number): number {
    const from = this.#timesUs.findIndex((timeUs) => timeUs > ageUs);
    return from === -1 ? this.anyUs() : this.anyUs(from) - ageUs;
  }
}
