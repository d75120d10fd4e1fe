// The leases that an answer of a method tells its client of, whatever the method.

import type { MessageInitShape } from "@bufbuild/protobuf";
import type { LeaseSchema } from "#proto/rowlock/v1/lock_pb.js";

type AnyLease = MessageInitShape<typeof LeaseSchema>;

/** One of several fields, as Acquire, WaitInQueue and each of the leases of a RenewedLeases have it. */
interface Choice {
  readonly case?: string | undefined;
  readonly value?: unknown;
}

export function leasesIn(answer: object): readonly AnyLease[] {
  if ("lease" in answer) return [answer.lease as AnyLease];
  if ("leases" in answer) return (answer.leases as readonly object[]).flatMap(leasesIn);
  const { outcome, update } = answer as { readonly outcome?: Choice; readonly update?: Choice };
  const choice = outcome ?? update;
  return choice?.case === "lease" || choice?.case === "granted" ? [choice.value as AnyLease] : [];
}
