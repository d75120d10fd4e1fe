// A call from its arrival until its work is over, whoever carries it: whose it is, whether its client has gone, and how
// its end is counted and traced. Those who carry calls (call-frame.ts, a session) say what becomes of its answer.

import type { Message } from "@bufbuild/protobuf";
import { type Metadata, status } from "@grpc/grpc-js";
import { LockService } from "#proto/rowlock/v1/lock_service_pb.js";
import { NOBODY } from "../access/access.ts";
import type { CallSpan, TraceParent } from "../core/span.ts";
import { authorize } from "./authorize.ts";
import type { Answer, Call, Client, MethodContext } from "./call.ts";
import type { Frame, Via } from "./call-observer.ts";
import type { Reason } from "./messages/call-error.ts";
import { type AnyVerb, checked } from "./verbs.ts";

/** Codes that are the server's failures, as OpenTelemetry counts them. The others are answers to what was asked. */
const FAILURES: ReadonlySet<status> = new Set([
  status.UNKNOWN,
  status.DEADLINE_EXCEEDED,
  status.UNIMPLEMENTED,
  status.INTERNAL,
  status.UNAVAILABLE,
  status.DATA_LOSS,
]);

export abstract class OpenCall implements Call {
  readonly method: string;
  readonly isUrgent: boolean;
  readonly span: CallSpan | undefined;
  abstract readonly client: Client;
  readonly #observer: Frame["observer"];
  readonly #via: Via;
  readonly #startedMs = performance.now();
  #gone: Error | undefined;
  /** Made only when somebody asks for the signal: most calls end before that. */
  #controller: AbortController | undefined;
  #whenGone: ((why: Error) => void) | null = null;

  /** `verb` undefined: a command of a session that asks for nothing. */
  constructor({ observer, tracer }: Frame, verb: AnyVerb | undefined, via: Via, parent: () => TraceParent) {
    this.method = verb?.of.name ?? "Session";
    this.isUrgent = verb?.admission === "urgent";
    this.#observer = observer;
    this.#via = via;
    this.span = tracer?.call(`${LockService.typeName}/${this.method}`, parent());
  }

  abstract answer(message?: Answer | Buffer): void;
  abstract fail(error: unknown): void;
  abstract send(message: Answer, written?: () => void): void;
  abstract getPeer(): string;

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#gone) this.#controller.abort(this.#gone);
    }
    return this.#controller.signal;
  }

  get isCancelled(): boolean {
    return this.#gone !== undefined;
  }

  whenGone(listener: ((why: Error) => void) | null): void {
    this.#whenGone = listener;
    if (this.#gone) listener?.(this.#gone);
  }

  get principal(): string {
    return this.client.identity.principal;
  }

  maySupersede(lockName: string): boolean {
    return this.client.identity.allowed.on({ verb: "Acquire", right: "supersede" }, lockName);
  }

  mayMakeName(): boolean {
    const { usage, identity } = this.client;
    return usage.mayMakeName(identity);
  }

  roomForLeases(leases: number): (() => void) | null | undefined {
    const { usage, identity } = this.client;
    return usage.roomForLeases(identity, leases);
  }

  /**
   * Checks the request, asks whether its caller may, and begins the method. Throws what is known at once. `admitted`: the
   * name of the lock may still have to be looked up. Not async: an async frame would keep the request in memory for as
   * long as the call waits.
   */
  begin(verb: AnyVerb, request: Message, methods: MethodContext, admitted?: () => void): void {
    const asked = checked(verb, request, methods);
    const authorizing = this.client.identity === NOBODY ? undefined : this.#authorize(verb, asked, methods);
    admitted?.();
    if (authorizing)
      authorizing.then(() => verb.begin(methods, asked, this)).catch((error: unknown) => this.fail(error));
    else verb.begin(methods, asked, this);
  }

  /** As `authorize`; throws OVERLOADED beyond the calls of the quota. What keeps leases or gives them back does not count. */
  #authorize(verb: AnyVerb, asked: unknown, { engine }: MethodContext): Promise<void> | undefined {
    const { identity, usage } = this.client;
    if (!this.isUrgent) usage.call(identity);
    const touched = verb.touches(asked);
    const needed = touched.right === undefined ? verb.needs : { ...verb.needs, right: touched.right };
    return authorize(this, needed, touched, engine);
  }

  /** Its client waits for no answer any more. The first error counts. */
  protected cancel(why: Error): void {
    if (this.#gone) return;
    this.#gone = why;
    this.#controller?.abort(why);
    this.#whenGone?.(why);
  }

  /** It has ended for its client. `reason`: why it failed; undefined: it did not. */
  observe(code: status, reason?: Reason): void {
    const name = status[code];
    if (this.span) {
      const attributes = { "rpc.response.status_code": name, ...(reason && { "rowlock.reason": reason }) };
      this.span.end(attributes, FAILURES.has(code) ? (reason ?? name) : undefined);
    }
    const seconds = (performance.now() - this.#startedMs) / 1e3;
    this.#observer.call(this.method, name, seconds, this.#via, this.span);
  }
}

/** The caller's trace context in the metadata of a call. */
export function traceParentOf(metadata: Metadata): TraceParent {
  return { traceparent: textIn(metadata, "traceparent"), tracestate: textIn(metadata, "tracestate") };
}

function textIn(metadata: Metadata, key: string): string | undefined {
  const [value] = metadata.get(key);
  return value === undefined ? undefined : String(value);
}
