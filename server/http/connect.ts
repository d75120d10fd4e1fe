// The verbs of the contract by the Connect protocol and gRPC-Web, in JSON and in binary: for curl, browsers, and whatever has
// no gRPC. A request comes here when it is known who calls.

import type { IncomingMessage, RequestListener } from "node:http";
import type { DescMessage, DescMethod, Message } from "@bufbuild/protobuf";
import { createContextKey, createContextValues, type HandlerContext } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { LockService } from "#proto/rowlock/v1/lock_service_pb.js";
import type { Served } from "../grpc/call-frame.ts";
import { failureOf } from "../grpc/messages/status.ts";
import type { AnyVerb } from "../grpc/verbs.ts";
import { connectError } from "./connect-error.ts";
import { READ_BYTES_MAX } from "./http-bounds.ts";
import { type Admit, type Arrived, answered, CallFailed, HttpCall, streamed } from "./http-call.ts";
import { jsonMessage } from "./json-message.ts";

const REQUEST = createContextKey<IncomingMessage | undefined>(undefined);

export function connectListener(
  served: Served,
  verbs: ReadonlyMap<string, AnyVerb>,
  admit: Admit,
): RequestListener {
  const arrivedOf = (verb: AnyVerb, message: Message, context: HandlerContext): Arrived => {
    const request = context.values.get(REQUEST) as IncomingMessage;
    const call = new HttpCall(request, context.signal, context.timeoutMs());
    return { call, message, identify: () => admit(request, verb) };
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
        // What a verb has as options stands for the router's choice of protocols, too.
        const options = { grpc: false, jsonOptions: jsonOptionsOf(method.input) };
        router.rpc(method as DescMethod, (method.methodKind === "unary" ? once : stream) as never, options);
      }
    },
    contextValues: (request) => createContextValues().set(REQUEST, request as IncomingMessage),
    readMaxBytes: READ_BYTES_MAX,
  });
}

/** What cannot be read fails as in a stream of events. Connect would say it without a reason, and read text that is not UTF-8. */
function jsonOptionsOf(schema: DescMessage) {
  const textDecoder = {
    decode(bytes: Uint8Array) {
      try {
        return jsonMessage(schema, bytes).text;
      } catch (error) {
        throw connectError(failureOf(error));
      }
    },
  };
  // A field with a typing error would count as left out: a wait without its bound, a lock that nobody meant.
  return { ignoreUnknownFields: false, textDecoder };
}

async function* translated(messages: AsyncIterable<Message>): AsyncGenerator<Message, void> {
  try {
    yield* messages;
  } catch (error) {
    asConnectError(error);
  }
}

function asConnectError(error: unknown): never {
  throw error instanceof CallFailed ? connectError(error.failure) : error;
}
