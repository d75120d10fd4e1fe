// One thing that is asked for, and how it stands with it.

import type { RowlockError } from "../rowlock-error.ts";
import type { Command, Connection, Result } from "./connection.ts";

/** Each kind is asked for in order of arrival, and has bounds of its own: what keeps leases, what waits, and the rest. */
export const KINDS = ["urgent", "other", "wait"] as const;

export interface Ask {
  readonly kind: (typeof KINDS)[number];
  /** What to ask for, each time that it is asked for. */
  readonly command: (connection: Connection) => Command;
  /** always; not once it may have taken effect; or not on another connection. */
  readonly repeat: "always" | "unsent" | "on this connection";
  /** Without an answer for so long it fails. Infinity: it is not given up. */
  readonly giveUpAfterMs: () => number;
  /** A result, which was so at `basisMs` or later. Whether it was the last one. */
  readonly answered: (result: Result, basisMs: number) => boolean;
  readonly failed: (error: RowlockError) => void;
}

/** How much of a connection's bounds is used. */
export interface Use {
  readonly connection: Connection;
  commands: number;
  waits: number;
}

export class Call {
  readonly ask: Ask;
  /** Calls are asked for again in the order in which they began. */
  readonly order: number;
  number = 0n;
  use: Use | undefined;
  /** When it was asked for; Infinity once it was answered. */
  askedMs = 0;
  /** 0: no connection has taken it. */
  timesSent = 0;
  /** It was sent over a connection that is left by now, and that had reached its server. */
  wasReached = false;
  isOver = false;
  failures = 0;
  /** What it was answered last, where that was no result. */
  lastError: RowlockError | undefined;
  retryTimer: NodeJS.Timeout | undefined;
  giveUpTimer: NodeJS.Timeout | undefined;

  constructor(ask: Ask, order: number) {
    this.ask = ask;
    this.order = order;
  }

  /** Whether a server may know of it. */
  get mayBeKnown(): boolean {
    return this.wasReached || this.use?.connection.wasReached === true;
  }
}
