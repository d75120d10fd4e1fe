// The waiters of a server over reads that a test answers. What it does not answer is quiet: nothing changes, nothing is
// due, and nobody reads a queue.

import type { Followers } from "../../server/engine/subscribers/followers.ts";
import { Places } from "../../server/engine/subscribers/places.ts";
import { Waiters, type WaitersOptions } from "../../server/engine/subscribers/waiters.ts";

type Poll = Awaited<ReturnType<WaitersOptions["store"]["poll"]>>;

/** What a poll reads, beside what the test says. */
export function polled(more: Partial<Poll>): Poll {
  return { revisions: new Map(), due: [], dueSoon: new Map(), rulesRevision: 0n, ...more };
}

export function waitersOver(
  followers: Followers,
  store: Partial<WaitersOptions["store"]>,
  more: Partial<Omit<WaitersOptions, "store">> = {},
): Waiters {
  const queue = async () => ({ nowUs: 0, lock: null, places: [] });
  return new Waiters({
    store: {
      poll: async () => polled({}),
      claims: async () => ({ nowUs: 0, claims: [] }),
      limitRules: async () => [],
      ...store,
    },
    followers,
    places: new Places({ store: { queue, poolQueue: queue }, rules: () => [], followers, onFailure() {} }),
    advances: { start: async () => {} },
    rulesInForce: { saw() {} },
    intervalMs: 86_400_000,
    onRulesChanged() {},
    onFailure() {},
    ...more,
  });
}
