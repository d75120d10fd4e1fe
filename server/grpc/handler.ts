// The frame around every call: decodes, runs, encodes, and answers whatever is thrown. Methods reach grpc-js only
// through this frame: an uncaught exception would leave the call without an answer and end the process.

import type { DescMessage, DescMethod, Message, MessageInitShape } from "@bufbuild/protobuf";
import type {
  handleServerStreamingCall,
  handleUnaryCall,
  ServerUnaryCall,
  ServerWritableStream,
} from "@grpc/grpc-js";
import { status } from "@grpc/grpc-js";
import type { Claim, ClaimRef } from "../core/claim.ts";
import type { CallObserver } from "./call-observer.ts";
import type { FaultLog } from "./fault-log.ts";
import { DEADLINE_SLACK_MS } from "./grpc-bounds.ts";
import { ClientGone } from "./messages/call-error.ts";
import { decode, encode } from "./messages/encoding.ts";
import { type Failure, failureOf } from "./messages/status.ts";

/** What a method knows of the call that it serves: a call of its own, or a command of a session. */
export interface AnyCall {
  /** Nobody waits for the answer any more. */
  readonly cancelled: boolean;
  /**
   * The client has cancelled the call itself, so it does not come back. A client that was merely disconnected may.
   */
  readonly isGivenUp?: boolean;
  getPeer(): string;
  /** See Caller. Only in sessions, as are `holds`, `endOf` and `tellsEnd`. */
  readonly source?: object;
  holds?(lease: Claim): void;
  /** How a lease has ended that the call was given or has kept, and that its answer has not reported yet. */
  endOf?(lease: ClaimRef): Claim | undefined;
  /** The call's answer reports that the lease has ended; `how`: the ended claim, if known. */
  tellsEnd?(lease: ClaimRef, how?: Claim): void;
  /** Calls `listener` when `cancelled` becomes true. One listener at a time. */
  once(event: "cancelled", listener: () => void): unknown;
  off(event: "cancelled", listener: () => void): unknown;
}

/** A call outside sessions. */
type OwnCall = AnyCall & Pick<ServerUnaryCall<Buffer, Buffer>, "getDeadline">;

export interface HandlerContext {
  readonly observer: CallObserver;
  readonly faultLog: FaultLog;
}

type Init = MessageInitShape<DescMessage>;

/** A method on messages of any type. Only stream methods send, and only unary methods return an answer. */
export type Run<First extends unknown[] = []> = (
  ...args: [...First, message: Message, call: AnyCall, send?: Send<Init>]
) => Promise<Init | Buffer>;

/** Sends one message, and calls `written` when the connection has taken it. */
export type Send<Message> = (message: Message, written?: () => void) => void;

/** Serves a unary method. Answers everything that the method throws with a status. */
export function unaryHandler(
  method: DescMethod,
  run: Run,
  context: HandlerContext,
): handleUnaryCall<Buffer, Buffer> {
  return async (call, callback) => {
    const startedMs = performance.now();
    try {
      const answer = encode(method.output, await run(decode(method.input, call.request), call));
      observe(context, method.name, call, status.OK, startedMs);
      callback(null, answer);
    } catch (error) {
      callback(fail(context, method.name, call, error, startedMs).status);
    }
  };
}

/** Serves a method that streams its answers. Ends the stream with a status, whatever the method throws. */
export function streamHandler(
  method: DescMethod,
  run: Run,
  context: HandlerContext,
): handleServerStreamingCall<Buffer, Buffer> {
  return async (call) => {
    const startedMs = performance.now();
    context.observer.streamOpened();
    try {
      await run(decode(method.input, call.request), call, sendTo(call, method.output));
      observe(context, method.name, call, status.OK, startedMs);
      call.end();
    } catch (error) {
      const failure = fail(context, method.name, call, error, startedMs);
      // In grpc-js, this ends a stream with a status. After a cancellation, nobody would receive it.
      if (!call.cancelled) call.emit("error", failure.status);
    } finally {
      context.observer.streamClosed();
    }
  };
}

function sendTo(call: ServerWritableStream<Buffer, Buffer>, schema: DescMessage): Send<Init> {
  return (message, written) => {
    if (call.cancelled) return;
    // An error means that the stream is gone; the call's own cancellation reports that.
    call.write(encode(schema, message), (error: Error | null | undefined) => {
      if (!error) written?.();
    });
  };
}

function fail(
  context: HandlerContext,
  method: string,
  call: OwnCall,
  error: unknown,
  startedMs: number,
): Failure {
  const failure = failureOf(error);
  if (!(error instanceof ClientGone)) context.faultLog.failed(method, failure, error);
  observe(context, method, call, failure.status.code, startedMs);
  return failure;
}

/** A call that its client gave up counts as CANCELLED or DEADLINE_EXCEEDED, whatever the server answered. */
function observe(
  context: HandlerContext,
  method: string,
  call: OwnCall,
  code: status,
  startedMs: number,
): void {
  const seen = call.cancelled ? (deadlinePassed(call) ? status.DEADLINE_EXCEEDED : status.CANCELLED) : code;
  context.observer.call(method, status[seen], (performance.now() - startedMs) / 1e3, "call");
}

/**
 * The client's deadline passes earlier than the server's, by the time that the call took to arrive, so the client
 * hangs up first.
 */
function deadlinePassed(call: OwnCall): boolean {
  return Number(call.getDeadline()) <= Date.now() + DEADLINE_SLACK_MS;
}
