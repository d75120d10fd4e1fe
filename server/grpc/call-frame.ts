// The frame around each call outside sessions, whatever carries it: finds out who calls, checks the request, asks
// whether its caller may, runs the method, and reports how the call ended. What carries the call, gRPC or the page,
// decodes the request, encodes what the method answers, and sends it.

import type { Message } from "@bufbuild/protobuf";
import { status } from "@grpc/grpc-js";
import type { Gate, Identity } from "../access/access.ts";
import type { CallSpan, TraceParent } from "../core/span.ts";
import { ClientGone } from "../engine/faults.ts";
import { admitCall } from "./authorize.ts";
import type { CarriedCall, ConnectionCalls, MethodContext, OwnCall } from "./call.ts";
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

/** Each may throw, or reject with, what the call then fails with. */
export interface CallSteps<Result> {
  /** Who makes the call. */
  readonly identify: () => Identity | Promise<Identity>;
  readonly decode: () => Message;
  /** Runs the method, and encodes its answer or sends its messages. */
  readonly run: (asked: unknown, call: OwnCall) => Promise<Result>;
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

/** Performs a call. Never rejects: whatever is thrown becomes the failure. */
export async function perform<Result>(
  served: Served,
  arrived: Arrived,
  { identify, decode, run }: CallSteps<Result>,
): Promise<Ended<Result>> {
  const { connections, methods } = served;
  const { verb, span } = arrived;
  let call: OwnCall | undefined;
  try {
    call = connections.open(arrived.call, verb, await identify(), span);
    const asked = checked(verb, decode(), methods);
    await admitCall(call, verb, asked, methods.engine);
    const result = await run(asked, call);
    observe(served, arrived, status.OK);
    return { failure: null, result };
  } catch (error) {
    const failure = failureOf(error);
    if (!(error instanceof ClientGone))
      served.faultLog.failed(verb.of.name, failure, error, span, arrived.call.getPeer());
    observe(served, arrived, failure.status.code, failure.reason);
    return { failure };
  } finally {
    call?.close();
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
