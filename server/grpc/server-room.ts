// What the whole server has room for, whoever asks for it. Above it what is new is refused; what is there goes on, and leases
// are kept.

export interface ServerRoom {
  readonly waits: number;
  readonly sessions: number;
  readonly connections: number;
  /** Whether memory is short: then there is room for nothing new. */
  readonly isShort: () => boolean;
}

export const NO_BOUND: ServerRoom = {
  waits: Number.POSITIVE_INFINITY,
  sessions: Number.POSITIVE_INFINITY,
  connections: Number.POSITIVE_INFINITY,
  isShort: () => false,
};
