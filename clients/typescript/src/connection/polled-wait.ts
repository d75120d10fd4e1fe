// A wait in the queue without a stream: it polls, which means that it repeats the same Acquire. Each poll is a sign of
// life that keeps the place, returns the place, and fetches the grant, which is therefore not provisional.

import { setTimeout as pause } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import type { Ticket } from "#proto/rowlock/v1/lock_pb.js";
import {
  type AcquireRequest,
  AcquireRequestSchema,
  type AcquireResponse,
  type QueueRequest,
  type WaitInQueueRequest,
  type WaitInQueueResponse,
  WaitInQueueResponseSchema,
} from "#proto/rowlock/v1/lock_service_pb.js";
import type { Clock } from "../clock.ts";
import { msOf } from "../times.ts";

/** The interval of polls. It is shorter if the caller wants positions more often, and longer if many waits poll. */
const POLL_EVERY_MS_MAX = 1_000;
const POLL_EVERY_MS_MIN = 100;
const POLLS_PER_SECOND_MAX = 500;
/** Polls within the time for which the place is kept, so that the place survives two lost answers. */
const POLLS_PER_KEPT_FOR = 4;

export interface PolledWaitOptions {
  readonly clock: Clock;
  readonly acquire: (request: AcquireRequest) => Promise<AcquireResponse>;
  /** The number of open waits of the connection. */
  readonly count: () => number;
  readonly signal: AbortSignal;
  /** Takes each new place, which the server reported at `basisMs` or later. */
  readonly moved: (response: WaitInQueueResponse, basisMs: number) => void;
}

/** Resolves with the end of the wait; rejects with a RowlockError, or when `signal` is aborted. */
export async function waitByPolling(
  wait: WaitInQueueRequest,
  options: PolledWaitOptions,
): Promise<{ readonly response: WaitInQueueResponse; readonly basisMs: number }> {
  const { clock, acquire, count, signal, moved } = options;
  if (wait.target.case !== "request") throw new Error("Only a request can be polled.");
  const request = enqueuing(wait.target.value);
  const intervalMs = wait.minUpdateInterval ? msOf(wait.minUpdateInterval) : POLL_EVERY_MS_MAX;
  let shown: Ticket | undefined;
  let shownMs = Number.NEGATIVE_INFINITY;
  for (;;) {
    const basisMs = clock.now();
    const { outcome } = await acquire(request);
    if (outcome.case !== "ticket") return { response: endOf(outcome), basisMs };
    const ticket = outcome.value;
    const hasMoved =
      ticket.ahead !== shown?.ahead ||
      ticket.permitsAhead !== shown.permitsAhead ||
      ticket.pool !== shown.pool ||
      ticket.waitsFor !== shown.waitsFor;
    if (hasMoved && basisMs - shownMs >= intervalMs) {
      moved(create(WaitInQueueResponseSchema, { update: { case: "position", value: ticket } }), basisMs);
      shown = ticket;
      shownMs = basisMs;
    }
    const wantedMs = Math.max(POLL_EVERY_MS_MIN, Math.min(POLL_EVERY_MS_MAX, intervalMs));
    const crowdedMs = (count() / POLLS_PER_SECOND_MAX) * 1_000;
    const keptMs = ticket.keptFor ? msOf(ticket.keptFor) / POLLS_PER_KEPT_FOR : POLL_EVERY_MS_MAX;
    await pause(Math.min(Math.max(wantedMs, crowdedMs), keptMs), undefined, { signal });
  }
}

function enqueuing(request: QueueRequest): AcquireRequest {
  const { name, mode, permits, terms, requestId, maxWait, spendOnly, also } = request;
  return create(AcquireRequestSchema, {
    name,
    mode,
    permits,
    ...(terms && { terms }),
    requestId,
    spendOnly,
    also,
    whenBusy: { case: "enqueue", value: maxWait ? { maxWait } : {} },
  });
}

/** Converts the last answer to the last message of a stream; the caller handles an unknown outcome. */
function endOf(outcome: AcquireResponse["outcome"]): WaitInQueueResponse {
  const update: WaitInQueueResponse["update"] =
    outcome.case === "lease"
      ? { case: "granted", value: outcome.value }
      : outcome.case === "refusal" || outcome.case === "ended" || outcome.case === "spent"
        ? outcome
        : { case: undefined };
  return create(WaitInQueueResponseSchema, { update });
}
