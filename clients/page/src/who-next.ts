// Who would be granted if something changed at a lock, as far as the page can know: by the server's own rule of what fits,
// over the holders and waiters that the server has shown. Pure.

import type { ClaimJson, LockJson, ModeJson, RateJson } from "#proto/rowlock/v1/lock_pb.js";
import { SPENDS } from "../../../server/core/claim.ts";
import { fits, neverFits } from "../../../server/core/limit.ts";
import {
  afterTaking,
  backInUs,
  correctedUntilUs,
  exceedsBurst,
  isAllowed,
  type Rate,
} from "../../../server/core/rate.ts";
import { groupsOf } from "./shares.ts";
import { durationMs, instantMs } from "./words.ts";

/** What would change. */
export interface Change {
  /** The ticket numbers of the claims that would end. */
  readonly ended?: ReadonlySet<string>;
  readonly limit?: number;
  readonly rate?: RateJson;
  /** null: removed. */
  readonly notBeforeMs?: number | null;
  /** null: removed. */
  readonly attemptsLeft?: number | null;
}

export interface Next {
  readonly granted: readonly ClaimJson[];
  /** Waiters that would be turned away, because they ask for more than the limit or the burst of the rate. */
  readonly neverFit: readonly ClaimJson[];
  /** Why nobody more would be granted. */
  readonly after: "nobody waits" | "paused" | "not before" | "no attempts" | "full" | "rate" | "other locks";
  /** The lock has more holders or waiters than the server has listed, so more may be granted. */
  readonly isCut: boolean;
  /** They still have to pass the pools over the lock, of which this says nothing. */
  readonly hasPools: boolean;
}

export function whoNext(lock: LockJson, change: Change, nowMs: number): Next {
  const { holders = [], waiters = [], record } = lock;
  const limit = change.limit ?? lock.limit?.permits ?? 0;
  const stays = ({ ticketNumber = "" }: ClaimJson) => !change.ended?.has(ticketNumber);
  const held = countsOf(
    lock,
    holders.filter((claim) => !stays(claim)),
  );
  // Those that wait at a pool have the lock.
  for (const claim of waiters) if (claim.pool && stays(claim) && !claim.spendOnly) count(held, claim, 1);
  const queue = waiters.filter((claim) => stays(claim) && !claim.pool);
  const notBeforeMs =
    change.notBeforeMs !== undefined
      ? change.notBeforeMs
      : record?.notBefore
        ? instantMs(record.notBefore)
        : null;
  let attempts = change.attemptsLeft !== undefined ? change.attemptsLeft : (record?.attemptsLeft ?? null);
  const rate = rateOf(lock, change.rate);
  let untilUs = untilUsOf(lock, rate);
  const isCut = (lock.holderCount ?? 0) > holders.length || (lock.waiterCount ?? 0) > waiters.length;
  const granted: ClaimJson[] = [];
  const neverFit: ClaimJson[] = [];
  const after = (): Next["after"] => {
    for (const claim of inOrder(queue, lock, stays)) {
      const { permits = 1, spendOnly } = claim;
      const asked = { mode: modeOf(claim.mode), permits, ...(spendOnly && { ttlUs: SPENDS }) };
      if (neverFits(limit, asked) || exceedsBurst(rate, permits)) {
        neverFit.push(claim);
        continue;
      }
      if (limit === 0) return "paused";
      if (!fits(held, limit, asked)) return "full";
      if (attempts === 0) return "no attempts";
      if (notBeforeMs !== null && notBeforeMs > nowMs) return "not before";
      if (!isAllowed(rate, untilUs, permits, NOW)) return "rate";
      // It is granted when its other locks are free, too, and until then nobody passes it.
      if (claim.also?.length) return "other locks";
      granted.push(claim);
      if (rate) untilUs = afterTaking(rate, untilUs, permits, NOW);
      if (!spendOnly) count(held, claim, 1);
      if (attempts !== null) attempts--;
    }
    return "nobody waits";
  };
  return { after: after(), granted, neverFit, isCut, hasPools: (lock.pools ?? []).length > 0 };
}

/**
 * The waiters, in the order in which they are next if each is granted in its turn. The server shows the first of each group before
 * the others where shares are fair, and else the queue in its order.
 */
function* inOrder(
  queue: readonly ClaimJson[],
  lock: LockJson,
  stays: (claim: ClaimJson) => boolean,
): Generator<ClaimJson> {
  const groupAt = groupsOf(lock);
  if (!groupAt) return yield* queue;
  const held = new Map<string, number>();
  const take = (claim: ClaimJson) =>
    held.set(groupAt(claim), (held.get(groupAt(claim)) ?? 0) + (claim.permits ?? 1));
  for (const holder of lock.holders ?? []) if (stays(holder)) take(holder);
  // By who has waited longest for its turn.
  const groups = Map.groupBy(queue, groupAt);
  while (groups.size > 0) {
    const [group, waiters] = [...groups].reduce((least, each) =>
      (held.get(each[0]) ?? 0) < (held.get(least[0]) ?? 0) ? each : least,
    );
    const [claim, ...others] = waiters;
    groups.delete(group);
    if (others.length > 0) groups.set(group, others);
    if (!claim) continue;
    yield claim;
    if (!claim.spendOnly) take(claim);
  }
}

/** Instants of rates count from now. */
const NOW = { nowUs: 0, atLeastUs: 0 };

function rateOf({ rate: inForce }: LockJson, wanted: RateJson | undefined): Rate | null {
  const rate = wanted ?? inForce?.rate;
  if (!rate) return null;
  const { permits = 1, per = "1s", burst } = rate;
  return { permits, perUs: durationMs(per) * 1_000, burst: burst || permits };
}

/** The lock's instant under this rate, as far as the permits that may be taken now say it. */
function untilUsOf(lock: LockJson, rate: Rate | null): number {
  const before = rateOf(lock, undefined);
  if (!rate || !before) return 0;
  return correctedUntilUs(rate, backInUs(before, before.burst - (lock.rate?.available ?? 0)), NOW);
}

interface Held {
  heldPermits: number;
  sharedHolders: number;
  exclusiveHolders: number;
  holders: number;
}

/** What the lock's holders take, without those that would end. The modes never mix, so one holder tells the mode of all. */
function countsOf(lock: LockJson, ended: readonly ClaimJson[]): Held {
  const mode = modeOf(lock.holders?.[0]?.mode);
  const holders = lock.holderCount ?? 0;
  const held: Held = {
    heldPermits: mode === "permit" ? Number(lock.heldPermits ?? 0) : 0,
    sharedHolders: mode === "shared" ? holders : 0,
    exclusiveHolders: mode === "exclusive" ? holders : 0,
    holders,
  };
  for (const claim of ended) count(held, claim, -1);
  return held;
}

function count(held: Held, claim: ClaimJson, by: 1 | -1): void {
  held.holders += by;
  const mode = modeOf(claim.mode);
  if (mode === "permit") held.heldPermits += by * (claim.permits ?? 1);
  else if (mode === "shared") held.sharedHolders += by;
  else held.exclusiveHolders += by;
}

function modeOf(mode: ModeJson | undefined): "permit" | "shared" | "exclusive" {
  if (mode === "MODE_SHARED") return "shared";
  return mode === "MODE_EXCLUSIVE" ? "exclusive" : "permit";
}
