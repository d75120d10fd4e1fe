// The verbs of the contract by the Connect protocol and gRPC-Web, in JSON and in binary: for curl, browsers, and whatever has
// no gRPC. Who calls is asked for by the head of a request alone; a stranger's body is not read.

import type { IncomingMessage, RequestListener } from "node:http";
import type { DescMethod, Message } from "@bufbuild/protobuf";
import { createContextKey, createContextValues, type HandlerContext } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { LockService } from "#proto/rowlock/v1/lock_service_pb.js";
import type { Identity } from "../access/access.ts";
import type { Served } from "../grpc/call-frame.ts";
import type { AnyVerb } from "../grpc/verbs.ts";
import { connectError } from "./connect-error.ts";
import type { Doorkeeper } from "./door.ts";
import { READ_BYTES_MAX } from "./http-bounds.ts";
import { type Arrived, answered, CallFailed, HttpCall, streamed } from "./http-call.ts";

const REQUEST = createContextKey<IncomingMessage | undefined>(undefined);
const IDENTITY = createContextKey<Identity | undefined>(undefined);

export function connectListener(
  served: Served,
  verbs: ReadonlyMap<string, AnyVerb>,
  keeper: Doorkeeper,
): RequestListener {
  const arrivedOf = (verb: AnyVerb, message: Message, context: HandlerContext): Arrived => {
    const request = requestOf(context);
    const call = new HttpCall(request, context.signal, context.timeoutMs());
    const identity = context.values.get(IDENTITY) as Identity;
    return { call, message, identify: () => keeper.admit(request, verb, identity) };
  };
  return connectNodeAdapter({
    routes(router) {
      for (const method of LockService.methods) {
        const verb = verbs.get(method.name);
        if (!verb) continue;
        const once = (message: Message, context: HandlerContext) =>
          answered(served, verb, arrivedOf(verb, message, context)).catch(asConnectError);
        const stream = (message: Message, context: HandlerContext) =>
          translated(streamed(served, verb, arrivedOf(verb, message, context)));
        router.rpc(method as DescMethod, (method.methodKind === "unary" ? once : stream) as never);
      }
    },
    contextValues: (request) => createContextValues().set(REQUEST, request as IncomingMessage),
    requestGate: async (context) => {
      const verb = verbs.get(context.method.name);
      if (!verb) return;
      try {
        context.values.set(IDENTITY, await keeper.identify(requestOf(context), verb));
      } catch (error) {
        // Within the frame, so that it is counted as the failure of a call.
        throw await refused(served, verb, context, error);
      }
    },
    readMaxBytes: READ_BYTES_MAX,
    grpc: false,
  });
}

async function refused(served: Served, verb: AnyVerb, context: HandlerContext, error: unknown): Promise<unknown> {
  const call = new HttpCall(requestOf(context), context.signal, context.timeoutMs());
  const identify = () => {
    throw error;
  };
  return await answered(served, verb, { call, message: undefined as never, identify }).then(
    () => error,
    (failed: unknown) => connectErrorOf(failed),
  );
}

function requestOf({ values }: HandlerContext): IncomingMessage {
  return values.get(REQUEST) as IncomingMessage;
}

async function* translated(messages: AsyncIterable<Message>): AsyncGenerator<Message, void> {
  try {
    yield* messages;
  } catch (error) {
    asConnectError(error);
  }
}

function asConnectError(error: unknown): never {
  throw connectErrorOf(error);
}

function connectErrorOf(error: unknown): unknown {
  return error instanceof CallFailed ? connectError(error.failure) : error;
}
