// A connection by calls of their own, where a server knows no sessions or a proxy lets no streams through: each command is a
// call, and who waits asks again and again. But for watches, nothing is told that nobody asks for: a lease that an operator has ended, with its
// next renewal.

import { create } from "@bufbuild/protobuf";
import type { Lease } from "#proto/rowlock/v1/lock_pb.js";
import {
  type AcquireRequest,
  type AcquireResponse,
  type CaptureRequest,
  RenewedLeasesSchema,
  type RenewRequest,
  type WatchLocksRequest,
} from "#proto/rowlock/v1/lock_service_pb.js";
import { BareCalls } from "../bare/bare-calls.ts";
import type { RequestOf, ResponseOf, UnaryMethod } from "../bare/methods.ts";
import type { Clock } from "../clock.ts";
import type { Headers, TlsOptions } from "../options.ts";
import { RowlockError } from "../rowlock-error.ts";
import type { Command, Connection, ConnectionOptions, Opened, Result } from "./connection.ts";
import { waitByPolling } from "./polled-wait.ts";
import { Turns } from "./turns.ts";

/** Proxies let some hundred calls through at a time: renewals must find room beside questions of waits. */
const COMMANDS_MAX = 50;
const QUESTIONS_AT_ONCE = 50;
/** As many as can ask often enough to keep their places. */
const WAITS_MAX = 2_000;
/** Silence is counted in ticks, of which one passes at the most while this process is frozen. */
const TICK_MS = 1_250;
const SILENT_TICKS_MAX = 4;
const KEEPALIVE = { "grpc.keepalive_time_ms": 5_000, "grpc.keepalive_timeout_ms": 3_000 };
/** Without a reason of the server's, they are about the connection: it is gone, or its headers are not good any more. */
const CONNECTION_CODES = ["UNAVAILABLE", "UNAUTHENTICATED"];

export interface UnaryOptions extends ConnectionOptions {
  readonly tls: boolean | TlsOptions | undefined;
  readonly headers: Headers;
  readonly clock: Clock;
}

interface Answer {
  readonly result: Result;
  readonly basisMs: number;
}

export class UnaryConnection implements Connection {
  readonly address: string;
  readonly via = "calls";
  readonly comesBackBy = "request id";
  /** So that none is late because of another one. */
  readonly renewalsMax = 1;
  opened: Opened | undefined;
  /** It takes nothing before the server has answered. */
  readonly wasReached = true;
  readonly #options: UnaryOptions;
  readonly #calls: BareCalls;
  readonly #open = new Map<bigint, AbortController>();
  readonly #waits = new Set<bigint>();
  readonly #turns = new Turns(QUESTIONS_AT_ONCE);
  readonly #ticks: NodeJS.Timeout;
  #underWay = 0;
  #watches = 0;
  #silentTicks = 0;
  #isLeaving = false;
  #isOver = false;

  constructor(options: UnaryOptions) {
    const { address, tls, headers } = options;
    this.#options = options;
    this.address = address;
    this.#calls = new BareCalls(address, { tls, metadata: headers, channel: KEEPALIVE });
    this.#ticks = setInterval(() => this.#listen(), TICK_MS);
    void this.#knock();
  }

