// The server's room for the waits, sessions and connections of all clients together. Beyond it, the server refuses
// new ones; existing ones go on, and leases are kept.

export interface ServerRoom {
  readonly waits: number;
  readonly sessions: number;
  readonly connections: number;
  /** Whether memory is short: if so, the server takes nothing new. */
  readonly isShort: () => boolean;
}

export const NO_BOUND: ServerRoom = {
  waits: Number.POSITIVE_INFINITY,
  sessions: Number.POSITIVE_INFINITY,
  connections: Number.POSITIVE_INFINITY,
  isShort: () => false,
};
