// What the gRPC layer tells metrics about calls and sessions. Must not throw.

/** How a call came: by itself, or as a command of a session. */
export type Via = "call" | "session";

export interface CallObserver {
  /** Once at the end of each. `method` without its service (`Acquire`), `code` by name (`OK`); from its arrival to its end. */
  call(method: string, code: string, seconds: number, via: Via): void;
  /** Streams of WaitInQueue. */
  streamOpened(): void;
  streamClosed(): void;
  sessionOpened(): void;
  /** `code` by name: how it ended. */
  sessionClosed(code: string, seconds: number): void;
  /** A message of a session: so many commands that were received, or results that were sent. */
  /** Claims of which this server told another one, tried to tell it, or was told. */
  poke(event: "sent" | "lost" | "received", claims: number): void;
  sessionMessage(direction: "received" | "sent", items: number, bytes: number): void;
}
