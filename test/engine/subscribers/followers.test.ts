// Who follows what, and up to which revision of a guard row everything was seen: this decides whether a poll reads the
// lock again. A poll and the answers of transactions use different connections, so they arrive in any order.

import { describe, expect, test } from "vitest";
import type { Claim, ClaimKey, Member } from "../../../server/core/claim.ts";
import { Followers } from "../../../server/engine/subscribers/followers.ts";
import { polled, waitersOver } from "../../support/scripted-waiters.ts";

const LOCK = 7n;
const claim = (ticketNumber: bigint, state: Claim["state"] = "waiting", secret = "own") =>
  ({ lockId: LOCK, ticketNumber, state, secret, provisional: false, requestedAtUs: 0 }) as Claim;
const follower = () => ({ settled() {} });

/** The lock, as this replica has written it. */
const OWN = { id: LOCK, name: "lock", revision: 1n };

describe("the followers of a replica", () => {
  test("look again if a poll was ahead of the answer that made a claim wait", () => {
    const followers = new Followers();
    followers.add(claim(1n), follower(), 5n);
    // Revision 6 adds waiter 2, another replica's revision 7 grants to it, and the poll reads 7 before 6 is answered
    // here.
    followers.saw(LOCK, 7n, followers.additions);
    followers.add(claim(2n), follower(), 6n);
    followers.decided({ ...OWN, revision: 6n }, 5n, []);
    expect(followers.isStale(LOCK, 7n)).toBe(true);
  });

  test("look again if a claim came to wait while the poll read the others", async () => {
    const followers = new Followers();
    const told: bigint[] = [];
    const follow = (ticketNumber: bigint, revision: bigint) =>
      followers.add(claim(ticketNumber), { settled: (held) => told.push(held.ticketNumber) }, revision);
    follow(1n, 5n);
    // Another replica makes revision 6; this one adds waiter 2 with 7; another one grants to it with 8, and the poll
    // has read that.
    let reads = 0;
    const store = {
      poll: async () => polled({ revisions: new Map([[LOCK, 8n]]) }),
      claims: async (keys: readonly ClaimKey[]) => {
        reads += 1;
        if (reads === 1) {
          follow(2n, 7n);
          followers.decided({ ...OWN, revision: 7n }, 6n, []);
        }
        const state = (key: ClaimKey) => (key.ticketNumber === 2n ? "held" : "waiting");
        return { nowUs: 0, claims: keys.map((key) => claim(key.ticketNumber, state(key))) };
      },
    };
    const waiters = waitersOver(followers, store);
    await waiters.look();
    expect(told).toEqual([]);
    await waiters.look();
    expect(told).toEqual([2n]);
    await waiters.look();
    expect(reads).toBe(2);
  });

  test("look again at what another replica has done in between", () => {
    const followers = new Followers();
    followers.add(claim(1n), follower(), 5n);
    followers.add(claim(2n), follower(), 7n);
    followers.decided({ ...OWN, revision: 7n }, 6n, []);
    expect(followers.isStale(LOCK, 7n)).toBe(true);
  });

  describe("followers of a claim that is gone, and whose number another claim has", () => {
    const GONE = { state: "ended", secret: "own" };
    const follow = (secret: string, told: Claim[]) => ({
      claim: claim(1n, "waiting", secret),
      follower: { settled: (claim: Claim) => void told.push(claim) },
    });

    test("are notified of its end when the other claim is granted or queued here", () => {
      const followers = new Followers();
      const told: Claim[] = [];
      const others: Claim[] = [];
      const [own, other] = [follow("own", told), follow("other", others)];
      followers.add(own.claim, own.follower, 5n);
      followers.settled(claim(1n, "held", "other"), 0);
      expect(told).toMatchObject([GONE]);

      followers.add(own.claim, own.follower, 5n);
      followers.add(other.claim, other.follower, 6n);
      expect(told).toMatchObject([GONE, GONE]);
      expect([...followers.claims()]).toEqual([other.claim]);
      followers.settled(claim(1n, "held", "other"), 0);
      expect(others).toMatchObject([{ state: "held", secret: "other" }]);
    });

    test.each(["waiting", "held"] as const)(
      "are notified of its end by a poll that finds the other claim %s",
      async (state) => {
        const followers = new Followers();
        const told: Claim[] = [];
        const own = follow("own", told);
        followers.add(own.claim, own.follower, 5n);
        const store = {
          poll: async () => polled({ revisions: new Map([[LOCK, 8n]]) }),
          claims: async () => ({ nowUs: 0, claims: [{ ...claim(1n, state, "other"), provisional: true }] }),
        };
        await waitersOver(followers, store).look();
        expect(told).toMatchObject([GONE]);
      },
    );
  });

  test("stay when one of them leaves, and nothing is kept after the last one", () => {
    const followers = new Followers();
    const [one, other, stranger] = [follower(), follower(), follower()];
    followers.add(claim(1n), one, 1n);
    followers.add(claim(1n), other, 1n);
    expect(followers.remove(claim(1n), stranger)).toBe(true);
    expect(followers.remove(claim(1n), one)).toBe(true);
    expect(followers.remove(claim(1n), one)).toBe(true);
    expect(followers.claim(claim(1n))).toBeDefined();
    expect(followers.remove(claim(2n), one)).toBe(false);
    expect(followers.remove(claim(1n), other)).toBe(false);
    expect(followers.remove(claim(1n), other)).toBe(false);
    expect(followers.count).toBe(0);
    expect(followers.follows(LOCK)).toBe(false);
    expect(followers.lockIds()).toEqual([]);
    expect([...followers.claims()]).toEqual([]);
    expect([...followers.of(LOCK)]).toEqual([]);
  });

  describe("of a claim for several locks", () => {
    const OTHER = 8n;
    const member = (lockId: bigint, ticketNumber: bigint) =>
      ({ lockId, ticketNumber, name: `lock ${lockId}` }) as Member;
    const set = (secret = "own"): Claim => ({
      ...claim(1n, "waiting", secret),
      members: [member(LOCK, 1n), member(OTHER, 5n)],
    });
    const placed = () => ({ settled() {}, placed() {} });

    test("are followers at each of its locks, and its heartbeat is one", () => {
      const followers = new Followers();
      const who = placed();
      followers.add(set(), who, 3n, new Map([[OTHER, { lock: { revision: 4n } }]]));
      expect(followers.lockIds()).toEqual([LOCK, OTHER]);
      expect([followers.isStale(LOCK, 3n), followers.isStale(OTHER, 4n)]).toEqual([false, false]);
      expect([followers.wantsPlaces(LOCK), followers.wantsPlaces(OTHER)]).toEqual([true, true]);
      expect([...followers.claims()]).toEqual([set()]);
      expect(followers.count).toBe(1);
      expect(followers.remove(set(), who)).toBe(false);
      expect(followers.count).toBe(0);
      expect(followers.lockIds()).toEqual([]);
    });

    test("look at a further lock whose revision nobody knew", () => {
      const followers = new Followers();
      followers.add(set(), placed(), 3n);
      expect(followers.isStale(OTHER, 4n)).toBe(true);
    });

    test("leave those of others at its locks, when it is granted", () => {
      const followers = new Followers();
      const told: Claim[] = [];
      const other = { ...claim(6n), lockId: OTHER };
      followers.add(other, placed(), 1n);
      followers.add(set(), { settled: (now) => told.push(now), placed() {} }, 1n);
      followers.settled({ ...set(), state: "held" }, 0);
      expect(told).toMatchObject([{ state: "held", ticketNumber: 1n }]);
      expect(followers.lockIds()).toEqual([OTHER]);
      expect([...followers.claims()]).toEqual([other]);
      expect([followers.wantsPlaces(LOCK), followers.wantsPlaces(OTHER)]).toEqual([false, true]);
    });

    test("hear of its end when another claim has the number of one of its rows", () => {
      const followers = new Followers();
      const told: Claim[] = [];
      followers.add(set(), { settled: (now) => told.push(now) }, 1n);
      followers.add({ ...claim(5n, "waiting", "other"), lockId: OTHER }, placed(), 1n);
      expect(told).toMatchObject([{ state: "ended", secret: "own", lockId: LOCK }]);
      expect(followers.lockIds()).toEqual([OTHER]);
    });
  });
});
