// An expected no, by its reason.

import type { Refusal as RefusalMessage } from "#proto/rowlock/v1/lock_pb.js";
import { RefusalReason } from "#proto/rowlock/v1/lock_pb.js";
import { msOf } from "./times.ts";
import { type ClaimView, claimView, type LimitView, limitView } from "./views.ts";

interface Common {
  /** What a person reads. */
  readonly message: string;
  /** When another try may be worth while: a hint. */
  readonly retryAfterMs?: number;
}

/** Why there is no lock. */
export type Refusal =
  /** Others hold it, or wait for it; or the wait is over. */
  | (Common & { readonly reason: "BUSY" | "TIMED_OUT"; readonly holders: readonly ClaimView[] })
  /** Nothing is granted at present. `limit` is set where that is because the limit is 0. */
  | (Common & { readonly reason: "PAUSED"; readonly limit?: LimitView })
  /** More permits were asked for than the limit allows in all. */
  | (Common & { readonly reason: "NEVER_FITS"; readonly limit?: LimitView })
  | (Common & { readonly reason: "QUEUE_FULL" })
  /** What the lock remembers stands in the way: it is not due yet, or has no attempts left. */
  | (Common & { readonly reason: "NOT_BEFORE" | "EXHAUSTED" })
  /** The lock has this status, which is none of those wanted. */
  | (Common & { readonly reason: "STATUS_MISMATCH"; readonly status: string })
  /** The claim has ended: somebody released its ticket, or an operator ended it. */
  | (Common & { readonly reason: "CANCELLED" | "LAPSED" | "EXPIRED" | "RELEASED" | "FORCE_RELEASED" });

export type RefusalName = Refusal["reason"];

export function refusalName(reason: RefusalReason): RefusalName {
  return RefusalReason[reason] as RefusalName;
}

export function refusalOf(refused: RefusalMessage): Refusal {
  const { message, holders, retryAfter, limit } = refused;
  const reason = refusalName(refused.reason);
  const common = { message, ...(retryAfter && { retryAfterMs: msOf(retryAfter) }) };
  switch (reason) {
    case "BUSY":
    case "TIMED_OUT":
      return { ...common, reason, holders: holders.map(claimView) };
    case "PAUSED":
    case "NEVER_FITS":
      return { ...common, reason, ...(limit && { limit: limitView(limit) }) };
    case "STATUS_MISMATCH":
      return { ...common, reason, status: refused.status };
    default:
      return { ...common, reason };
  }
}
