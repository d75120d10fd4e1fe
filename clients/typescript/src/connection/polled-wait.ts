// A wait in the queue without a stream: the same Acquire is asked again and again. Each time is a sign of life that keeps the
// place, tells it, and comes for the grant, so that this is not provisional.

import { setTimeout as pause } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import type { Ticket } from "#proto/rowlock/v1/lock_pb.js";
import { WhenBusy } from "#proto/rowlock/v1/lock_pb.js";
import {
  type AcquireRequest,
  type AcquireResponse,
  type WaitInQueueRequest,
  type WaitInQueueResponse,
  WaitInQueueResponseSchema,
} from "#proto/rowlock/v1/lock_service_pb.js";
import type { Clock } from "../clock.ts";
import { msOf } from "../times.ts";

/** How often it is asked, where nobody wants to know the place more often, or so many wait that it is too often. */
const EVERY_MS = 1_000;
const EVERY_MS_MIN = 100;
const EACH_SECOND_MAX = 500;
/** Asked so often while the place is kept, it outlives two answers that are lost. */
const PER_KEPT_FOR = 4;

export interface PolledWaitOptions {
  readonly clock: Clock;
  readonly acquire: (request: AcquireRequest) => Promise<AcquireResponse>;
  /** How many wait like this one. */
  readonly count: () => number;
  readonly signal: AbortSignal;
  /** What a stream would say: what has changed, and at last how it ends. */
  readonly tell: (response: WaitInQueueResponse, basisMs: number) => void;
}

/** Resolves when the wait is over; rejects with a RowlockError, or when `signal` is aborted. */
export async function waitByPolling(wait: WaitInQueueRequest, options: PolledWaitOptions): Promise<void> {
  const { clock, acquire, count, signal, tell } = options;
  if (wait.target.case !== "acquire") throw new Error("Nothing but an Acquire can be asked again.");
  const request = { ...wait.target.value, whenBusy: WhenBusy.ENQUEUE };
  const intervalMs = wait.minUpdateInterval ? msOf(wait.minUpdateInterval) : EVERY_MS;
  let told: Ticket | undefined;
  let toldMs = Number.NEGATIVE_INFINITY;
  for (;;) {
    const askedMs = clock.now();
    const { outcome } = await acquire(request);
    const say = (update: WaitInQueueResponse["update"]) =>
      tell(create(WaitInQueueResponseSchema, { update }), askedMs);
    if (outcome.case === "lease") return say({ case: "granted", value: outcome.value });
    if (outcome.case === "refusal") return say({ case: "ended", value: outcome.value });
    if (outcome.case !== "ticket") return say({ case: undefined });
    const ticket = outcome.value;
    const hasMoved = ticket.ahead !== told?.ahead || ticket.permitsAhead !== told.permitsAhead;
    if (hasMoved && askedMs - toldMs >= intervalMs) {
      say({ case: "position", value: ticket });
      told = ticket;
      toldMs = askedMs;
    }
    const wantedMs = Math.max(EVERY_MS_MIN, Math.min(EVERY_MS, intervalMs));
    const crowdedMs = (count() / EACH_SECOND_MAX) * 1_000;
    const keptMs = ticket.keptFor ? msOf(ticket.keptFor) / PER_KEPT_FOR : EVERY_MS;
    await pause(Math.min(Math.max(wantedMs, crowdedMs), keptMs), undefined, { signal });
  }
}
