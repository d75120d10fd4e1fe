// What the gRPC layer reports to metrics about calls and sessions. Implementations must not throw.

/** How a call arrived: on its own, or as a command of a session. */
export type Via = "call" | "session";

export interface CallObserver {
  /**
   * Called once, at the end of each call. `method` is without its service (`Acquire`), `code` is a name (`OK`), and
   * `seconds` run from the call's arrival to its end.
   */
  call(method: string, code: string, seconds: number, via: Via): void;
  /** Server streams outside sessions: WaitInQueue and WatchLocks. */
  streamOpened(): void;
  streamClosed(): void;
  sessionOpened(): void;
  /** `code`: the name of the status with which the session ended. */
  sessionClosed(code: string, seconds: number): void;
  /** Claims in pokes: sent to another server, not delivered to it, or received from it. */
  poke(event: "sent" | "lost" | "received", claims: number): void;
  /** A session received a message with `items` commands, or sent one with `items` results. */
  sessionMessage(direction: "received" | "sent", items: number, bytes: number): void;
}
