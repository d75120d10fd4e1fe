// How a claim ended, as a plain object. It must not decide what an end means to its caller.

import type { ClaimEnd } from "#proto/rowlock/v1/lock_pb.js";
import { EndReason } from "#proto/rowlock/v1/lock_pb.js";
import { dateOf } from "./times.ts";

/** How a claim ends. */
export type EndName = Exclude<keyof typeof EndReason, "UNSPECIFIED">;

/** How a claim ended. What the client concludes without a server has its reason alone. */
export interface ClaimEndView {
  readonly reason: EndName;
  /** By the database's clock. */
  readonly endedAt?: Date;
  /** Who force-released or superseded it: a principal, or an address if the server asks nobody who they are. */
  readonly endedBy?: string;
  /** The reason that came with its forced release. */
  readonly note?: string;
  /** The lock's status at that time; set for STATUS_MISMATCH. After a run, the one that it left, if the lock has a record. */
  readonly status?: string;
  /** Of a claim for several locks: the one because of which it ended; set for NEVER_FITS, EXHAUSTED and STATUS_MISMATCH. */
  readonly lockName?: string;
}

export function endName(reason: EndReason): EndName {
  return EndReason[reason] as EndName;
}

export function claimEndView({ reason, endedAt, endedBy, note, status, lockName }: ClaimEnd): ClaimEndView {
  return {
    reason: endName(reason),
    ...(endedAt && { endedAt: dateOf(endedAt) }),
    ...(endedBy !== "" && { endedBy }),
    ...(note !== "" && { note }),
    ...((reason === EndReason.STATUS_MISMATCH || status !== "") && { status }),
    ...(lockName !== "" && { lockName }),
  };
}
