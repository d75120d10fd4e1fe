// What the gRPC layer tells others about itself: metrics implement the first, and the log of outages the second. Owns no
// state.

/** Counts calls. Called once at the end of each; must not throw. */
export interface CallObserver {
  /** `method` without its service (`Acquire`), `code` by name (`OK`); `seconds` from its arrival to its end. */
  call(method: string, code: string, seconds: number): void;
  streamOpened(): void;
  streamClosed(): void;
}

/** Tells of an outage of the database once for all that fails for it. */
export interface OutageObserver {
  /** A call failed; answers whether it is part of an outage, and so needs no further word. */
  failed(where: { readonly method: string }, error: unknown): boolean;
}
