// Who follows what, and up to which revision of a guard row everything was seen: what decides whether a poll looks again.
// A poll and the answers of transactions come over different connections, in any order.

import { describe, expect, test } from "vitest";
import type { Claim, ClaimKey } from "../../server/core/claim.ts";
import { Places } from "../../server/engine/places.ts";
import { Waiters } from "../../server/engine/waiters.ts";
import { Watch } from "../../server/engine/watch.ts";

const LOCK = 7n;
const claim = (ticketNumber: bigint, state: Claim["state"] = "waiting") =>
  ({ lockId: LOCK, ticketNumber, state, provisional: false }) as Claim;
const waiter = () => ({ settled() {} });

describe("the waiters of a replica", () => {
  test("look again when a poll was ahead of the answer that made a claim wait", () => {
    const waiters = new Waiters();
    waiters.add(claim(1n), waiter(), 5n);
    // Revision 6 lets claim 2 wait, another replica's 7 grants to it, and the poll reads 7 before 6 is answered here.
    waiters.saw(LOCK, 7n, waiters.lastAddition(LOCK));
    waiters.add(claim(2n), waiter(), 6n);
    waiters.sawOwn(LOCK, 5n, 6n);
    expect(waiters.isStale(LOCK, 7n)).toBe(true);
  });

  test("look again when a claim came to wait while the poll read the others", async () => {
    const waiters = new Waiters();
    const settled: bigint[] = [];
    const follow = (ticketNumber: bigint, revision: bigint) =>
      waiters.add(claim(ticketNumber), { settled: (held) => settled.push(held.ticketNumber) }, revision);
    follow(1n, 5n);
    // Others have made 6; this replica lets claim 2 wait with 7; others grant to it with 8, which the poll has read.
    let reads = 0;
    const store = {
      watch: async () => ({ revisions: new Map([[LOCK, 8n]]), due: [] }),
      claims: async (keys: readonly ClaimKey[]) => {
        reads += 1;
        if (reads === 1) {
          follow(2n, 7n);
          waiters.sawOwn(LOCK, 6n, 7n);
        }
        const state = (key: ClaimKey) => (key.ticketNumber === 2n ? "held" : "waiting");
        return { nowUs: 0, claims: keys.map((key) => claim(key.ticketNumber, state(key))) };
      },
    };
    const queue = async () => ({ nowUs: 0, places: [] });
    const places = new Places({ store: { queue }, waiters, onFailure() {} });
    const watch = new Watch({ store, waiters, places, advance: async () => {} });
    await watch.look();
    expect(settled).toEqual([]);
    await watch.look();
    expect(settled).toEqual([2n]);
    await watch.look();
    expect(reads).toBe(2);
  });

  test("need no look at what this replica alone has done", () => {
    const waiters = new Waiters();
    waiters.add(claim(1n), waiter(), 5n);
    waiters.add(claim(2n), waiter(), 6n);
    waiters.sawOwn(LOCK, 5n, 6n);
    expect(waiters.isStale(LOCK, 6n)).toBe(false);
  });

  test("look again at what another replica has done in between", () => {
    const waiters = new Waiters();
    waiters.add(claim(1n), waiter(), 5n);
    waiters.add(claim(2n), waiter(), 7n);
    waiters.sawOwn(LOCK, 6n, 7n);
    expect(waiters.isStale(LOCK, 7n)).toBe(true);
  });
});
