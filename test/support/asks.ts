// Commands as a client asks an engine for them: engine.ask(asks.renew(lease)).

import type { ClaimRef } from "../../server/core/claim.ts";
import type {
  Caller,
  DeleteRecord,
  ForceRelease,
  Release,
  Renew,
  SetLimit,
  UpdateRecord,
} from "../../server/core/command.ts";
import type { RunResult } from "../../server/core/lock.ts";

export function renew(ref: ClaimRef, ttlUs?: number, caller?: Caller): Renew {
  return { verb: "renew", ref, ttlUs, caller };
}

export function release(ref: ClaimRef, result: RunResult | null = null, caller?: Caller): Release {
  return { verb: "release", ref, result, caller };
}

export function setLimit(
  name: string,
  limit: number | null,
  expectedVersion?: bigint,
  reason = "",
  caller?: Caller,
): SetLimit {
  return { verb: "set_limit", name, limit, expectedVersion, reason, caller };
}

export function forceRelease(
  name: string,
  ticketNumber: bigint | null,
  reason: string,
  caller?: Caller,
): ForceRelease {
  return { verb: "force_release", name, ticketNumber, reason, caller };
}

/** Changes what is given, and leaves the rest of the record as it is. */
export function updateRecord(
  update: Pick<UpdateRecord, "name"> & Partial<UpdateRecord>,
  caller?: Caller,
): UpdateRecord {
  const rest = {
    notBefore: undefined,
    attemptsLeft: undefined,
    status: undefined,
    expectedVersion: undefined,
  };
  return { ...rest, ...update, verb: "update_record", caller };
}

export function deleteRecord(name: string, expectedVersion?: bigint, caller?: Caller): DeleteRecord {
  return { verb: "delete_record", name, expectedVersion, caller };
}
