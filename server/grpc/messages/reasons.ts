// The reasons of refusals and of ended claims, as the contract names them. Pure.

import { RefusalReason } from "#proto/rowlock/v1/lock_pb.js";
import type { EndReason } from "../../core/claim.ts";
import type { Refused } from "../../core/command.ts";

const REFUSED: Record<Refused, RefusalReason> = {
  busy: RefusalReason.BUSY,
  paused: RefusalReason.PAUSED,
  failed_over: RefusalReason.PAUSED,
  queue_full: RefusalReason.QUEUE_FULL,
  never_fits: RefusalReason.NEVER_FITS,
  not_before: RefusalReason.NOT_BEFORE,
  exhausted: RefusalReason.EXHAUSTED,
  status_mismatch: RefusalReason.STATUS_MISMATCH,
};

const ENDED: Record<EndReason, RefusalReason> = {
  released: RefusalReason.RELEASED,
  expired: RefusalReason.EXPIRED,
  force_released: RefusalReason.FORCE_RELEASED,
  cancelled: RefusalReason.CANCELLED,
  lapsed: RefusalReason.LAPSED,
  timed_out: RefusalReason.TIMED_OUT,
  never_fits: RefusalReason.NEVER_FITS,
  exhausted: RefusalReason.EXHAUSTED,
  status_mismatch: RefusalReason.STATUS_MISMATCH,
};

/** Why a request was refused. */
export function refusedReason(reason: Refused): RefusalReason {
  return REFUSED[reason];
}

/** How a claim ended. */
export function reasonMessage(reason: EndReason): RefusalReason {
  return ENDED[reason];
}
