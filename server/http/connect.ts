// The verbs of the contract by the Connect protocol and gRPC-Web, in JSON and in binary: for curl, browsers, and whatever has
// no gRPC. Who calls is asked for by the head of a request alone; a stranger's body is not read.

import type { IncomingMessage, RequestListener } from "node:http";
import type { DescMethod, Message } from "@bufbuild/protobuf";
import { type ConnectRouter, createContextKey, createContextValues, type HandlerContext } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { LockService } from "#proto/rowlock/v1/lock_service_pb.js";
import type { Identity } from "../access/access.ts";
import type { Served } from "../grpc/call-frame.ts";
import { type AnyVerb, ROWS } from "../grpc/verbs.ts";
import { connectError } from "./connect-error.ts";
import { READ_BYTES_MAX } from "./http-bounds.ts";
import { type Arrived, answered, CallFailed, HttpCall, streamed } from "./http-call.ts";

export interface ConnectOptions {
  readonly served: Served;
  /** Who has sent the head. Throws, or rejects with, an AccessError or a CallError. */
  readonly identify: (request: IncomingMessage, verb: AnyVerb) => Identity | Promise<Identity>;
}

const REQUEST = createContextKey<IncomingMessage | undefined>(undefined);
const IDENTITY = createContextKey<Identity | undefined>(undefined);

const VERBS_BY_NAME: ReadonlyMap<string, AnyVerb> = new Map(
  Object.values(ROWS).map((verb) => [verb.of.name, verb]),
);

export function connectListener({ served, identify }: ConnectOptions): RequestListener {
  return connectNodeAdapter({
    routes: (router) => addVerbs(router, served),
    contextValues: (request) => createContextValues().set(REQUEST, request as IncomingMessage),
    requestGate: async (context) => {
      const verb = VERBS_BY_NAME.get(context.method.name);
      if (!verb) return;
      try {
        const identity = await identify(requestOf(context), verb);
        context.values.set(IDENTITY, identity);
      } catch (error) {
        // Within the frame, so that it is counted as the failure of a call.
        throw await refused(served, verb, context, error);
      }
    },
    readMaxBytes: READ_BYTES_MAX,
    grpc: false,
  });
}

function addVerbs(router: ConnectRouter, served: Served): void {
  for (const method of LockService.methods) {
    const verb = VERBS_BY_NAME.get(method.name);
    if (!verb) continue;
    const once = (message: Message, context: HandlerContext) =>
      answered(served, verb, arrivedOf(message, context)).catch(asConnectError);
    const stream = (message: Message, context: HandlerContext) =>
      translated(streamed(served, verb, arrivedOf(message, context)));
    router.rpc(method as DescMethod, (method.methodKind === "unary" ? once : stream) as never);
  }
}

function arrivedOf(message: Message, context: HandlerContext): Arrived {
  const call = new HttpCall(requestOf(context), context.signal, context.timeoutMs());
  return { call, message, identify: () => context.values.get(IDENTITY) as Identity };
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
