// Contract: every field, at every width, is read as it was written.

import { describe, expect, test } from "vitest";
import type { Claim } from "../../../server/core/claim.ts";
import type { Lock } from "../../../server/core/lock.ts";
import { END_REASONS, MODES, STATES } from "../../../server/storage/rows/values.ts";
import type { FreshStore, Wanted } from "../../support/store-fixture.ts";
import {
  addClaims,
  BIG,
  changeClaims,
  changeLock,
  load,
  lockId,
  planned,
  readClaim,
  SECOND_US,
} from "../../support/store-fixture.ts";

/** The last time, in the year 2255, whose microseconds a number holds exactly. */
const LATEST_US = Number.MAX_SAFE_INTEGER;

const FULL: Wanted = {
  ticketNumber: BIG,
  secret: "A-Za-z0-9_-0123456789z",
  requestId: `\0\0${"🔒".repeat(31)}ab`,
  mode: "exclusive",
  permits: 1_000_000,
  owner: `${"🔒".repeat(63)}abc`,
  principal: `spiffe://a/${"🔒".repeat(61)}`,
  labels: { job: "nightly 🌙", empty: "", "": "no key", 'quote"\\': "\0'\n", __proto: "x" },
  requestedAtUs: LATEST_US,
  waitUntilUs: LATEST_US - 1,
  state: "held",
  ttlUs: LATEST_US - 2,
  deadlineUs: LATEST_US - 3,
  replica: BIG,
  provisional: true,
  fencingToken: BIG,
  grantedAtUs: LATEST_US - 4,
  terms: {
    minIntervalUs: LATEST_US,
    lockDelayUs: LATEST_US - 1,
    statusIfLost: "🔒".repeat(15),
    ifStatus: Array.from({ length: 16 }, (_, index) => "\0\"\\'".repeat(15) + index),
  },
};

const BARE: Wanted = {
  owner: "",
  labels: {},
  waitUntilUs: null,
  state: "held",
  ttlUs: null,
  deadlineUs: null,
  replica: null,
  provisional: false,
  fencingToken: 0n,
  grantedAtUs: null,
};

const ENDED: Wanted = {
  ...FULL,
  state: "ended",
  endedAtUs: LATEST_US - 3 - 60 * SECOND_US,
  endReason: "force_released",
  endNote: "é".repeat(127),
  endedBy: "ü".repeat(127),
};

const RATE = { permits: 1, perUs: 60_000_000, burst: 1 };

