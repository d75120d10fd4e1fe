// Bare calls at several servers: a call that may be repeated goes to the next server when one fails, for as long as it is
// worth it.

import { setTimeout as sleep } from "node:timers/promises";
import type { ClaimEnd, Lease, Refusal, Spent } from "#proto/rowlock/v1/lock_pb.js";
import { EndReason, LimitSource, RefusalReason } from "#proto/rowlock/v1/lock_pb.js";
import type { BareCalls, RequestOf, ResponseOf } from "../../../clients/typescript/src/bare/index.ts";
import { RowlockError } from "../../../clients/typescript/src/bare/index.ts";
import { monotonicMs } from "../history/clock.ts";
import { msOf, ttlOf } from "./kept-lease.ts";

const CALL_MS = 2_000;
const REPEATED_FOR_MS = 20_000;
const PAUSE_MS = 100;
/** An outcome that may differ at another server or later. */
const PASSING = ["UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED", "RESOURCE_EXHAUSTED"];

type Repeatable =
  | "acquire"
  | "renew"
  | "release"
  | "getLock"
  | "listClaims"
  | "listChanges"
  | "listLimits"
  | "capture";
type AcquireRequest = RequestOf<"acquire">;

/** `sentMs`: before the call whose answer this is. */
export interface Leased {
  readonly lease: Lease;
  readonly sentMs: number;
}
/** `isRepeated`: an earlier call failed, and may be granted later although this one was refused. */
export interface Refused {
  readonly refusal: string;
  readonly isRepeated: boolean;
  /** If the rate was in the way. */
  readonly retryAfterMs?: number;
  /** The pool that was in the way. */
  readonly pool?: string;
}
export type Outcome = Leased | Refused;

export class Repeated {
  readonly #servers: readonly BareCalls[];
  #at: number;
  /** How often a call was repeated. */
  repeats = 0;

  /** `first`: any number, from which the first server follows. */
  constructor(servers: readonly BareCalls[], first = process.pid) {
    this.#servers = servers;
    this.#at = first % servers.length;
  }

  /** One try, which may take effect although it fails. */
  once<Name extends "updateRecord" | "deleteRecord" | "setLimit" | "forceRelease" | Repeatable>(
    method: Name,
    request: RequestOf<Name>,
    timeout = CALL_MS,
  ): Promise<ResponseOf<Name>> {
    return this.#here.call(method, request, { timeout });
  }

  /** For a call that is safe to repeat. */
  async repeat<Name extends Repeatable>(
    method: Name,
    request: RequestOf<Name>,
    forMs = REPEATED_FOR_MS,
    timeout = CALL_MS,
  ): Promise<ResponseOf<Name>> {
    return await this.#passing(forMs, () => this.once(method, request, Math.min(timeout, forMs)));
  }

  /** `firstMs`, also below: when the first try is given up; unset: as late as any other. */
  async acquire(request: AcquireRequest, firstMs = CALL_MS): Promise<Outcome> {
    return await this.#passing(REPEATED_FOR_MS, (isRepeated) =>
      acquireAt(this.#here, request, isRepeated, isRepeated ? CALL_MS : firstMs),
    );
  }

  /** The same request, at once also at the next server. Rejects if one call fails and the other one is refused. */
  async acquireTwice(request: AcquireRequest): Promise<readonly [Outcome, ...Outcome[]]> {
    const there = this.#servers[(this.#at + 1) % this.#servers.length] as BareCalls;
    const calls = await Promise.allSettled([this.acquire(request), acquireAt(there, request, false)]);
    const [lease, ...more] = calls.flatMap((call) =>
      call.status === "fulfilled" && "lease" in call.value ? [call.value] : [],
    );
    if (lease) return [lease, ...more];
    return calls.map(settledValue) as [Outcome, Outcome];
  }

