// LockService as grpc-js serves it: each method's function in the frame of handler.ts, and the sessions. Bytes go in
// and out undecoded: otherwise grpc-js would answer decoding failures itself, without details and without a log line.

import type { DescMethod } from "@bufbuild/protobuf";
import type { MethodDefinition, ServiceDefinition, UntypedServiceImplementation } from "@grpc/grpc-js";
import { LockService } from "#proto/rowlock/v1/lock_service_pb.js";
import type { ConnectionCalls } from "../connection-calls.ts";
import { type HandlerContext, type Run, streamHandler, unaryHandler } from "../handler.ts";
import type { Sessions } from "../session/sessions.ts";
import type { MethodContext } from "./method.ts";
import { METHODS } from "./methods.ts";

/** Keyed by the method's name: `Acquire`. */
export const lockServiceDefinition: ServiceDefinition = Object.fromEntries(
  LockService.methods.map((method) => [method.name, definitionOf(method)]),
);

/** One handler for each method, keyed by its name. */
export function lockServiceHandlers(
  calls: ConnectionCalls,
  frame: HandlerContext,
  sessions: Sessions,
): UntypedServiceImplementation {
  // The type of METHODS has checked that each function fits the messages of its method.
  const methods = METHODS as unknown as Record<string, Run<[MethodContext]>>;
  return Object.fromEntries(
    LockService.methods.map((method) => {
      if (method.methodKind === "bidi_streaming") return [method.name, sessions.handler];
      const runMethod = methods[method.localName] as Run<[MethodContext]>;
      const run: Run = (message, call, send) =>
        calls.run(call, (context) => runMethod(context, message, call, send));
      const handler = method.methodKind === "server_streaming" ? streamHandler : unaryHandler;
      return [method.name, handler(method, run, frame)];
    }),
  );
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

function asItIs(bytes: Buffer): Buffer {
  return bytes;
}
