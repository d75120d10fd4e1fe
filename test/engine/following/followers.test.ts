// Who follows what, and up to which revision of a guard row everything was seen: what decides whether a poll looks again.
// A poll and the answers of transactions come over different connections, in any order.

import { describe, expect, test } from "vitest";
import type { Claim, ClaimKey } from "../../../server/core/claim.ts";
import { Followers } from "../../../server/engine/following/followers.ts";
import { Places } from "../../../server/engine/following/places.ts";
import { Watch } from "../../../server/engine/following/watch.ts";

const LOCK = 7n;
const claim = (ticketNumber: bigint, state: Claim["state"] = "waiting", secret = "own") =>
  ({ lockId: LOCK, ticketNumber, state, secret, provisional: false, requestedAtUs: 0 }) as Claim;
const follower = () => ({ told() {} });

describe("the followers of a replica", () => {
  test("look again when a poll was ahead of the answer that made a claim wait", () => {
    const followers = new Followers();
    followers.add(claim(1n), follower(), 5n);
    // Revision 6 lets claim 2 wait, another replica's 7 grants to it, and the poll reads 7 before 6 is answered here.
    followers.saw(LOCK, 7n, followers.lastAddition(LOCK));
    followers.add(claim(2n), follower(), 6n);
    followers.sawOwn(LOCK, 5n, 6n);
    expect(followers.isStale(LOCK, 7n)).toBe(true);
  });

  test("look again when a claim came to wait while the poll read the others", async () => {
    const followers = new Followers();
    const told: bigint[] = [];
    const follow = (ticketNumber: bigint, revision: bigint) =>
      followers.add(claim(ticketNumber), { told: (held) => told.push(held.ticketNumber) }, revision);
    follow(1n, 5n);
    // Others have made 6; this replica lets claim 2 wait with 7; others grant to it with 8, which the poll has read.
    let reads = 0;
    const store = {
      watch: async () => ({
        revisions: new Map([[LOCK, 8n]]),
        due: [],
        dueSoon: new Map(),
        rulesRevision: 0n,
      }),
      limitRules: async () => [],
      claims: async (keys: readonly ClaimKey[]) => {
        reads += 1;
        if (reads === 1) {
          follow(2n, 7n);
          followers.sawOwn(LOCK, 6n, 7n);
        }
        const state = (key: ClaimKey) => (key.ticketNumber === 2n ? "held" : "waiting");
        return { nowUs: 0, claims: keys.map((key) => claim(key.ticketNumber, state(key))) };
      },
    };
    const queue = async () => ({ nowUs: 0, places: [] });
    const places = new Places({ store: { queue }, followers, onFailure() {} });
    const watch = new Watch({
      store,
      followers,
      places,
      advances: { start: async () => {} },
      rulesInForce: { saw() {} },
      onFailure() {},
    });
    await watch.look();
    expect(told).toEqual([]);
    await watch.look();
    expect(told).toEqual([2n]);
    await watch.look();
    expect(reads).toBe(2);
  });

  test("need no look at what this replica alone has done", () => {
    const followers = new Followers();
    followers.add(claim(1n), follower(), 5n);
    followers.add(claim(2n), follower(), 6n);
    followers.sawOwn(LOCK, 5n, 6n);
    expect(followers.isStale(LOCK, 6n)).toBe(false);
  });

  test("look again at what another replica has done in between", () => {
    const followers = new Followers();
    followers.add(claim(1n), follower(), 5n);
    followers.add(claim(2n), follower(), 7n);
    followers.sawOwn(LOCK, 6n, 7n);
    expect(followers.isStale(LOCK, 7n)).toBe(true);
  });

  describe("whose claim is gone, as another one has its number", () => {
    const GONE = { state: "ended", secret: "own" };
    const follow = (secret: string, told: Claim[]) => ({
      claim: claim(1n, "waiting", secret),
      follower: { told: (claim: Claim) => void told.push(claim) },
    });

    test("are told that it has ended when the other one is granted here, or comes to wait here", () => {
      const followers = new Followers();
      const told: Claim[] = [];
      const others: Claim[] = [];
      const [own, other] = [follow("own", told), follow("other", others)];
      followers.add(own.claim, own.follower, 5n);
      followers.tell(claim(1n, "held", "other"), 0);
      expect(told).toMatchObject([GONE]);

      followers.add(own.claim, own.follower, 5n);
      followers.add(other.claim, other.follower, 6n);
      expect(told).toMatchObject([GONE, GONE]);
      expect([...followers.claims()]).toEqual([other.claim]);
      followers.tell(claim(1n, "held", "other"), 0);
      expect(others).toMatchObject([{ state: "held", secret: "other" }]);
    });

    test.each(["waiting", "held"] as const)(
      "are told so by a poll that finds the other one %s",
      async (state) => {
        const followers = new Followers();
        const told: Claim[] = [];
        const own = follow("own", told);
        followers.add(own.claim, own.follower, 5n);
        const store = {
          watch: async () => ({
            revisions: new Map([[LOCK, 8n]]),
            due: [],
            dueSoon: new Map(),
            rulesRevision: 0n,
          }),
          limitRules: async () => [],
          claims: async () => ({ nowUs: 0, claims: [{ ...claim(1n, state, "other"), provisional: true }] }),
        };
        const queue = async () => ({ nowUs: 0, places: [] });
        const places = new Places({ store: { queue }, followers, onFailure() {} });
        await new Watch({
          store,
          followers,
          places,
          advances: { start: async () => {} },
          rulesInForce: { saw() {} },
          onFailure() {},
        }).look();
        expect(told).toMatchObject([GONE]);
      },
    );
  });
});
