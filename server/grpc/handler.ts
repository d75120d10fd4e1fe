// The frame around every call: decode, check, run, encode, and answer whatever is thrown. No handler gets to grpc-js
// except through here, because an exception in one that is not caught would never answer and end the process.

import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import type {
  handleServerStreamingCall,
  handleUnaryCall,
  ServerUnaryCall,
  ServerWritableStream,
} from "@grpc/grpc-js";
import { status } from "@grpc/grpc-js";
import type { CallObserver } from "./call-observer.ts";
import type { FaultLog } from "./fault-log.ts";
import { DEADLINE_SLACK_MS } from "./grpc-bounds.ts";
import { badRequest, CallError, ClientGone } from "./messages/call-error.ts";
import { type Failure, failureOf } from "./messages/status.ts";
import type { Checked } from "./validate/violations.ts";

/** What a handler may know of the call that it serves. */
export type AnyCall = Pick<
  ServerUnaryCall<Buffer, Buffer>,
  "cancelled" | "getDeadline" | "getPeer" | "once" | "off"
>;

export interface HandlerContext {
  readonly observer: CallObserver;
  readonly faultLog: FaultLog;
}

/** The parts of a call, each of which may throw a CallError or a Fault. */
interface Verb<Input extends DescMessage, Output extends DescMessage, Request> {
  readonly name: string;
  readonly input: Input;
  readonly output: Output;
  /** Pure. */
  check(message: MessageShape<Input>): Checked<Request>;
}

export interface UnaryVerb<Input extends DescMessage, Output extends DescMessage, Request>
  extends Verb<Input, Output, Request> {
  /** The answer, or its bytes where they were made part by part, so that no part holds up other calls for long. */
  run(request: Request, call: AnyCall): Promise<MessageShape<Output> | Buffer>;
}

export interface StreamVerb<Input extends DescMessage, Output extends DescMessage, Request>
  extends Verb<Input, Output, Request> {
  /** The stream is closed when the promise is settled. */
  run(request: Request, call: AnyCall, send: Send<MessageShape<Output>>): Promise<void>;
}

/** Sends one message; `written` is called when the connection has taken it. */
export type Send<Message> = (message: Message, written?: () => void) => void;

export function unaryHandler<Input extends DescMessage, Output extends DescMessage, Request>(
  verb: UnaryVerb<Input, Output, Request>,
  context: HandlerContext,
): handleUnaryCall<Buffer, Buffer> {
  return async (call, callback) => {
    const startedMs = performance.now();
    try {
      const request = accept(verb, call.request);
      const answer = encode(verb.output, await verb.run(request, call));
      observe(context, verb.name, call, status.OK, startedMs);
      callback(null, answer);
    } catch (error) {
      callback(fail(context, verb.name, call, error, startedMs).status);
    }
  };
}

export function streamHandler<Input extends DescMessage, Output extends DescMessage, Request>(
  verb: StreamVerb<Input, Output, Request>,
  context: HandlerContext,
): handleServerStreamingCall<Buffer, Buffer> {
  return async (call) => {
    const startedMs = performance.now();
    context.observer.streamOpened();
    try {
      const request = accept(verb, call.request);
      await verb.run(request, call, sendTo(call, verb.output));
      observe(context, verb.name, call, status.OK, startedMs);
      call.end();
    } catch (error) {
      const failure = fail(context, verb.name, call, error, startedMs);
      // The way to end a stream of grpc-js with a status. After a cancellation there is nobody to tell.
      if (!call.cancelled) call.emit("error", failure.status);
    } finally {
      context.observer.streamClosed();
    }
  };
}

function sendTo<Output extends DescMessage>(
  call: ServerWritableStream<Buffer, Buffer>,
  schema: Output,
): Send<MessageShape<Output>> {
  return (message, written) => {
    if (call.cancelled) return;
    // An error means that the stream is gone, which the call's own cancellation tells.
    call.write(encode(schema, message), (error: Error | null | undefined) => {
      if (!error) written?.();
    });
  };
}

/** The request that the bytes are, or an error that says all that is wrong with them. */
function accept<Input extends DescMessage, Output extends DescMessage, Request>(
  verb: Verb<Input, Output, Request>,
  bytes: Buffer,
): Request {
  const checked = verb.check(decode(verb.input, bytes));
  if (checked.violations) throw badRequest(checked.violations);
  return checked.value;
}

function decode<Input extends DescMessage>(schema: Input, bytes: Buffer): MessageShape<Input> {
  try {
    return fromBinary(schema, bytes, { readUnknownFields: false });
  } catch {
    // Whatever the decoder says, it is about its reading of the caller's bytes.
    throw new CallError(
      "MALFORMED_MESSAGE",
      `The bytes are not a ${schema.typeName}: encode it as protobuf, and all text in it as UTF-8.`,
    );
  }
}

function encode<Output extends DescMessage>(schema: Output, message: MessageShape<Output> | Buffer): Buffer {
  if (Buffer.isBuffer(message)) return message;
  const bytes = toBinary(schema, message, { writeUnknownFields: false });
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function fail(
  context: HandlerContext,
  method: string,
  call: AnyCall,
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
  call: AnyCall,
  code: status,
  startedMs: number,
): void {
  const seen = call.cancelled ? (deadlinePassed(call) ? status.DEADLINE_EXCEEDED : status.CANCELLED) : code;
  context.observer.call(method, status[seen], (performance.now() - startedMs) / 1e3);
}

/** The client's own clock runs ahead by the way of the call, so it is the first to hang up. */
function deadlinePassed(call: AnyCall): boolean {
  return Number(call.getDeadline()) <= Date.now() + DEADLINE_SLACK_MS;
}
