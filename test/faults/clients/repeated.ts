// Bare calls at several servers: a call that may be repeated goes to the next server when one fails, for as long as it is
// worth it.

import { setTimeout as sleep } from "node:timers/promises";
import type { Lease, Refusal } from "#proto/rowlock/v1/lock_pb.js";
import { RefusalReason } from "#proto/rowlock/v1/lock_pb.js";
import type { BareCalls, RequestOf, ResponseOf } from "../../../clients/typescript/src/bare/index.ts";
import { RowlockError } from "../../../clients/typescript/src/bare/index.ts";
import { monotonicMs } from "../history/clock.ts";
import { ttlOf } from "./kept-lease.ts";

const CALL_MS = 2_000;
const REPEATED_FOR_MS = 20_000;
const PAUSE_MS = 100;
/** An outcome that may differ at another server or later. */
const PASSING = ["UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED", "RESOURCE_EXHAUSTED"];

type Repeatable = "acquire" | "renew" | "release" | "getLock" | "capture";
type AcquireRequest = RequestOf<"acquire">;

/** `sentMs`: before the call whose answer this is. */
export interface Leased {
  readonly lease: Lease;
  readonly sentMs: number;
}
export type Outcome = Leased | { readonly refusal: string };

export class Repeated {
  readonly #servers: readonly BareCalls[];
  #at: number;

  constructor(servers: readonly BareCalls[]) {
    this.#servers = servers;
    this.#at = process.pid % servers.length;
  }

  /** One try, which may take effect although it fails. */
  once<Name extends "updateLock" | "setLimit" | Repeatable>(
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

  async acquire(request: AcquireRequest): Promise<Outcome> {
    return await this.#passing(REPEATED_FOR_MS, async () => {
      const sentMs = monotonicMs();
      const { outcome } = await this.once("acquire", request);
      return outcome.case === "lease"
        ? { lease: outcome.value, sentMs }
        : { refusal: reasonOf(outcome.value as Refusal) };
    });
  }

  /** Waits in the queue, and comes back to its place through another server when one fails. */
  async wait(acquire: AcquireRequest, waitMs: number): Promise<Outcome> {
    return await this.#passing(waitMs + REPEATED_FOR_MS, async () => {
      const sentMs = monotonicMs();
      const asked = { ...(acquire as object), maxWait: ttlOf(waitMs) };
      const request = { target: { case: "acquire", value: asked } } as RequestOf<"waitInQueue">;
      for await (const { update } of this.#here.stream("waitInQueue", request, {
        timeout: waitMs + CALL_MS,
      })) {
        if (update.case === "granted") return { lease: update.value, sentMs };
        if (update.case === "ended") return { refusal: reasonOf(update.value) };
      }
      throw new RowlockError("CONNECTION_LOST", "UNAVAILABLE", "The stream ended without a result.");
    });
  }

  /** `isRepeated`: an earlier answer was lost, and leases that it had may have ended since. */
  async capture(
    request: RequestOf<"capture">,
    waitMs: number,
  ): Promise<{ readonly taken: readonly Leased[]; readonly isRepeated: boolean }> {
    return await this.#passing(REPEATED_FOR_MS, async () => {
      const sentMs = monotonicMs();
      const { leases, isRepeated } = await this.once("capture", request, waitMs + CALL_MS);
      return { taken: leases.map((lease) => ({ lease, sentMs })), isRepeated };
    });
  }

  /** From now on asks the next server. */
  next(): void {
    this.#at = (this.#at + 1) % this.#servers.length;
  }

  get #here(): BareCalls {
    return this.#servers[this.#at] as BareCalls;
  }

  async #passing<Result>(forMs: number, attempt: () => Promise<Result>): Promise<Result> {
    const untilMs = monotonicMs() + forMs;
    for (;;) {
      try {
        return await attempt();
      } catch (error) {
        const mayPass = error instanceof RowlockError && PASSING.includes(error.code);
        if (!mayPass || monotonicMs() + PAUSE_MS >= untilMs) throw error;
        this.next();
        await sleep(PAUSE_MS);
      }
    }
  }
}

function reasonOf({ reason }: Refusal): string {
  return RefusalReason[reason] ?? String(reason);
}