export function contractOfRows(fresh: () => FreshStore): void {
  describe("rows", () => {
    test("many claims that end in one transaction are read as they ended", async () => {
      const { store } = fresh();
      const held: Claim[] = [];
      for (const [index, wanted] of [BARE, FULL, {}, {}, {}, {}].entries()) {
        const id = await lockId(store, `lock ${index}`);
        held.push(...(await addClaims(store, id, { ...wanted, state: "held" })));
      }
      const end: Partial<Claim> = {
        ...{ state: "ended", deadlineUs: LATEST_US - 7 },
        ...{ endedAtUs: LATEST_US - 7 - 60 * SECOND_US, endReason: "released", endNote: "" },
      };
      const ended = held.map(
        (claim, index): Claim => ({
          ...claim,
          ...end,
          ...(index === 3 && { endReason: "force_released", endNote: "it's 🌙", endedBy: "job/ø" }),
          // Changed in the same transaction.
          ...(index === 4 && { ttlUs: 17 }),
        }),
      );
      await changeClaims(store, ...ended);
      for (const claim of ended) expect(await readClaim(store, claim)).toEqual(claim);
      const requestIds = ended.map(({ requestId }) => requestId);
      const found = (await load(store, { requestIds })).claims;
      expect(found).toHaveLength(ended.length);
      expect(found).toEqual(expect.arrayContaining(ended));
    });

    test.for([
      ["with every field filled to its brim", FULL],
      ["with nothing in every field that may be empty", BARE],
      ["that has ended, with every field filled to its brim,", ENDED],
    ] as const)("a claim %s is read as it was added", async ([, wanted]) => {
      const { store } = fresh();
      const id = await lockId(store, "a");
      const [added] = await addClaims(store, id, wanted);
      expect(await readClaim(store, added as Claim)).toEqual(added);
      const { requestId } = added as Claim;
      expect((await load(store, { requestIds: [requestId] })).claims).toEqual([added]);
    });

    test.for([
      ["filled to its brim", BARE, FULL],
      ["emptied", FULL, BARE],
    ] as const)("every field of a claim that may change can be %s", async ([, from, to]) => {
      const { store } = fresh();
      const id = await lockId(store, "a");
      const [added] = (await addClaims(store, id, from)) as [Claim];
      // The claim's terms never change.
      const { state, ttlUs, deadlineUs, replica, provisional, fencingToken, grantedAtUs } = to as Claim;
      const changed = { ...added, state, ttlUs, deadlineUs, replica, provisional, fencingToken, grantedAtUs };
      await changeClaims(store, changed);
      expect(await readClaim(store, added)).toEqual(changed);
    });

    test("every state, mode and reason is read as the word it was", async () => {
      const { store } = fresh();
      const id = await lockId(store, "a");
      const wanted: Wanted[] = [
        ...STATES.filter(Boolean).map((state) => ({ state })),
        ...MODES.filter(Boolean).map((mode) => ({ mode })),
        ...END_REASONS.filter(Boolean).map((endReason) => ({ state: "ended" as const, endReason })),
      ];
      const added = await addClaims(store, id, ...wanted);
      expect(added.length).toBe(18);
      expect((await store.claims(added)).claims).toEqual(added);
      const requestIds = added.map(({ requestId }) => requestId);
      expect((await store.claimsByRequest([...requestIds, "nobody's"])).claims).toHaveLength(added.length);
      expect((await store.claimsByRequest(requestIds.slice(0, 1))).claims).toEqual(added.slice(0, 1));
      expect((await store.claimsByRequest([])).claims).toEqual([]);
    });

    test("claims by key leave out missing ones, and come with the time", async () => {
      const { store } = fresh();
      const id = await lockId(store, "a");
      const [claim] = (await addClaims(store, id, {})) as [Claim];
      const answer = await store.claims([
        { lockId: id, ticketNumber: claim.ticketNumber + 1n },
        claim,
        { lockId: id + 1000n, ticketNumber: 1n },
      ]);
      expect(answer.claims).toEqual([claim]);
      expect(answer.nowUs).toBeGreaterThanOrEqual(claim.requestedAtUs);
      expect((await store.claims([])).claims).toEqual([]);
    });

    test("a guard row is new with its numbers at their beginning", async () => {
      const { store } = fresh();
      const id = await lockId(store, "a");
      const lock: Lock = {
        id,
        name: "a",
        limit: null,
        rate: null,
        queueRules: null,
        sharedBy: null,
        orderKeyUs: 0,
        limitVersion: 0n,
        limitReason: "",
        rateUntilUs: 0,
        wakesAtUs: null,
        nextTicket: 1n,
        lastToken: 0n,
        heldPermits: 0,
        sharedHolders: 0,
        exclusiveHolders: 0,
        holders: 0,
        waiting: 0,
        waitingPermits: 0,
        entering: 0,
        enteringPermits: 0,
        counting: null,
        changeMark: 0n,
        recordFloor: 0n,
        firstHolder: null,
        record: null,
        revision: 0n,
      };
      expect((await load(store, { locks: planned(id) })).locks).toEqual(new Map([[id, lock]]));
    });

    test("every field of a guard row is read as it was written", async () => {
      const { store } = fresh();
      const id = await lockId(store, "a");
      const fill = (lock: Lock) =>
        Object.assign(lock, {
          limit: 1_000_000,
          limitVersion: BIG,
          limitReason: "é".repeat(127),
          nextTicket: BIG + 1n,
          lastToken: BIG + 2n,
          heldPermits: 100_000_000_000,
          sharedHolders: 100_001,
          exclusiveHolders: 1,
          holders: 100_002,
          waiting: 0,
          waitingPermits: 100_000_000_001,
          revision: BIG + 3n,
          rate: { permits: 1_000_000, perUs: Number.MAX_SAFE_INTEGER, burst: 1_000_000 },
          rateUntilUs: Number.MAX_SAFE_INTEGER,
          wakesAtUs: Number.MAX_SAFE_INTEGER,
        });
      const written = await changeLock(store, id, fill);
      expect((await store.view("a", 0))?.lock).toEqual(written);
      expect((await load(store, { locks: planned(id) })).locks.get(id)).toEqual(written);
      const emptied = await changeLock(store, id, (lock) => {
        lock.limit = null;
        lock.limitReason = "";
        lock.rate = null;
        lock.rateUntilUs = 0;
        lock.wakesAtUs = null;
      });
      expect((await store.view("a", 0))?.lock).toEqual(emptied);
    });

    test.for<Partial<Lock>>([
      { rate: { ...RATE, permits: 2 } },
      { rate: { ...RATE, perUs: 61_000_000 } },
      { rate: { ...RATE, burst: 2 } },
      { rate: null },
      { rateUntilUs: 1_700_000_000_000_001 },
      { wakesAtUs: 1_700_000_000_000_001 },
    ])("a guard row of which nothing changes but %o is written, and read by everybody", async (change) => {
      const { store, other } = fresh();
      const id = await lockId(store, "a");
      await changeLock(store, id, (lock) => Object.assign(lock, { rate: RATE }));
      for (const each of [store, other]) if (each) await load(each, { locks: planned(id) });
      await changeLock(store, id, (lock) => Object.assign(lock, change));
      for (const each of [other, store])
        if (each) expect((await load(each, { locks: planned(id) })).locks.get(id)).toMatchObject(change);
    });

    test("a limit of 0 is a limit, not the lack of one", async () => {
      const { store } = fresh();
      const id = await lockId(store, "a");
      await changeLock(store, id, (lock) => {
        lock.limit = 0;
      });
      expect((await store.view("a", 0))?.lock.limit).toBe(0);
    });
  });
}
