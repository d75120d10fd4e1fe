// What a method of the contract gets with its request: the context that all methods share, and its call. The call comes
// by itself or as a command of a session. Types only.

import type { Claim, ClaimRef } from "../core/claim.ts";
import type { Caller } from "../core/command.ts";
import type { LockEngine } from "../engine/engine.ts";
import type { Admission } from "./admission.ts";
import type { PlaceTurns } from "./methods/place-updates.ts";
import type { OpenWaits } from "./open-waits.ts";

export interface MethodContext {
  readonly engine: LockEngine;
  /** Makes streams take turns in sending places. */
  readonly turns: PlaceTurns;
  /** How long a place is kept without a sign of life. */
  readonly graceUs: number;
}

/** Whose call it is: a session, or a connection with its calls outside sessions. */
export interface Client {
  /** Admits the client's commands to the engine. */
  readonly admission: Pick<Admission, "run">;
  readonly waits: Pick<OpenWaits, "enter">;
}

export interface Call extends Caller {
  readonly client: Client;
  /** Whether its verb is urgent: see `admission.ts`. */
  readonly isUrgent: boolean;
  readonly signal: AbortSignal;
  /** In a session: how a lease has ended that the call was given or has kept, and that no answer has reported yet. */
  endOf?(lease: ClaimRef): Claim | undefined;
  /** In a session: the call's answer reports that the lease has ended; `how`: the ended claim, if known. */
  tellsEnd?(lease: ClaimRef, how?: Claim): void;
}

/** Sends one message, and calls `written` when the connection has taken it. */
export type Send<Message> = (message: Message, written?: () => void) => void;
