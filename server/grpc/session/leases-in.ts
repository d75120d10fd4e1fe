// The leases that an answer of a method tells its client of, whatever the method.

import type { MessageInitShape } from "@bufbuild/protobuf";
import type { LeaseSchema } from "#proto/rowlock/v1/lock_pb.js";
import { durationMessage, spanUs } from "../messages/times.ts";

export type AnyLease = MessageInitShape<typeof LeaseSchema>;

/** One of several fields, as Acquire, WaitInQueue, and each of the leases of a RenewedLeases have it. */
interface Choice {
  readonly case?: string | undefined;
  readonly value?: unknown;
}

export function leasesIn(answer: object): readonly AnyLease[] {
  if ("lease" in answer) return [answer.lease as AnyLease];
  if ("leaseId" in answer) return [answer as AnyLease];
  if ("leases" in answer) return (answer.leases as readonly object[]).flatMap(leasesIn);
  const { outcome, update } = answer as { readonly outcome?: Choice; readonly update?: Choice };
  const choice = outcome ?? update;
  return choice?.case === "lease" || choice?.case === "granted" ? [choice.value as AnyLease] : [];
}

/** Leaves a lease nothing: it has ended since its answer was made. */
export function endNow(lease: AnyLease): void {
  lease.ttl = durationMessage(0);
}

/**
 * Sets what a lease has left to what it has left now: its answer was made when it was decided, and may have been on its way
 * here for as long as a commit takes, while its client was heard again and counts from then.
 */
export function shorten(lease: AnyLease, nowUs: number): void {
  const { ttl, expiresAt } = lease;
  if (!ttl || !expiresAt) return;
  const leftUs = spanUs(expiresAt) - nowUs;
  if (leftUs < spanUs(ttl)) lease.ttl = durationMessage(Math.floor(leftUs));
}
