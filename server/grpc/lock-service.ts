// LockService as grpc-js serves it: carries calls of their own to and from their frame. Methods reach grpc-js only
// through that frame: an uncaught exception would leave the call without an answer and end the process. Bytes go in and
// out undecoded: otherwise grpc-js would answer decoding failures itself, without details and without a log line.

import type { DescMethod } from "@bufbuild/protobuf";
import type * as grpc from "@grpc/grpc-js";
import { LockService } from "#proto/rowlock/v1/lock_service_pb.js";
import type { Answer } from "./call.ts";
import { type CarriedCall, type Carrier, identified, perform, type Served } from "./call-frame.ts";
import { asItIs, decode, encode } from "./messages/messages.ts";
import { traceParentOf } from "./open-call.ts";
import type { Sessions } from "./session/sessions.ts";
import { type AnyVerb, ROWS } from "./verbs.ts";

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

function unaryHandler(verb: AnyVerb, served: Served): grpc.handleUnaryCall<Buffer, Buffer> {
  return (call, callback) =>
    perform(served, verb, {
      ...arriving(call, verb, served),
      encode: (answer) => encode(verb.of.output, answer as Answer),
      end: (ended) => (ended.failure ? callback(ended.failure.status) : callback(null, ended.result)),
    });
}

function streamHandler(verb: AnyVerb, served: Served): grpc.handleServerStreamingCall<Buffer, Buffer> {
  const { observer } = served;
  return (call) => {
    observer.streamOpened();
    perform(served, verb, {
      ...arriving(call, verb, served),
      encode() {},
      send(message, written) {
        if (call.cancelled) return;
        // An error means that the stream is gone; the call's own cancellation reports that.
        call.write(encode(verb.of.output, message), (error: Error | null | undefined) => {
          if (!error) written?.();
        });
      },
      end({ failure }) {
        if (!failure) call.end();
        // In grpc-js, this ends a stream with a status. After a cancellation, nobody would receive it.
        else if (!call.cancelled) call.emit("error", failure.status);
        observer.streamClosed();
      },
    });
  };
}

type GrpcCall = CarriedCall &
  Pick<grpc.ServerUnaryCall<Buffer, Buffer>, "metadata" | "request" | "getAuthContext">;

function arriving(call: GrpcCall, { of }: AnyVerb, served: Served): Omit<Carrier<never>, "encode" | "end"> {
  return {
    call,
    via: "call",
    parent: () => traceParentOf(call.metadata),
    identify: () => identified(served, call),
    decode: () => decode(of.input, call.request),
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