  /** Waits in the queue, and comes back to its place through another server when one fails. */
  async wait(acquire: AcquireRequest, waitMs: number, firstMs = waitMs + CALL_MS): Promise<Outcome> {
    return await this.#passing(waitMs + REPEATED_FOR_MS, async (isRepeated) => {
      const sentMs = monotonicMs();
      const asked = { ...(acquire as object), maxWait: ttlOf(waitMs) };
      const request = { target: { case: "request", value: asked } } as RequestOf<"waitInQueue">;
      const timeout = isRepeated ? waitMs + CALL_MS : firstMs;
      for await (const { update } of this.#here.stream("waitInQueue", request, { timeout })) {
        if (update.case === "granted") return { lease: update.value, sentMs };
        if (update.case === "refusal" || update.case === "ended") return { ...whyNot(update), isRepeated };
      }
      throw new RowlockError("CONNECTION_LOST", "UNAVAILABLE", "The stream ended without a result.");
    });
  }

  /** Only takes permits of the rate. `waitMs`: 0 tries. It waits in its call, or in a stream of places. */
  async spend(
    asked: AcquireRequest,
    waitMs: number,
    isStreamed: boolean,
    firstMs = waitMs + CALL_MS,
  ): Promise<Spent | Refused> {
    const spend = { ...(asked as object), spendOnly: true };
    const whenBusy = waitMs > 0 && { whenBusy: { case: "wait", value: { maxWait: ttlOf(waitMs) } } };
    return await this.#passing(waitMs + REPEATED_FOR_MS, async (isRepeated) => {
      const timeout = isRepeated ? waitMs + CALL_MS : firstMs;
      const outcome =
        isStreamed && waitMs > 0
          ? await this.#streamed({ ...spend, maxWait: ttlOf(waitMs) }, timeout)
          : (await this.once("acquire", { ...spend, ...whenBusy } as AcquireRequest, timeout)).outcome;
      return outcome.case === "spent" ? outcome.value : { ...whyNot(outcome), isRepeated };
    });
  }

  async #streamed(asked: object, timeout: number) {
    const request = { target: { case: "request", value: asked } } as RequestOf<"waitInQueue">;
    for await (const { update } of this.#here.stream("waitInQueue", request, { timeout }))
      if (update.case !== "position") return update;
    throw new RowlockError("CONNECTION_LOST", "UNAVAILABLE", "The stream ended without a result.");
  }

  /** `isRepeated`: an earlier answer was lost, so leases that it had may have ended since, or be given later. */
  async capture(
    request: RequestOf<"capture">,
    waitMs: number,
    firstMs = waitMs + CALL_MS,
  ): Promise<{ readonly taken: readonly Leased[]; readonly isRepeated: boolean }> {
    return await this.#passing(REPEATED_FOR_MS, async (isAgain) => {
      const sentMs = monotonicMs();
      const { leases, isRepeated } = await this.once(
        "capture",
        request,
        isAgain ? waitMs + CALL_MS : firstMs,
      );
      return { taken: leases.map((lease) => ({ lease, sentMs })), isRepeated: isRepeated || isAgain };
    });
  }

  /** Changes of locks, until the stream breaks. */
  watch(request: RequestOf<"watchLocks">): AsyncIterable<ResponseOf<"watchLocks">> {
    return this.#here.stream("watchLocks", request);
  }

  /** From now on asks the next server. */
  next(): void {
    this.#at = (this.#at + 1) % this.#servers.length;
  }

  get #here(): BareCalls {
    return this.#servers[this.#at] as BareCalls;
  }

  async #passing<Result>(forMs: number, attempt: (isRepeated: boolean) => Promise<Result>): Promise<Result> {
    const untilMs = monotonicMs() + forMs;
    for (let isRepeated = false; ; isRepeated = true) {
      try {
        return await attempt(isRepeated);
      } catch (error) {
        const mayPass = error instanceof RowlockError && PASSING.includes(error.code);
        if (!mayPass || monotonicMs() + PAUSE_MS >= untilMs) throw error;
        this.repeats += 1;
        this.next();
        await sleep(PAUSE_MS);
      }
    }
  }
}

async function acquireAt(
  server: BareCalls,
  request: AcquireRequest,
  isRepeated: boolean,
  timeout = CALL_MS,
): Promise<Outcome> {
  const sentMs = monotonicMs();
  const { outcome } = await server.call("acquire", request, { timeout });
  return outcome.case === "lease" ? { lease: outcome.value, sentMs } : { ...whyNot(outcome), isRepeated };
}

function settledValue<Value>(settled: PromiseSettledResult<Value>): Value {
  if (settled.status === "rejected") throw settled.reason;
  return settled.value;
}

function whyNot({ case: kind, value }: { case: string | undefined; value?: unknown }) {
  if (kind !== "refusal") {
    const { reason } = value as ClaimEnd;
    return { refusal: EndReason[reason] ?? String(reason) };
  }
  const { reason, retryAfter, limit, rate } = value as Refusal;
  const by = [rate, limit].find((each) => each?.source === LimitSource.POOL);
  const refused = { refusal: RefusalReason[reason] ?? String(reason), ...(by && { pool: by.pattern }) };
  return reason === RefusalReason.RATE ? { ...refused, retryAfterMs: msOf(retryAfter) } : refused;
}
