// The further locks of a claim for several: how a caller names them, and how they are sent and shown.

import { create } from "@bufbuild/protobuf";
import type { ClaimedLock, Lease } from "#proto/rowlock/v1/lock_pb.js";
import { type WantedLock as ProtoWanted, WantedLockSchema } from "#proto/rowlock/v1/lock_service_pb.js";
import { type Mode, modeOf, protoMode } from "./mode.ts";

/** A further lock: its name, which takes one permit, or with how to take it. */
export type WantedLock =
  | string
  | {
      readonly name: string;
      /** "permit" by default, whatever the mode of the first lock. */
      readonly mode?: Mode;
      /** 1 by default. */
      readonly permits?: number;
    };

/** One of the other locks of a claim for several. */
export interface ClaimedLockView {
  readonly lockName: string;
  readonly mode: Mode;
  readonly permits: number;
  /** The fencing token of this lock; unset: the claim was not granted. */
  readonly token?: bigint;
}

export function wantedLock(wanted: WantedLock): ProtoWanted {
  const { name, mode = "permit", permits = 0 } = typeof wanted === "string" ? { name: wanted } : wanted;
  return create(WantedLockSchema, { name, mode: protoMode(mode), permits });
}

/** The names of all locks of a request, the first one first. */
export function namesOf(name: string, also: readonly WantedLock[] = []): readonly [string, ...string[]] {
  return [name, ...also.map((each) => (typeof each === "string" ? each : each.name))];
}

export function claimedLockView({ lockName, mode, permits, fencingToken }: ClaimedLock): ClaimedLockView {
  return { lockName, mode: modeOf(mode), permits, ...(fencingToken !== 0n && { token: fencingToken }) };
}

/** The fencing tokens of all locks of a lease by name, the first one first. */
export function tokensOf({ lockName, fencingToken, also }: Lease): ReadonlyMap<string, bigint> {
  return new Map([
    [lockName, fencingToken],
    ...also.map((each) => [each.lockName, each.fencingToken] as const),
  ]);
}
