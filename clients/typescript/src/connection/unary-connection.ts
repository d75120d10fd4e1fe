// A connection of unary calls, if a server knows no sessions or a proxy lets no streams through: each command is one
// call, and waits poll. Except for watches, the server sends nothing unasked: the client learns of a lease that an
// operator has ended with its next renewal.

import { create } from "@bufbuild/protobuf";
import type { ChannelOptions } from "@grpc/grpc-js";
import type { Lease } from "#proto/rowlock/v1/lock_pb.js";
import {
  type AcquireRequest,
  type AcquireResponse,
  type CaptureRequest,
  RenewedLeasesSchema,
  type RenewRequest,
  type WatchLocksRequest,
} from "#proto/rowlock/v1/lock_service_pb.js";
import { type BareCallOptions, BareCalls } from "../bare/bare-calls.ts";
import type { RequestOf, ResponseOf, UnaryMethod } from "../bare/methods.ts";
import type { Clock } from "../clock.ts";
import { ownedTerms } from "../lease-terms.ts";
import type { Headers, TlsOptions } from "../options.ts";
import { RowlockError } from "../rowlock-error.ts";
import { msOf } from "../times.ts";
import { readToken, type TokenSource } from "../token-source.ts";
import type { Command, Connection, ConnectionOptions, Opened, Result } from "./connection.ts";
import { waitByPolling } from "./polled-wait.ts";
import { withToken } from "./presented.ts";
import { Slots } from "./slots.ts";

/** Proxies let some hundred calls through at a time, and renewals must find room beside the polls of waits. */
const COMMANDS_MAX = 50;
const POLLS_AT_ONCE = 50;
/** As many waits as can poll often enough to keep their places. */
const WAITS_MAX = 2_000;
/** Silence is counted in ticks instead of time, as at most one tick passes while this process is frozen. */
const TICK_MS = 1_250;
const SILENT_TICKS_MAX = 4;
const KEEPALIVE = { "grpc.keepalive_time_ms": 5_000, "grpc.keepalive_timeout_ms": 3_000 };
/** How long one answer may take: the others would keep a connection that has lost it. A capture may also wait. */
const ANSWER_MS_MAX = 10_000;
/** How long calls send the same token before its source is asked again. */
const TOKEN_MS = 1_000;
/**
 * Without a reason of the server, these mean that the connection is gone or has lost an answer, or that its headers are
 * no longer valid.
 */
const CONNECTION_CODES = ["UNAVAILABLE", "DEADLINE_EXCEEDED", "UNAUTHENTICATED"];

export interface UnaryOptions extends ConnectionOptions {
  readonly tls: boolean | TlsOptions | undefined;
  readonly headers: Headers;
  /** Where the token in `headers` comes from; it is asked again while calls are made. */
  readonly token: TokenSource | undefined;
  readonly clock: Clock;
  /** The options of its channel that say whether it uses a proxy. */
  readonly way: ChannelOptions;
}

type CallOptions = BareCallOptions & { readonly signal: AbortSignal };

interface Answer {
  readonly result: Result;
  readonly basisMs: number;
}

export class UnaryConnection implements Connection {
  readonly address: string;
  readonly via = "unary";
  /** One lease per call, so that no renewal delays another. */
  readonly renewalsMax = 1;
  opened: Opened | undefined;
  /** Always true, as `send` refuses commands before the server has answered. */
  readonly wasReached = true;
  readonly #options: UnaryOptions;
  readonly #calls: BareCalls;
  readonly #open = new Map<bigint, AbortController>();
  readonly #waits = new Set<bigint>();
  readonly #slots = new Slots(POLLS_AT_ONCE);
  readonly #ticks: NodeJS.Timeout;
  #headers: Headers;
  #tokenMs: number;
  #isAskingForToken = false;
  #underWay = 0;
  #watches = 0;
  #silentTicks = 0;
  #isLeaving = false;
  #isOver = false;

