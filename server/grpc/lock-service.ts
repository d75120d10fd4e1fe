// LockService as grpc-js serves it: carries calls of their own to and from their frame. Methods reach grpc-js only
// through that frame: an uncaught exception would leave the call without an answer and end the process. Bytes go in and
// out undecoded: otherwise grpc-js would answer decoding failures itself, without details and without a log line.

import type { DescMessage, DescMethod } from "@bufbuild/protobuf";
import type * as grpc from "@grpc/grpc-js";
import { LockService } from "#proto/rowlock/v1/lock_service_pb.js";
import type { Answer, Send } from "./call.ts";
import { type CarriedCall, type Carrier, identified, perform, type Served } from "./call-frame.ts";
import { asItIs, decode, encode } from "./messages/messages.ts";
import { traceParentOf } from "./open-call.ts";
import type { Sessions } from "./session/sessions.ts";
import { type AnyVerb, ROWS } from "./verbs.ts";

type GrpcCall = CarriedCall &
  Pick<grpc.ServerUnaryCall<Buffer, Buffer>, "metadata" | "request" | "getAuthContext">;

export const lockServiceDefinition: grpc.ServiceDefinition = Object.fromEntries(
  LockService.methods.map((method) => [method.name, definitionOf(method)]),
);

export function lockServiceHandlers(served: Served, sessions: Sessions): grpc.UntypedServiceImplementation {
  const handlers = Object.values(ROWS).map((verb) => {
    const handler = verb.of.methodKind === "unary" ? unaryHandler : streamHandler;
    return [verb.of.name, handler(verb, served)];
  });
  return Object.fromEntries([...handlers, [LockService.method.session.name, sessions.handler]]);
}

export function unaryHandler(verb: AnyVerb, served: Served): grpc.handleUnaryCall<Buffer, Buffer> {
  return (grpcCall, callback) =>
    perform(served, verb, {
      ...arriving(grpcCall, verb, served),
      encode: (answer) => encode(verb.of.output, answer as Answer),
      end: (ended) => (ended.failure ? callback(ended.failure.status) : callback(null, ended.result)),
    });
}

export function streamHandler(verb: AnyVerb, served: Served): grpc.handleServerStreamingCall<Buffer, Buffer> {
  const { observer } = served;
  return (grpcCall) => {
    observer.streamOpened();
    perform(served, verb, {
      ...arriving(grpcCall, verb, served),
      encode() {},
      send: sendTo(grpcCall, verb.of.output),
      end({ failure }) {
        if (!failure) grpcCall.end();
        // In grpc-js, this ends a stream with a status. After a cancellation, nobody would receive it.
        else if (!grpcCall.cancelled) grpcCall.emit("error", failure.status);
        observer.streamClosed();
      },
    });
  };
}

function arriving(call: GrpcCall, { of }: AnyVerb, served: Served): Omit<Carrier<never>, "encode" | "end"> {
  return {
    call,
    via: "call",
    parent: () => traceParentOf(call.metadata),
    identify: () => identified(served, call),
    decode: () => decode(of.input, call.request),
  };
}

function sendTo(call: grpc.ServerWritableStream<Buffer, Buffer>, schema: DescMessage): Send<Answer> {
  return (message, written) => {
    if (call.cancelled) return;
    // An error means that the stream is gone; the call's own cancellation reports that.
    call.write(encode(schema, message), (error: Error | null | undefined) => {
      if (!error) written?.();
    });
  };
}

export function definitionOf(method: DescMethod): grpc.MethodDefinition<Buffer, Buffer> {
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
