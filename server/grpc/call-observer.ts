// What the gRPC layer tells metrics about calls.

/** Counts calls. Called once at the end of each; must not throw. */
export interface CallObserver {
  /** `method` without its service (`Acquire`), `code` by name (`OK`); `seconds` from its arrival to its end. */
  call(method: string, code: string, seconds: number): void;
  streamOpened(): void;
  streamClosed(): void;
}
