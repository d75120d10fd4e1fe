// The interface between the calls and a connection: a connection takes commands and delivers results. One kind carries
// them over one stream (session-connection.ts), the other as unary calls (unary-connection.ts).

import type { Lease } from "#proto/rowlock/v1/lock_pb.js";
import type { LostLease, SessionCommand, SessionResult } from "#proto/rowlock/v1/lock_service_pb.js";
import type { UnaryMethod } from "../bare/methods.ts";
import type { RowlockError } from "../rowlock-error.ts";

/** The commands that this client sends. */
export type Command = Extract<
  SessionCommand["command"],
  { case: UnaryMethod | "waitInQueue" | "watchLocks" | "renewLeases" }
>;
export type Result = Exclude<SessionResult["result"], { case: undefined | "error" | "rejected" }>;

/** The bounds of a connection whose server has answered. */
export interface Opened {
  /** The server's name in its own log; empty if not known. */
  readonly replica: string;
  /** The most waits that may be open at once. */
  readonly waitsMax: number;
  /** The most other commands that may be open at once. */
  readonly commandsMax: number;
}

export interface Connection {
  readonly address: string;
  /** session: one stream carries all calls, and a wait may name its ticket; unary: each command is a call of its own. */
  readonly via: "session" | "unary";
  /** Undefined until the server has answered. */
  readonly opened: Opened | undefined;
  /** Whether a transport connection to the server existed, so that the server may have heard what was sent. */
  readonly wasReached: boolean;
  /** The most leases that one command may renew. */
  readonly renewalsMax: number;
  /**
   * Sends a command, whose results come under the number of its call, with the trace context of its caller. Returns false if it cannot send the command
   * before the server has answered. Throws a RowlockError for a command that the server would never take.
   */
  send(call: bigint, command: Command, traceparent?: string): boolean;
  /** Ends a call; the caller ignores further results. */
  cancel(call: bigint): void;
  /** Ends it gracefully, or after `withinMs` at once. */
  close(withinMs: number): Promise<void>;
  /** Ends it at once, without notifying its owner. */
  destroy(): void;
}

/** What a server has reported. */
export interface News {
  /** The server has answered for the first time. */
  readonly opened?: boolean;
  readonly results?: readonly { readonly call: bigint; readonly result: Result | RowlockError }[];
  /** Leases that were provisional, and have their whole ttl from now on. */
  readonly confirmed?: readonly Lease[];
  readonly lost?: readonly LostLease[];
  /** The server stops: it takes no more commands, but answers may still come. */
  readonly goingAway?: boolean;
}

/** The options of every connection. */
export interface ConnectionOptions {
  readonly address: string;
  /** The owner of claims whose request names none. */
  readonly owner: string;
  /** Labels of all claims; a claim's own labels override them. */
  readonly labels: Readonly<Record<string, string>>;
  /** Takes news, which the server made at `basisMs` or later by the client's clock. */
  readonly onNews: (news: News, basisMs: number) => void;
  /** Called once when the connection ends, but not after `close` or `destroy`. */
  readonly onEnded: (error: RowlockError) => void;
}
