// What would follow at many locks if a setting for them changed.

import type { LockJson } from "#proto/rowlock/v1/lock_pb.js";
import { call } from "./api.ts";
import { Trouble, useAsked, useNowMs } from "./parts.tsx";
import { type Change, whoNext } from "./who-next.ts";
import { counted, shown, someOf } from "./words.ts";

interface ManyProps {
  readonly target: string;
  readonly isPattern: boolean;
  readonly change: Pick<Change, "limit" | "rate">;
}

/** What would follow at the busy locks that a setting is for, up to one page of them. */
export function WhatFollowsForMany({ target, isPattern, change }: ManyProps) {
  const nowMs = useNowMs();
  const prefix = isPattern ? target.slice(0, -1) : target;
  const { value, trouble } = useAsked(
    () => call("ListLocks", { prefix, busyOnly: true, pageSize: 1_000 }),
    prefix,
    { pauseMs: 1_000 },
  );
  if (trouble) return <Trouble text={trouble} />;
  if (!value) return null;
  const touched = (value.locks ?? []).flatMap((lock) => {
    const atLock = changeAt(lock, target, isPattern, change);
    return Object.keys(atLock).length > 0
      ? { lock, limit: atLock.limit, next: whoNext(lock, atLock, nowMs) }
      : [];
  });
  const granting = touched.filter(({ next }) => next.granted.length > 0);
  const count = granting.reduce((sum, { next }) => sum + next.granted.length, 0);
  const draining = touched.filter(
    ({ lock, limit }) => limit !== undefined && Number(lock.heldPermits ?? 0) > limit,
  );
  return (
    <div class="follows" role="status">
      <h3>What probably follows</h3>
      <p>
        Of {counted(touched.length, "busy lock")} to which this applies
        {value.nextPageToken ? ", as far as one page shows" : ""},{" "}
        {count === 0
          ? "none grants to a waiter at once."
          : `${counted(granting.length, "lock")} would grant to ${counted(count, "waiter")} at once: ${someOf(
              granting.map(({ lock }) => shown(lock.name ?? "")),
              granting.length,
            )}.`}
      </p>
      {draining.length > 0 ? (
        <p>{counted(draining.length, "lock")} would have to drain first. No lease is ended by that.</p>
      ) : null}
    </div>
  );
}

/** What of the change the lock would have; nothing if other settings decide about it. */
function changeAt(
  { name, limit, rate }: LockJson,
  target: string,
  isPattern: boolean,
  change: ManyProps["change"],
): ManyProps["change"] {
  if (!isPattern) return name === target ? change : {};
  return {
    ...(change.limit !== undefined && isUnder(limit, target) ? { limit: change.limit } : {}),
    ...(change.rate !== undefined && isUnder(rate, target) ? { rate: change.rate } : {}),
  };
}

/** Whether this pattern decides about what is in force, or would if it were set. */
function isUnder(inForce: LockJson["limit"] | LockJson["rate"], pattern: string): boolean {
  if (inForce?.source === "LIMIT_SOURCE_NAME") return false;
  return inForce?.source !== "LIMIT_SOURCE_PATTERN" || (inForce.pattern ?? "").length <= pattern.length;
}
