// LockService as grpc-js serves it: the function of each method, in the frame of handler.ts. Bytes go in and out as they
// are: grpc-js would answer failures of decoding in its own words, without details and without a log line.

import type { DescMethod } from "@bufbuild/protobuf";
import type { MethodDefinition, ServiceDefinition, UntypedServiceImplementation } from "@grpc/grpc-js";
import { LockService } from "#proto/rowlock/v1/lock_service_pb.js";
import { type HandlerContext, type Run, streamHandler, unaryHandler } from "../handler.ts";
import { acquire } from "./acquire.ts";
import { listLimits, setLimit } from "./limits.ts";
import { getLock, listLocks } from "./listings.ts";
import type { MethodContext, StreamMethod, UnaryMethod } from "./method.ts";
import { forceRelease, release, renew } from "./renew-and-release.ts";
import { waitInQueue } from "./wait-in-queue.ts";

type Described = (typeof LockService)["method"];

const METHODS: {
  readonly [Name in keyof Described]: Described[Name]["methodKind"] extends "unary"
    ? UnaryMethod<Described[Name]["input"], Described[Name]["output"]>
    : StreamMethod<Described[Name]["input"], Described[Name]["output"]>;
} = { acquire, waitInQueue, renew, release, setLimit, getLock, listLocks, listLimits, forceRelease };

/** Under the names of the methods, `Acquire`. */
export const lockServiceDefinition: ServiceDefinition = Object.fromEntries(
  LockService.methods.map((method) => [method.name, definitionOf(method)]),
);

/** One handler for each method, under its name. */
export function lockServiceHandlers(
  context: MethodContext,
  frame: HandlerContext,
): UntypedServiceImplementation {
  // The table has proved that each goes with the messages of its method.
  const methods = METHODS as unknown as Record<string, Run<[MethodContext]>>;
  return Object.fromEntries(
    LockService.methods.map((method) => {
      const run = (methods[method.localName] as Run<[MethodContext]>).bind(null, context);
      return [method.name, (isStream(method) ? streamHandler : unaryHandler)(method, run, frame)];
    }),
  );
}

function definitionOf(method: DescMethod): MethodDefinition<Buffer, Buffer> {
  return {
    path: `/${method.parent.typeName}/${method.name}`,
    requestStream: false,
    responseStream: isStream(method),
    requestSerialize: asItIs,
    requestDeserialize: asItIs,
    responseSerialize: asItIs,
    responseDeserialize: asItIs,
  };
}

function isStream(method: DescMethod): boolean {
  return method.methodKind === "server_streaming";
}

function asItIs(bytes: Buffer): Buffer {
  return bytes;
}
