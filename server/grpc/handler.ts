// The frame around every call: decode, run, encode, and answer whatever is thrown. No method gets to grpc-js except
// through here, because an exception that is not caught would never answer and end the process.

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

/** What a method may know of the call that it serves, be it one of its own or one of a session. */
export interface AnyCall {
  /** Whether nobody waits for its answer any more. */
  readonly cancelled: boolean;
  /** Whether that is so because its client has said so, and not because it was lost on its way, and may come back. */
  readonly isGivenUp?: boolean;
  getPeer(): string;
  /** See Caller. Only in sessions, like those below. */
  readonly source?: object;
  holds?(lease: Claim): void;
  /** How a lease has ended that the call was given or has kept and not told of yet. */
  endOf?(lease: ClaimRef): Claim | undefined;
  /** Its answer says that the lease has ended, and how, if that is known. */
  tellsEnd?(lease: ClaimRef, how?: Claim): void;
  /** Calls `listener` when `cancelled` becomes true. One listener at a time. */
  once(event: "cancelled", listener: () => void): unknown;
  off(event: "cancelled", listener: () => void): unknown;
}

/** A call of its own. */
type OwnCall = AnyCall & Pick<ServerUnaryCall<Buffer, Buffer>, "getDeadline">;

export interface HandlerContext {
  readonly observer: CallObserver;
  readonly faultLog: FaultLog;
}

type Init = MessageInitShape<DescMessage>;

/** A method on messages of any type. Only a stream sends, and only a unary method answers. */
export type Run<First extends unknown[] = []> = (
  ...args: [...First, message: Message, call: AnyCall, send?: Send<Init>]
) => Promise<Init | Buffer>;

/** Sends one message; `written` is called when the connection has taken it. */
export type Send<Message> = (message: Message, written?: () => void) => void;

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
      // The way to end a stream of grpc-js with a status. After a cancellation there is nobody to tell.
      if (!call.cancelled) call.emit("error", failure.status);
    } finally {
      context.observer.streamClosed();
    }
  };
}

function sendTo(call: ServerWritableStream<Buffer, Buffer>, schema: DescMessage): Send<Init> {
  return (message, written) => {
    if (call.cancelled) return;
    // An error means that the stream is gone, which the call's own cancellation tells.
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

/** A call that its client gave up is counted as that, whatever became of it here. */
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

/** The client's own clock runs ahead by the way of the call, so it is the first to hang up. */
function deadlinePassed(call: OwnCall): boolean {
  return Number(call.getDeadline()) <= Date.now() + DEADLINE_SLACK_MS;
}
