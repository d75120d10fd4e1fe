// A method of the contract is a function of the context that all methods share, the decoded request, and the call. It
// checks the request first, and may throw a CallError or a Fault. Types only.

import type { DescMessage, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import type { LockEngine } from "../../engine/lock-engine.ts";
import type { AnyCall, Send } from "../handler.ts";
import type { OpenWaits } from "./open-waits.ts";
import type { PlaceTurns } from "./place-turns.ts";

export interface MethodContext {
  readonly engine: LockEngine;
  readonly openWaits: Pick<OpenWaits, "enter">;
  /** Makes streams take turns in sending places. */
  readonly turns: PlaceTurns;
  /** How long a place is kept without a sign of life. */
  readonly graceUs: number;
}

/** Answers with a message, or with its bytes: a method that encodes part by part holds up no other calls for long. */
export type UnaryMethod<Input extends DescMessage, Output extends DescMessage> = (
  context: MethodContext,
  message: MessageShape<Input>,
  call: AnyCall,
) => Promise<MessageInitShape<Output> | Buffer>;

/** The stream closes when the promise settles. */
export type StreamMethod<Input extends DescMessage, Output extends DescMessage> = (
  context: MethodContext,
  message: MessageShape<Input>,
  call: AnyCall,
  send: Send<MessageInitShape<Output>>,
) => Promise<void>;
