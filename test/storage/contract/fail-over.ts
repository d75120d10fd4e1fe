// Contract: a fail-over is recorded once, whichever servers notice it, and what is read of it.

import { describe, expect, test } from "vitest";
import { ROLLED_BACK, retry } from "../../../server/storage/retry.ts";
import type { Store } from "../../../server/storage/store.ts";
import type { FreshStore } from "../../support/store-fixture.ts";
import { addClaims, changeLock, load, lockId, SECOND_US } from "../../support/store-fixture.ts";

const NOTE = { seenEpoch: 0n, epochMin: 0n, pauseUsMin: 0, pauseUsMax: 3_600 * SECOND_US };
const TENS_OF_SECONDS_SINCE_2026 = () => BigInt(Math.round((Date.now() - Date.UTC(2026)) / 10_000));

const noted = async (store: Store) => (await load(store, {})).failOver;

export function contractOfFailOver(fresh: () => FreshStore): void {
  describe("a fail-over", () => {
    test("is absent until a server records one", async () => {
      const { store } = fresh();
      expect(await load(store, {})).toMatchObject({
        failOver: { epoch: 0n, atUs: 0, grantsFromUs: 0 },
        isSuccessor: false,
      });
    });

    test("begins an epoch by the clock, so that no backup reaches an epoch in use, even if it is restored twice", async () => {
      const { store } = fresh();
      const earliest = TENS_OF_SECONDS_SINCE_2026() - 1n;
      const { nowUs } = await load(store, {});
      expect(await store.failOver(NOTE)).toBe(0);
      const { epoch, atUs, grantsFromUs } = await noted(store);
      expect(epoch).toBeGreaterThanOrEqual(earliest);
      expect(epoch).toBeLessThanOrEqual(TENS_OF_SECONDS_SINCE_2026() + 1n);
      expect(atUs).toBeGreaterThanOrEqual(nowUs);
      expect(grantsFromUs).toBe(atUs);
    });

    test("is recorded once by all servers that have seen the same epoch", async () => {
      const { store, other } = fresh();
      const notes = [store, other ?? store, store].map((each) =>
        retry(ROLLED_BACK, () => each.failOver({ ...NOTE, epochMin: 10n ** 8n })),
      );
      await Promise.all(notes);
      const first = await noted(store);
      expect(first.epoch).toBe(10n ** 8n);
      await store.failOver({ ...NOTE, seenEpoch: first.epoch - 1n, pauseUsMin: 60 * SECOND_US });
      expect(await noted(store)).toEqual(first);
      await store.failOver({ ...NOTE, seenEpoch: first.epoch });
      expect((await noted(store)).epoch).toBe(first.epoch + 1n);
    });

    test("pauses grants for the longest TTL of a lease, within bounds", async () => {
      const { store } = fresh();
      const id = await lockId(store, "a");
      const ttl = (seconds: number | null) => (seconds === null ? null : seconds * SECOND_US);
      await addClaims(
        store,
        id,
        ...[ttl(40), ttl(50), ttl(null)].map((ttlUs) => ({ state: "held" as const, ttlUs })),
        { state: "waiting", ttlUs: ttl(300) },
        { state: "ended", ttlUs: ttl(400) },
      );
      const pauseOf = async (bounds: { pauseUsMin: number; pauseUsMax: number }) => {
        const { epoch: seenEpoch } = await noted(store);
        const pauseUs = await store.failOver({ ...NOTE, ...bounds, seenEpoch });
        const { atUs, grantsFromUs } = await noted(store);
        expect(pauseUs).toBeLessThanOrEqual(grantsFromUs - atUs);
        return grantsFromUs - atUs;
      };
      expect(await pauseOf({ pauseUsMin: 0, pauseUsMax: 20 * SECOND_US })).toBe(20 * SECOND_US);
      expect(await pauseOf({ pauseUsMin: 0, pauseUsMax: 90 * SECOND_US })).toBe(50 * SECOND_US);
      expect(await pauseOf({ pauseUsMin: 60 * SECOND_US, pauseUsMax: 90 * SECOND_US })).toBe(60 * SECOND_US);
    });

    test("makes locks with waiters due when its pause is over, until a server has checked them", async () => {
      const { store, tamper } = fresh();
      const [waitedFor, idle] = [await lockId(store, "a"), await lockId(store, "b")];
      await addClaims(store, waitedFor, {});
      await store.failOver({ ...NOTE, pauseUsMin: 60 * SECOND_US });
      const due = async () => (await store.poll([waitedFor, idle], 0)).due;
      expect(await due()).toEqual([]);
      await tamper("UPDATE rowlock_meta SET grants_from = grants_from - ?", 60 * SECOND_US);
      await tamper("UPDATE rowlock_lock SET decided_at = decided_at - ?", 60 * SECOND_US);
      expect(await due()).toEqual([waitedFor]);
      await changeLock(store, waitedFor, () => {});
      expect(await due()).toEqual([]);
    });
  });
}
