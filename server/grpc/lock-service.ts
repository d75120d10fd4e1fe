// LockService as grpc-js serves it: the frame around each call of its own, which opens it, decodes, checks, runs,
// encodes, and answers whatever is thrown. Methods reach grpc-js only through this frame: an uncaught exception would
// leave the call without an answer and end the process. Bytes go in and out undecoded: otherwise grpc-js would answer
// decoding failures itself, without details and without a log line.

import type { DescMessage, DescMethod } from "@bufbuild/protobuf";
import type {
  handleServerStreamingCall,
  handleUnaryCall,
  MethodDefinition,
  ServerUnaryCall,
  ServerWritableStream,
  ServiceDefinition,
  StatusObject,
  UntypedServiceImplementation,
} from "@grpc/grpc-js";
import { status } from "@grpc/grpc-js";
import { LockService } from "#proto/rowlock/v1/lock_service_pb.js";
import type { Gate } from "../access/access.ts";
import type { CallSpan } from "../core/span.ts";
import { ClientGone } from "../engine/faults.ts";
import { admitCall } from "./authorize.ts";
import type { ConnectionCalls, MethodContext, OwnCall, Send } from "./call.ts";
import type { Frame } from "./call-observer.ts";
import { DEADLINE_SLACK_MS } from "./grpc-bounds.ts";
import { identified } from "./identified.ts";
import type { Reason } from "./messages/call-error.ts";
import { decode, encode } from "./messages/messages.ts";
import { failureOf } from "./messages/status.ts";
import type { Sessions } from "./session/sessions.ts";
import { beginCall, endCall, traceParentOf } from "./traced-call.ts";
import { type Answer, type AnyVerb, checked, ROWS } from "./verbs.ts";

/** What the calls outside sessions share. */
export interface Served extends Frame {
  readonly methods: MethodContext;
  readonly connections: ConnectionCalls;
  readonly gate: Gate;
}

type GrpcCall = Pick<
  ServerUnaryCall<Buffer, Buffer>,
  "cancelled" | "getDeadline" | "metadata" | "getAuthContext"
>;

/** A call that has not ended. */
interface Arrived {
  readonly verb: AnyVerb;
  readonly call: GrpcCall;
  readonly startedMs: number;
  readonly span: CallSpan | undefined;
}

/** Keyed by the method's name: `Acquire`. */
export const lockServiceDefinition: ServiceDefinition = Object.fromEntries(
  LockService.methods.map((method) => [method.name, definitionOf(method)]),
);

/** One handler for each method, keyed by its name. */
export function lockServiceHandlers(served: Served, sessions: Sessions): UntypedServiceImplementation {
  const handlers = Object.values(ROWS).map((verb) => {
    const handler = verb.of.methodKind === "unary" ? unaryHandler : streamHandler;
    return [verb.of.name, handler(verb, served)];
  });
  return Object.fromEntries([...handlers, [LockService.method.session.name, sessions.handler]]);
}

/** Serves a unary method. Answers everything that the method throws with a status. */
export function unaryHandler(verb: AnyVerb, served: Served): handleUnaryCall<Buffer, Buffer> {
  const { input, output } = verb.of;
  const { methods, connections, gate } = served;
  return async (grpcCall, callback) => {
    const arrived = arrive(served, verb, grpcCall);
    let call: OwnCall | undefined;
    try {
      call = connections.open(grpcCall, verb, await identified(gate, grpcCall), arrived.span);
      const asked = checked(verb, decode(input, grpcCall.request), methods);
      await admitCall(call, verb, asked, methods.engine);
      const answer = encode(output, (await verb.run(methods, asked, call)) as Answer);
      observe(served, arrived, status.OK);
      callback(null, answer);
    } catch (error) {
      callback(fail(served, arrived, error));
    } finally {
      call?.close();
    }
  };
}

/** Serves a method that streams its answers. Ends the stream with a status, whatever the method throws. */
export function streamHandler(verb: AnyVerb, served: Served): handleServerStreamingCall<Buffer, Buffer> {
  const { input, output } = verb.of;
  const { methods, connections, gate, observer } = served;
  return async (grpcCall) => {
    const arrived = arrive(served, verb, grpcCall);
    let call: OwnCall | undefined;
    observer.streamOpened();
    try {
      call = connections.open(grpcCall, verb, await identified(gate, grpcCall), arrived.span);
      const asked = checked(verb, decode(input, grpcCall.request), methods);
      await admitCall(call, verb, asked, methods.engine);
      await verb.run(methods, asked, call, sendTo(grpcCall, output));
      observe(served, arrived, status.OK);
      grpcCall.end();
    } catch (error) {
      const failure = fail(served, arrived, error);
      // In grpc-js, this ends a stream with a status. After a cancellation, nobody would receive it.
      if (!grpcCall.cancelled) grpcCall.emit("error", failure);
    } finally {
      call?.close();
      observer.streamClosed();
    }
  };
}

function sendTo(call: ServerWritableStream<Buffer, Buffer>, schema: DescMessage): Send<Answer> {
  return (message, written) => {
    if (call.cancelled) return;
    // An error means that the stream is gone; the call's own cancellation reports that.
    call.write(encode(schema, message), (error: Error | null | undefined) => {
      if (!error) written?.();
    });
  };
}

function arrive({ tracer }: Served, verb: AnyVerb, call: GrpcCall): Arrived {
  const span = tracer && beginCall(tracer, verb.of.name, traceParentOf(call.metadata));
  return { verb, call, startedMs: performance.now(), span };
}

/** Returns the status that the client gets. */
function fail(served: Served, arrived: Arrived, error: unknown): StatusObject {
  const failure = failureOf(error);
  const { verb, span } = arrived;
  if (!(error instanceof ClientGone)) served.faultLog.failed(verb.of.name, failure, error, span);
  observe(served, arrived, failure.status.code, failure.reason);
  return failure.status;
}

/** A call that its client gave up counts as CANCELLED or DEADLINE_EXCEEDED, whatever the server answered. */
function observe({ observer }: Served, arrived: Arrived, code: status, reason?: Reason): void {
  const { verb, call, startedMs, span } = arrived;
  const seen = call.cancelled ? (deadlinePassed(call) ? status.DEADLINE_EXCEEDED : status.CANCELLED) : code;
  if (span) endCall(span, seen, reason);
  observer.call(verb.of.name, status[seen], (performance.now() - startedMs) / 1e3, "call", span);
}

/**
 * The client's deadline passes earlier than the server's, by the time that the call took to arrive, so the client
 * hangs up first.
 */
function deadlinePassed(call: GrpcCall): boolean {
  return Number(call.getDeadline()) <= Date.now() + DEADLINE_SLACK_MS;
}

/** The definition of a method whose requests and answers pass through grpc-js as bytes. */
export function definitionOf(method: DescMethod): MethodDefinition<Buffer, Buffer> {
  return {
    path: `/${method.parent.typeName}/${method.name}`,
    requestStream: method.methodKind === "bidi_streaming",
    responseStream: method.methodKind !== "unary",
    requestSerialize: asItIs,
    requestDeserialize: asItIs,
    responseSerialize: asItIs,
    responseDeserialize: asItIs,
  };
}

export function asItIs(bytes: Buffer): Buffer {
  return bytes;
}
