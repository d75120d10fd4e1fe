// Who would be granted if something changed at a lock, as far as the page can know: by the server's own rule of what fits,
// over the holders and waiters that the server has shown. Pure.

import type { ClaimJson, LockJson, ModeJson } from "#proto/rowlock/v1/lock_pb.js";
import { fits, neverFits } from "../../../server/core/limit.ts";
import { instantMs } from "./words.ts";

/** What would change. */
export interface Change {
  /** The ticket numbers of the claims that would end. */
  readonly ended?: ReadonlySet<string>;
  readonly limit?: number;
  /** null: removed. */
  readonly notBeforeMs?: number | null;
  /** null: removed. */
  readonly attemptsLeft?: number | null;
}

export interface Next {
  readonly granted: readonly ClaimJson[];
  /** Waiters that would be turned away, because they ask for more than the limit. */
  readonly neverFit: readonly ClaimJson[];
  /** Why nobody more would be granted. */
  readonly after: "nobody waits" | "paused" | "not before" | "no attempts" | "full";
  /** The lock has more holders or waiters than the server has listed, so more may be granted. */
  readonly isCut: boolean;
}

export function whoNext(lock: LockJson, change: Change, nowMs: number): Next {
  const { holders = [], waiters = [], record } = lock;
  const limit = change.limit ?? lock.limit?.permits ?? 0;
  const stays = ({ ticketNumber = "" }: ClaimJson) => !change.ended?.has(ticketNumber);
  const held = countsOf(
    lock,
    holders.filter((claim) => !stays(claim)),
  );
  const queue = waiters.filter(stays);
  const notBeforeMs =
    change.notBeforeMs !== undefined
      ? change.notBeforeMs
      : record?.notBefore
        ? instantMs(record.notBefore)
        : null;
  let attempts = change.attemptsLeft !== undefined ? change.attemptsLeft : (record?.attemptsLeft ?? null);
  const isCut = (lock.holderCount ?? 0) > holders.length || (lock.waiterCount ?? 0) > waiters.length;
  const granted: ClaimJson[] = [];
  const neverFit: ClaimJson[] = [];
  const after = (): Next["after"] => {
    for (const claim of queue) {
      const asked = { mode: modeOf(claim.mode), permits: claim.permits ?? 1 };
      if (neverFits(limit, asked)) {
        neverFit.push(claim);
        continue;
      }
      if (limit === 0) return "paused";
      if (!fits(held, limit, asked)) return "full";
      if (attempts === 0) return "no attempts";
      if (notBeforeMs !== null && notBeforeMs > nowMs) return "not before";
      granted.push(claim);
      count(held, claim, 1);
      if (attempts !== null) attempts--;
    }
    return "nobody waits";
  };
  return { after: after(), granted, neverFit, isCut };
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
