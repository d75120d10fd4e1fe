// The frame around each call outside sessions, whatever carries it: finds out who calls, checks the request, asks
// whether its caller may, begins the method, and reports how the call ended. What carries the call, gRPC or the page,
// decodes the request, encodes what the method answers, and sends it. Nothing here waits unless the caller's identity or
// the name of the lock must be looked up.

import type { Message } from "@bufbuild/protobuf";
import { status } from "@grpc/grpc-js";
import type { Gate, Identity } from "../access/access.ts";
import type { CallSpan, TraceParent } from "../core/span.ts";
import { ClientGone } from "../engine/faults.ts";
import { admitCall } from "./authorize.ts";
import type { Answer, CarriedCall, ConnectionCalls, MethodContext, OwnCall, Reply } from "./call.ts";
import type { Frame, Via } from "./call-observer.ts";
import { DEADLINE_SLACK_MS } from "./grpc-bounds.ts";
import type { Reason } from "./messages/call-error.ts";
import { type Failure, failureOf } from "./messages/status.ts";
import type { Callers } from "./standing.ts";
import { beginCall, endCall } from "./traced-call.ts";
import { type AnyVerb, checked } from "./verbs.ts";

/** What the calls outside sessions share. */
export interface Served extends Frame {
  readonly methods: MethodContext;
  readonly connections: ConnectionCalls;
  readonly gate: Gate;
  /** As in Asking. */
  readonly callers?: Callers;
}

/** A call that has not ended. */
export interface Arrived {
  readonly verb: AnyVerb;
  readonly call: CarriedCall;
  readonly via: Via;
  readonly startedMs: number;
  readonly span: CallSpan | undefined;
}

/** What carries a call. Each but `end` may throw what the call then fails with. */
export interface Carrier<Result> {
  /** Who makes the call. */
  identify(): Identity | Promise<Identity>;
  decode(): Message;
  /** Encodes the answer of a method; a stream ends without one. */
  encode(answer?: Answer | Buffer): Result;
  /** Sends one message of a stream. */
  send?(message: Answer, written?: () => void): void;
  /** The call is over: sends its answer, or the failure. Must not throw. */
  end(ended: Ended<Result>): void;
}

/** How a call has ended. `failure`: null if it did not fail. */
export type Ended<Result> =
  | { readonly failure: null; readonly result: Result }
  | { readonly failure: Failure };

export function arrive(
  { tracer }: Frame,
  verb: AnyVerb,
  call: CarriedCall,
  via: Via,
  parent: () => TraceParent,
): Arrived {
  const span = tracer && beginCall(tracer, verb.of.name, parent());
  return { verb, call, via, startedMs: performance.now(), span };
}

/** Performs a call: whatever is thrown on its way becomes its failure. */
export function perform<Result>(served: Served, arrived: Arrived, carrier: Carrier<Result>): void {
  new FramedCall(served, arrived, carrier).begin();
}

class FramedCall<Result> implements Reply {
  readonly #served: Served;
  readonly #arrived: Arrived;
  readonly #carrier: Carrier<Result>;
  #call: OwnCall | undefined;
  #isOver = false;

  constructor(served: Served, arrived: Arrived, carrier: Carrier<Result>) {
    this.#served = served;
    this.#arrived = arrived;
    this.#carrier = carrier;
  }

  begin(): void {
    this.#orFail(() => {
      const found = this.#carrier.identify();
      if (found instanceof Promise) this.#later(found, (identity) => this.#open(identity));
      else this.#open(found);
    });
  }

  #open(identity: Identity): void {
    const { connections, methods } = this.#served;
    const { verb, call, span } = this.#arrived;
    const own = connections.open(call, verb, identity, this, span);
    this.#call = own;
    const asked = checked(verb, this.#carrier.decode(), methods);
    const admitting = admitCall(own, verb, asked, methods.engine);
    if (admitting) this.#later(admitting, () => verb.begin(methods, asked, own));
    else verb.begin(methods, asked, own);
  }

  answer(message?: Answer | Buffer): void {
    if (this.#isOver) return;
    this.#orFail(() => {
      const result = this.#carrier.encode(message);
      observe(this.#served, this.#arrived, status.OK);
      this.#end({ failure: null, result });
    });
  }

  fail(error: unknown): void {
    if (this.#isOver) return;
    const { faultLog } = this.#served;
    const { verb, span, call } = this.#arrived;
    const failure = failureOf(error);
    if (!(error instanceof ClientGone)) faultLog.failed(verb.of.name, failure, error, span, call.getPeer());
    observe(this.#served, this.#arrived, failure.status.code, failure.reason);
    this.#end({ failure });
  }

  send(message: Answer, written?: () => void): void {
    this.#carrier.send?.(message, written);
  }

  #end(ended: Ended<Result>): void {
    this.#isOver = true;
    this.#call?.close();
    this.#carrier.end(ended);
  }

  #later<Found>(found: Promise<Found>, then: (found: Found) => void): void {
    found.then(
      (value) => this.#orFail(() => then(value)),
      (error: unknown) => this.fail(error),
    );
  }

  #orFail(step: () => void): void {
    try {
      step();
    } catch (error) {
      this.fail(error);
    }
  }
}

/** A call that its client gave up counts as CANCELLED or DEADLINE_EXCEEDED, whatever the server answered. */
function observe({ observer }: Served, arrived: Arrived, code: status, reason?: Reason): void {
  const { verb, call, via, startedMs, span } = arrived;
  const seen = call.cancelled ? (deadlinePassed(call) ? status.DEADLINE_EXCEEDED : status.CANCELLED) : code;
  if (span) endCall(span, seen, reason);
  observer.call(verb.of.name, status[seen], (performance.now() - startedMs) / 1e3, via, span);
}

/**
 * The client's deadline passes earlier than the server's, by the time that the call took to arrive, so the client
 * hangs up first.
 */
function deadlinePassed(call: CarriedCall): boolean {
  return Number(call.getDeadline()) <= Date.now() + DEADLINE_SLACK_MS;
}
