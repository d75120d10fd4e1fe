// What the gRPC layer tells others about itself: metrics implement the one, a pino logger is the other. Owns no state.

/** Counts calls. Called once at the end of each; must not throw. */
export interface CallObserver {
  /** `method` without its service (`Acquire`), `code` by name (`OK`); `seconds` from its arrival to its end. */
  call(method: string, code: string, seconds: number): void;
  streamOpened(): void;
  streamClosed(): void;
}

/** The part of a pino logger that is used here. */
export interface Logger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}