  constructor(options: UnaryOptions) {
    const { address, tls, headers, clock, way } = options;
    this.#options = options;
    this.address = address;
    this.#headers = headers;
    this.#tokenMs = clock.now();
    this.#calls = new BareCalls(address, {
      tls,
      headers: () => this.#headers,
      channel: { ...KEEPALIVE, ...way },
    });
    this.#ticks = setInterval(() => this.#listen(), TICK_MS);
    void this.#knock();
  }

  send(call: bigint, command: Command, traceparent = ""): boolean {
    if (!this.opened || this.#isOver) return false;
    const own = new AbortController();
    this.#open.set(call, own);
    void this.#serve(call, command, { signal: own.signal, headers: traceparent ? { traceparent } : {} });
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

  /**
   * Finds out whether a Rowlock server is there, by a call that each one refuses with a reason and without a look-up.
   */
  async #knock(): Promise<void> {
    try {
      await this.#ask("renew", { leaseId: "" });
    } catch (error) {
      const why = RowlockError.of(error);
      if (why.reason === "UNKNOWN" || why.reason === "SHUTTING_DOWN" || why.isOfCredentials) {
        this.#end(why);
        return;
      }
    }
    if (this.opened || this.#isOver) return;
    this.opened = { replica: "", waitsMax: WAITS_MAX, commandsMax: COMMANDS_MAX };
    this.#options.onNews({ opened: true }, this.#options.clock.now());
  }

  async #serve(call: bigint, command: Command, options: CallOptions): Promise<void> {
    let answer: Answer;
    try {
      answer = await this.#run(call, command, options);
    } catch (error) {
      this.#failed(call, error);
      return;
    }
    this.#answer(call, answer.result, answer.basisMs);
  }

  async #run(call: bigint, command: Command, options: CallOptions): Promise<Answer> {
    const { clock, onNews } = this.#options;
    const basisMs = clock.now();
    switch (command.case) {
      case "acquire": {
        const value = await this.#acquire(command.value, options);
        return { result: { case: "acquire", value }, basisMs };
      }
      case "waitInQueue": {
        this.#waits.add(call);
        const waitOver = await waitByPolling(command.value, {
          clock,
          acquire: (request) => this.#slots.run(() => this.#acquire(request, options)),
          count: () => this.#waits.size,
          signal: options.signal,
          moved: (value, atMs) =>
            onNews({ results: [{ call, result: { case: "waitInQueue", value } }] }, atMs),
        });
        return { result: { case: "waitInQueue", value: waitOver.response }, basisMs: waitOver.basisMs };
      }
      case "renewLeases": {
        const { lease } = await this.#ask("renew", command.value.leases[0] as RenewRequest, options);
        const outcome = { case: "lease" as const, value: lease as Lease };
        const value = create(RenewedLeasesSchema, { leases: [{ outcome }] });
        return { result: { case: "renewLeases", value }, basisMs };
      }
      case "capture": {
        const { maxWait } = command.value;
        const timeout = ANSWER_MS_MAX + (maxWait ? msOf(maxWait) : 0);
        const value = await this.#ask("capture", this.#owned(command.value), { ...options, timeout });
        return { result: { case: "capture", value }, basisMs };
      }
      case "watchLocks":
        return await this.#watch(call, command.value, options);
      default: {
        const value = await this.#ask(command.case, command.value, options);
        return { result: { case: command.case, value } as Result, basisMs };
      }
    }
  }

  /** Reads a stream, which has no last message, so this never resolves. */
  async #watch(call: bigint, request: WatchLocksRequest, options: CallOptions): Promise<never> {
    const { clock, onNews } = this.#options;
    this.#waits.add(call);
    this.#watches += 1;
    try {
      for await (const value of this.#calls.stream("watchLocks", request, options)) {
        this.#silentTicks = 0;
        onNews({ results: [{ call, result: { case: "watchLocks", value } }] }, clock.now());
      }
    } finally {
      this.#watches -= 1;
    }
    throw new RowlockError("UNKNOWN", "UNAVAILABLE", "The watch stream ended.");
  }

  #acquire(request: AcquireRequest, options: CallOptions): Promise<AcquireResponse> {
    return this.#ask("acquire", this.#owned(request), options);
  }

  /** Adds the owner and the labels, which a session sends once. */
  #owned<Request extends AcquireRequest | CaptureRequest>(request: Request): Request {
    return { ...request, terms: ownedTerms(request.terms, this.#options) };
  }

  async #ask<Name extends UnaryMethod>(
    method: Name,
    request: RequestOf<Name>,
    options: BareCallOptions = {},
  ): Promise<ResponseOf<Name>> {
    void this.#askForToken();
    this.#underWay += 1;
    try {
      return await this.#calls.call(method, request, { timeout: ANSWER_MS_MAX, ...options });
    } finally {
      this.#underWay -= 1;
      if (!options.signal?.aborted) this.#silentTicks = 0;
    }
  }

  /** Asks for the token of the next calls, beside this one: a slow source must not hold up renewals. */
  async #askForToken(): Promise<void> {
    const { token, clock } = this.#options;
    const isFixed = token === undefined || typeof token === "string";
    if (isFixed || this.#isAskingForToken || clock.now() - this.#tokenMs < TOKEN_MS) return;
    this.#isAskingForToken = true;
    try {
      this.#headers = withToken(this.#headers, await readToken(token));
    } catch {
      // The last token may still be good. If it is not, the server refuses it, and the next connection reports this.
    }
    this.#tokenMs = clock.now();
    this.#isAskingForToken = false;
  }

  /** Ends a call with its last result. */
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
    if (why.isOfCredentials) {
      // The refused call was not made, which only it knows: for the others, the connection is lost.
      this.#options.onNews({ results: [{ call, result: why }] }, this.#options.clock.now());
      this.#end(why);
      return;
    }
    if (why.reason === "SHUTTING_DOWN") this.#leave(why);
    this.#answer(call, why, this.#options.clock.now());
  }

  /** Leaves a server that stops: open calls still get their answers, and waits move to another server. */
  #leave(why: RowlockError): void {
    if (this.#isLeaving) return;
    this.#isLeaving = true;
    const nowMs = this.#options.clock.now();
    this.#options.onNews({ goingAway: true }, nowMs);
    for (const call of [...this.#waits]) this.#answer(call, why, nowMs);
  }

  /**
   * Counts ticks without an answer while calls or watches are open. Half-way it knocks, as a watch may have no news; if
   * the server does not answer that either, it is gone.
   */
  #listen(): void {
    const isDue = this.#underWay > 0 || this.#watches > 0;
    this.#silentTicks = this.opened && isDue ? this.#silentTicks + 1 : 0;
    if (this.#silentTicks === SILENT_TICKS_MAX / 2) void this.#knock();
    if (this.#silentTicks >= SILENT_TICKS_MAX)
      this.#end(new RowlockError("UNKNOWN", "UNAVAILABLE", "The server has stopped answering."));
  }

  #end(error: RowlockError): void {
    if (this.#isOver) return;
    this.destroy();
    this.#options.onEnded(error);
  }
}
