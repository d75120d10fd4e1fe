// A call that has come over HTTP, as the frame of calls sees it: who sent it, until when its client waits, and when it has
// gone. What carries it (Connect, events) makes it from the head of the request.

import { EventEmitter } from "node:events";
import type { IncomingMessage } from "node:http";
import { create, type DescMessage, fromBinary, type Message } from "@bufbuild/protobuf";
import type { Identity } from "../access/access.ts";
import { formatListenAddress } from "../config/addresses.ts";
import type { TraceParent } from "../core/span.ts";
import type { Answer } from "../grpc/call.ts";
import { type CarriedCall, type Carrier, perform, type Served } from "../grpc/call-frame.ts";
import type { Failure } from "../grpc/messages/status.ts";
import type { AnyVerb } from "../grpc/verbs.ts";
import { Outgoing } from "./outgoing.ts";

/** The call has failed: what its client is told. */
export class CallFailed extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.status.details);
    this.failure = failure;
  }
}

/** Emits `cancelled` when its client has gone before it has its answer. */
export class HttpCall extends EventEmitter implements CarriedCall {
  readonly #request: IncomingMessage;
  readonly #signal: AbortSignal;
  readonly #deadlineMs: number;

  /** `timeoutMs`: how long its client waits; undefined: it does not say. */
  constructor(request: IncomingMessage, signal: AbortSignal, timeoutMs: number | undefined) {
    super();
    this.#request = request;
    this.#signal = signal;
    this.#deadlineMs = timeoutMs === undefined ? Number.POSITIVE_INFINITY : Date.now() + timeoutMs;
    signal.addEventListener("abort", () => this.emit("cancelled"), { once: true });
  }

  get cancelled(): boolean {
    return this.#signal.aborted;
  }

  getPeer(): string {
    return peerOf(this.#request);
  }

  getDeadline(): number {
    return this.#deadlineMs;
  }

  parent(): TraceParent {
    const { traceparent, tracestate } = this.#request.headers;
    return { traceparent: textOf(traceparent), tracestate: textOf(tracestate) };
  }
}

/** Address and port of the client, as calls name them. */
export function peerOf({ socket }: IncomingMessage): string {
  return formatListenAddress({ host: peerHost(socket), port: socket.remotePort ?? 0 });
}

/** Without the prefix that IPv4 addresses have at a listener for both. */
export function peerHost({ remoteAddress = "" }: Pick<IncomingMessage["socket"], "remoteAddress">): string {
  return remoteAddress.replace(/^::ffff:(?=[\d.]+$)/, "");
}

function textOf(header: string | string[] | undefined): string | undefined {
  return typeof header === "string" ? header : header?.[0];
}

/**
 * Takes a place for a request that is whole, so one that never ends keeps nobody out, and returns who has sent it. Throws what the call
 * then fails with.
 */
export type Admit = (request: IncomingMessage, verb: AnyVerb) => Identity;

/** A call whose head and message are here. `identify` may throw what it then fails with. */
export interface Arrived {
  readonly call: HttpCall;
  readonly message: Message;
  identify(): Identity | Promise<Identity>;
}

/** Performs a unary call. Rejects with CallFailed alone. */
export function answered(served: Served, verb: AnyVerb, arrived: Arrived): Promise<Message> {
  const { promise, resolve, reject } = Promise.withResolvers<Message>();
  perform(served, verb, {
    ...carried(arrived),
    encode: (answer) => messageOf(verb.of.output, answer as Answer),
    end: (ended) => (ended.failure ? reject(new CallFailed(ended.failure)) : resolve(ended.result)),
  });
  return promise;
}

/** Performs a call whose answer is a stream, which throws CallFailed alone. Whoever stops to read it must have gone. */
export function streamed(served: Served, verb: AnyVerb, arrived: Arrived): AsyncIterable<Message> {
  const { observer } = served;
  const outgoing = new Outgoing<Message>();
  observer.streamOpened();
  perform(served, verb, {
    ...carried(arrived),
    encode() {},
    send: (message, written) => outgoing.add(messageOf(verb.of.output, message), written),
    end({ failure }) {
      outgoing.end(failure && new CallFailed(failure));
      observer.streamClosed();
    },
  });
  return outgoing;
}

function carried(arrived: Arrived): Omit<Carrier<never>, "encode" | "end"> {
  const { call } = arrived;
  const identify = () => arrived.identify();
  return { call, via: "http", parent: () => call.parent(), identify, decode: () => arrived.message };
}

function messageOf(schema: DescMessage, answer: Answer | Buffer): Message {
  return Buffer.isBuffer(answer) ? fromBinary(schema, answer) : create(schema, answer);
}
