// What each group of a lock holds and waits for, where its shares are fair: as far as the server has listed holders and waiters. Pure.

import type { ClaimJson, LockJson } from "#proto/rowlock/v1/lock_pb.js";
import { groupOf, SHARE_BY_LABEL, SHARE_BY_PRINCIPAL } from "../../../server/core/queue-rules.ts";

export interface Share {
  /** `acme`, or `token:ci` of those without the label. */
  readonly group: string;
  readonly heldPermits: number;
  readonly waiting: number;
}

/** Says of which group a claim is; null: the lock's shares are not fair. */
export function groupsOf({ queueRules }: LockJson): ((claim: ClaimJson) => string) | null {
  const shareBy = queueRules?.rules?.shareBy ?? "";
  if (shareBy === "") return null;
  return ({ principal = "", labels = {} }) => groupOf({ principal, labels }, shareBy);
}

/** The groups, those that hold most first. Empty if the lock's shares are not fair, or if it has neither holders nor waiters. */
export function sharesOf(lock: LockJson): readonly Share[] {
  const { holders = [], waiters = [] } = lock;
  const groupAt = groupsOf(lock);
  if (!groupAt) return [];
  const held = Map.groupBy(holders, groupAt);
  const waiting = Map.groupBy(waiters, groupAt);
  return [...new Set([...held.keys(), ...waiting.keys()])]
    .map((group) => ({
      group: shownGroup(group),
      heldPermits: (held.get(group) ?? []).reduce((sum, { permits = 1 }) => sum + permits, 0),
      waiting: waiting.get(group)?.length ?? 0,
    }))
    .sort((a, b) => b.heldPermits - a.heldPermits || b.waiting - a.waiting);
}

function shownGroup(group: string): string {
  if (group.startsWith(SHARE_BY_LABEL)) return group.slice(SHARE_BY_LABEL.length);
  return group.slice(SHARE_BY_PRINCIPAL.length + 1) || "nobody known";
}
