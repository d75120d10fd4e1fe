// Finds the leases in a method's answer, whatever the method, and corrects the time that they have left.

import type { MessageInitShape } from "@bufbuild/protobuf";
import type { LeaseSchema } from "#proto/rowlock/v1/lock_pb.js";
import { durationMessage, spanUs } from "../messages/times.ts";

export type AnyLease = MessageInitShape<typeof LeaseSchema>;

/** A oneof, as in Acquire, WaitInQueue, and each of the leases of RenewedLeases. */
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

/** Sets the remaining time of a lease to 0: it has ended since its answer was made. */
export function endNow(lease: AnyLease): void {
  lease.ttl = durationMessage(0);
}

/**
 * Lowers the remaining time of a lease to what is left now. Its answer was made at the decision, and may have taken as
 * long as a commit to get here. Meanwhile the session may have heard its client again, and the client counts from then.
 */
export function shorten(lease: AnyLease, nowUs: number): void {
  const { ttl, expiresAt } = lease;
  if (!ttl || !expiresAt) return;
  const leftUs = spanUs(expiresAt) - nowUs;
  if (leftUs < spanUs(ttl)) lease.ttl = durationMessage(Math.floor(leftUs));
}
