// One call: what it asks for, and its state.

import type { RowlockError } from "../rowlock-error.ts";
import type { Command, Connection, Result } from "./connection.ts";

/** The order of sending: calls that keep or end leases, then the rest, then waits; each kind in order of arrival. */
export const KINDS = ["urgent", "other", "wait"] as const;

export interface Ask {
  readonly kind: (typeof KINDS)[number];
  /** Makes the command for each try. It may throw, which fails the call. */
  readonly command: (connection: Connection) => Command;
  /**
   * always: any time; once open: any time, but first to a server that has answered, as a second try cannot know what the
   * first one did; unsent: only if it cannot have taken effect; on this connection: not on another one.
   */
  readonly repeat: "always" | "once open" | "unsent" | "on this connection";
  /** The trace context of the caller, as the header of that name; empty or unset: none. */
  readonly traceparent?: string;
  /** How long the call may have no answer before it fails; Infinity: for ever. */
  readonly giveUpAfterMs: () => number;
  /** Takes a result, which the server made at `basisMs` or later. Returns whether it was the last one. */
  readonly answered: (result: Result, basisMs: number) => boolean;
  readonly failed: (error: RowlockError) => void;
}

/** A connection, and how many of its commands and waits are in use. */
export interface Usage {
  readonly connection: Connection;
  commands: number;
  waits: number;
}

export class Call {
  readonly ask: Ask;
  /** Calls are repeated in the order in which they began. */
  readonly order: number;
  number = 0n;
  usage: Usage | undefined;
  /** When it was sent last; Infinity once it was answered. */
  askedMs = 0;
  /** How many times a connection has taken it. */
  timesSent = 0;
  /** Whether a server has answered it, for example with a place. */
  wasAnswered = false;
  /** Whether an earlier connection that took it had reached its server. */
  wasReached = false;
  isOver = false;
  failures = 0;
  /** The last transient error that a server answered with. */
  lastError: RowlockError | undefined;
  retryTimer: NodeJS.Timeout | undefined;
  giveUpTimer: NodeJS.Timeout | undefined;

  constructor(ask: Ask, order: number) {
    this.ask = ask;
    this.order = order;
  }

  /** Whether a server may know of the call. */
  get mayBeKnown(): boolean {
    return this.wasReached || this.usage?.connection.wasReached === true;
  }
}
