// The seam between what a client wants and how it is carried: a connection takes commands and gives results. One carries them
// over one stream (session-connection.ts), another as calls of their own (unary-connection.ts); above it nobody can tell.

import type { Lease } from "#proto/rowlock/v1/lock_pb.js";
import type { LostLease, SessionCommand, SessionResult } from "#proto/rowlock/v1/lock_service_pb.js";
import type { UnaryMethod } from "../bare/methods.ts";
import type { RowlockError } from "../rowlock-error.ts";

/** Those that this client gives. */
export type Command = Extract<
  SessionCommand["command"],
  { case: UnaryMethod | "waitInQueue" | "watchLocks" | "renewLeases" }
>;
export type Result = Exclude<SessionResult["result"], { case: undefined | "error" | "rejected" }>;

/** What is in force on a connection whose server has answered. */
export interface Opened {
  /** The server, as its log names it; empty where it did not say. */
  readonly replica: string;
  /** Waits that may be open at once. */
  readonly waitsMax: number;
  /** Other commands that may be under way at once. */
  readonly commandsMax: number;
}

export interface Connection {
  readonly address: string;
  readonly via: "session" | "calls";
  /** Undefined until the server has answered. */
  readonly opened: Opened | undefined;
  /** Whether there was a connection to the server, so that it may have heard what was sent. */
  readonly wasReached: boolean;
  /** By which a wait comes back to its place. */
  readonly comesBackBy: "ticket" | "request id";
  /** Leases that one command may renew. */
  readonly renewalsMax: number;
  /**
   * Takes a command, whose results come under the number of its call; or does not, and should be asked again when it has
   * opened. Throws a RowlockError for what the server would never take.
   */
  take(call: bigint, command: Command): boolean;
  /** Ends a call; its results are nobody's business any more. */
  cancel(call: bigint): void;
  /** Ends it in good order, within the time. */
  close(withinMs: number): Promise<void>;
  /** Ends it at once, without a word to its owner. */
  destroy(): void;
}

/** What a server has said. */
export interface News {
  /** The server has answered, for the first time. */
  readonly opened?: boolean;
  readonly results?: readonly { readonly call: bigint; readonly result: Result | RowlockError }[];
  /** Leases that were provisional, and have their whole time to live from now on. */
  readonly confirmed?: readonly Lease[];
  readonly lost?: readonly LostLease[];
  /** The server stops: it takes nothing any more, but answers may still come. */
  readonly goingAway?: boolean;
}

/** What every connection is made with. */
export interface ConnectionOptions {
  readonly address: string;
  /** For claims whose Acquire names no owner. */
  readonly owner: string;
  /** For all claims, beside their own, which win. */
  readonly labels: Readonly<Record<string, string>>;
  /** What it says was so at `basisMs` or later, by the client's clock. */
  readonly onNews: (news: News, basisMs: number) => void;
  /** Called once, unless it was closed from here. */
  readonly onEnded: (error: RowlockError) => void;
}