  take(call: bigint, command: Command): boolean {
    if (!this.opened || this.#isOver) return false;
    const own = new AbortController();
    this.#open.set(call, own);
    void this.#serve(call, command, own.signal);
    return true;
  }

  cancel(call: bigint): void {
    const own = this.#open.get(call);
    this.#open.delete(call);
    this.#waits.delete(call);
    own?.abort();
  }

  async close(): Promise<void> {
    this.destroy();
  }

  destroy(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearInterval(this.#ticks);
    for (const call of [...this.#open.keys()]) this.cancel(call);
    this.#calls.close();
  }

  /** Asks for what every server of ours refuses with a reason, without looking anything up: then there is one. */
  async #knock(): Promise<void> {
    try {
      await this.#ask("renew", { leaseId: "" });
    } catch (error) {
      const why = RowlockError.of(error);
      if (why.reason === "UNKNOWN" || why.reason === "SHUTTING_DOWN") {
        this.#end(why);
        return;
      }
    }
    if (this.opened || this.#isOver) return;
    this.opened = { replica: "", waitsMax: WAITS_MAX, commandsMax: COMMANDS_MAX };
    this.#options.onNews({ opened: true }, this.#options.clock.now());
  }

  async #serve(call: bigint, command: Command, signal: AbortSignal): Promise<void> {
    let answer: Answer;
    try {
      answer = await this.#run(call, command, signal);
    } catch (error) {
      this.#failed(call, error);
      return;
    }
    this.#answer(call, answer.result, answer.basisMs);
  }

  async #run(call: bigint, command: Command, signal: AbortSignal): Promise<Answer> {
    const { clock, onNews } = this.#options;
    const basisMs = clock.now();
    switch (command.case) {
      case "acquire": {
        const value = await this.#acquire(command.value, signal);
        return { result: { case: "acquire", value }, basisMs };
      }
      case "waitInQueue": {
        this.#waits.add(call);
        const waitOver = await waitByPolling(command.value, {
          clock,
          acquire: (request) => this.#turns.run(() => this.#acquire(request, signal)),
          count: () => this.#waits.size,
          signal,
          moved: (value, atMs) =>
            onNews({ results: [{ call, result: { case: "waitInQueue", value } }] }, atMs),
        });
        return { result: { case: "waitInQueue", value: waitOver.response }, basisMs: waitOver.basisMs };
      }
      case "renewLeases": {
        const { lease } = await this.#ask("renew", command.value.leases[0] as RenewRequest, signal);
        const outcome = { case: "lease" as const, value: lease as Lease };
        const value = create(RenewedLeasesSchema, { leases: [{ outcome }] });
        return { result: { case: "renewLeases", value }, basisMs };
      }
      case "capture": {
        const value = await this.#ask("capture", this.#owned(command.value), signal);
        return { result: { case: "capture", value }, basisMs };
      }
      case "watchLocks":
        return await this.#watch(call, command.value, signal);
      default: {
        const value = await this.#ask(command.case, command.value, signal);
        return { result: { case: command.case, value } as Result, basisMs };
      }
    }
  }

  /** A stream of its own, which has no last message. */
  async #watch(call: bigint, request: WatchLocksRequest, signal: AbortSignal): Promise<never> {
    const { clock, onNews } = this.#options;
    this.#waits.add(call);
    this.#watches += 1;
    try {
      for await (const value of this.#calls.stream("watchLocks", request, { signal })) {
        this.#silentTicks = 0;
        onNews({ results: [{ call, result: { case: "watchLocks", value } }] }, clock.now());
      }
    } finally {
      this.#watches -= 1;
    }
    throw new RowlockError("UNKNOWN", "UNAVAILABLE", "The watch was cut off.");
  }

  #acquire(request: AcquireRequest, signal: AbortSignal): Promise<AcquireResponse> {
    return this.#ask("acquire", this.#owned(request), signal);
  }

  /** As a session does it for all that are asked for in it. */
  #owned<Request extends AcquireRequest | CaptureRequest>(request: Request): Request {
    const { owner, labels } = this.#options;
    return { ...request, owner: request.owner || owner, labels: { ...labels, ...request.labels } };
  }

  async #ask<Name extends UnaryMethod>(
    method: Name,
    request: RequestOf<Name>,
    signal?: AbortSignal,
  ): Promise<ResponseOf<Name>> {
    this.#underWay += 1;
    try {
      return await this.#calls.call(method, request, { signal });
    } finally {
      this.#underWay -= 1;
      if (!signal?.aborted) this.#silentTicks = 0;
    }
  }

  /** The last that is said to a call. */
  #answer(call: bigint, result: Result | RowlockError, basisMs: number): void {
    if (!this.#open.has(call)) return;
    this.cancel(call);
    this.#options.onNews({ results: [{ call, result }] }, basisMs);
    if (this.#isLeaving && this.#open.size === 0) this.#end(RowlockError.stopping(this.address));
  }

  #failed(call: bigint, error: unknown): void {
    if (!this.#open.has(call)) return;
    const why = RowlockError.of(error);
    if (why.reason === "UNKNOWN" && CONNECTION_CODES.includes(why.code)) {
      this.#end(why);
      return;
    }
    if (why.reason === "SHUTTING_DOWN") this.#leave(why);
    this.#answer(call, why, this.#options.clock.now());
  }

  /** What is under way is answered still; who waits goes elsewhere. */
  #leave(why: RowlockError): void {
    if (this.#isLeaving) return;
    this.#isLeaving = true;
    const nowMs = this.#options.clock.now();
    this.#options.onNews({ goingAway: true }, nowMs);
    for (const call of [...this.#waits]) this.#answer(call, why, nowMs);
  }

  /** A server that answers nothing, or has nothing to tell to who watches, is knocked at, and if it does not answer to that, it is gone. */
  #listen(): void {
    const isDue = this.#underWay > 0 || this.#watches > 0;
    this.#silentTicks = this.opened && isDue ? this.#silentTicks + 1 : 0;
    if (this.#silentTicks === SILENT_TICKS_MAX / 2) void this.#knock();
    if (this.#silentTicks >= SILENT_TICKS_MAX)
      this.#end(new RowlockError("UNKNOWN", "UNAVAILABLE", "The server does not answer any more."));
  }

  #end(error: RowlockError): void {
    if (this.#isOver) return;
    this.destroy();
    this.#options.onEnded(error);
  }
}
