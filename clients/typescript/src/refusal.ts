// A refusal: an expected negative answer, with its reason.

import type { ClaimEnd, Refusal as RefusalMessage } from "#proto/rowlock/v1/lock_pb.js";
import { RefusalReason } from "#proto/rowlock/v1/lock_pb.js";
import { endName } from "./claim-end.ts";
import { type QueueRulesView, queueRulesInForceView } from "./queue-rules.ts";
import { type RateView, rateInForceView } from "./rates.ts";
import { msOf } from "./times.ts";
import { type ClaimView, claimView, type LimitView, limitView } from "./views.ts";

interface Common {
  /** Text for people. Its wording may change. */
  readonly message: string;
  /** How long until another try may succeed, in milliseconds: a hint. */
  readonly retryAfterMs?: number;
  /** Of a request for several locks: the one that is in the way, which all else here is about. */
  readonly lockName?: string;
}

/** Why the server did not grant the lock. */
export type Refusal =
  /** Others hold the lock or wait for it; or the wait is over. At most the 10 oldest holders, oldest first. */
  | (Common & {
      readonly reason: "BUSY" | "TIMED_OUT";
      readonly holders: readonly ClaimView[];
      /** For BUSY: that of the pool which has no room. For TIMED_OUT: the limit is 0 now, which is why the wait was in vain. */
      readonly limit?: LimitView;
      /** This client itself holds the lock, and locks are not reentrant. */
      readonly heldByYou?: true;
    })
  /** The server grants nothing at present. `limit` is set if the limit is 0. */
  | (Common & { readonly reason: "PAUSED"; readonly limit?: LimitView })
  /**
   * The request is for more permits than the limit allows in all, or than the burst of the rate, which is set then. Or it is for
   * several locks, and the queue of one takes none of these: its queue rules are set then.
   */
  | (Common & {
      readonly reason: "NEVER_FITS";
      readonly limit?: LimitView;
      readonly rate?: RateView;
      readonly queueRules?: QueueRulesView;
    })
  /** The lock has room, but its rate does not allow the grant yet; `retryAfterMs` says when. */
  | (Common & { readonly reason: "RATE"; readonly rate?: RateView })
  /** `limit` is set if the queue is that of a pool, and `queueRules` if they say how many may wait. */
  | (Common & {
      readonly reason: "QUEUE_FULL";
      readonly limit?: LimitView;
      readonly queueRules?: QueueRulesView;
    })
  /** By its record, the lock is not due yet, or has no attempts left. */
  | (Common & { readonly reason: "NOT_BEFORE" | "EXHAUSTED" })
  /** The lock has this status, which is none of the wanted ones. */
  | (Common & { readonly reason: "STATUS_MISMATCH"; readonly status: string })
  /** The claim has ended: somebody released its ticket, an operator ended it, or a newer request took its place (SUPERSEDED). */
  | (Common & {
      readonly reason:
        | "SUPERSEDED"
        | "CANCELLED"
        | "LAPSED"
        | "EXPIRED"
        | "RELEASED"
        | "FAILED"
        | "FORCE_RELEASED";
    });

export type RefusalName = Refusal["reason"];

/** Returns the refusal, with a word about the lease of this client that stands in the way. */
export function heldByYou(refusal: Refusal, words: string): Refusal {
  const { reason, message } = refusal;
  if (reason !== "BUSY" && reason !== "TIMED_OUT") return refusal;
  return { ...refusal, heldByYou: true, message: `${message.replace(/\.$/, "")}: ${words}.` };
}

export function refusalOf({ reason, ...refused }: RefusalMessage): Refusal {
  return viewOf(RefusalReason[reason] as RefusalName, refused);
}

/** A claim that has ended, before or while it was waited for, is no lock either. */
export function refusalOfEnd({ reason, ...ended }: ClaimEnd): Refusal {
  // No end is SPENT here: the server answers a request that has spent with what it took.
  return viewOf(endName(reason) as RefusalName, { ...ended, rate: undefined, queueRules: undefined });
}

type Fields = Pick<
  RefusalMessage,
  "message" | "holders" | "retryAfter" | "limit" | "status" | "rate" | "queueRules" | "lockName"
>;

function viewOf(reason: RefusalName, fields: Fields): Refusal {
  const { message, holders, retryAfter, limit, status, rate, queueRules, lockName } = fields;
  const common = {
    message,
    ...(retryAfter && { retryAfterMs: msOf(retryAfter) }),
    ...(lockName !== "" && { lockName }),
  };
  switch (reason) {
    case "BUSY":
    case "TIMED_OUT":
      return {
        ...common,
        reason,
        holders: holders.map(claimView),
        ...(limit && { limit: limitView(limit) }),
      };
    case "PAUSED":
      return { ...common, reason, ...(limit && { limit: limitView(limit) }) };
    case "QUEUE_FULL":
      return {
        ...common,
        reason,
        ...(limit && { limit: limitView(limit) }),
        ...(queueRules && { queueRules: queueRulesInForceView(queueRules) }),
      };
    case "NEVER_FITS":
      return {
        ...common,
        reason,
        ...(limit && { limit: limitView(limit) }),
        ...(rate && { rate: rateInForceView(rate) }),
        ...(queueRules && { queueRules: queueRulesInForceView(queueRules) }),
      };
    case "RATE":
      return { ...common, reason, ...(rate && { rate: rateInForceView(rate) }) };
    case "STATUS_MISMATCH":
      return { ...common, reason, status };
    default:
      return { ...common, reason };
  }
}
