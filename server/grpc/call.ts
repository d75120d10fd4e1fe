// What a method of the contract gets with its request: the context that all methods share, and its call. The call comes
// by itself (call-frame.ts) or as a command of a session (session-call.ts).

import type { DescMessage, MessageInitShape } from "@bufbuild/protobuf";
import type { Identity } from "../access/access.ts";
import type { AccessError } from "../access/access-error.ts";
import type { Usage } from "../access/usage.ts";
import type { Claim, ClaimRef } from "../core/claim.ts";
import type { Caller } from "../core/command.ts";
import type { LockEngine } from "../engine/engine.ts";
import type { Admission } from "./admission.ts";
import type { OpenWaits } from "./open-waits.ts";
import type { RenewalBound } from "./renewal-bounds.ts";

export interface MethodContext {
  readonly engine: LockEngine;
  /** Makes streams take turns in sending places. */
  readonly turns: { take(go: () => void): void };
  readonly graceUs: number;
}

/** Whose call it is: a session, or a connection with its calls outside sessions. */
export interface Client {
  readonly identity: Identity;
  readonly usage: Usage;
  readonly admission: Pick<Admission, "enter">;
  readonly waits: Pick<OpenWaits, "enter">;
  readonly renewals: RenewalBound;
}

export type Answer = MessageInitShape<DescMessage>;

/** How a call ends. None of these throws; what comes after the end counts for nothing. */
export interface Reply<Message = Answer> {
  /** The call has its answer: a message, or its bytes. A stream ends without one. */
  answer(message?: Message | Buffer): void;
  fail(error: unknown): void;
  /** Of a stream: sends one message. May throw if it cannot be encoded. */
  send(message: Message, written?: () => void): void;
}

export interface Call<Message = Answer> extends Caller, Reply<Message> {
  readonly client: Client;
  readonly isUrgent: boolean;
  readonly signal: AbortSignal;
  readonly isCancelled: boolean;
  /** As the signal, for the one wait of the call: the listener hears of it, at once if it is so already; null: none does. */
  whenGone(listener: ((why: Error) => void) | null): void;
  /** In a session: how a lease has ended that the call was given or has kept, and that no answer has reported yet. */
  endOf?(lease: ClaimRef): Claim | undefined;
  /** In a session: the call's answer reports that the lease has ended; `how`: the ended claim, if known. */
  reportsEnd?(lease: ClaimRef, how?: Claim): void;
  /** In a session: a part of the call was denied, and the others may not be. */
  denied?(why: AccessError): void;
}

/** Sends one message, and calls `written` when the connection has taken it. */
export type Send<Message> = (message: Message, written?: () => void) => void;
