// A server's room for tests that are not about it.

import type { ServerCapacity } from "../../server/grpc/open-waits.ts";

export const NO_BOUND: ServerCapacity = {
  waits: Number.POSITIVE_INFINITY,
  principalWaits: Number.POSITIVE_INFINITY,
  sessions: Number.POSITIVE_INFINITY,
  connections: Number.POSITIVE_INFINITY,
  isShort: () => false,
};
