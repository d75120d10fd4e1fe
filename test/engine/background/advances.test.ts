// Background work goes on: a lock that cannot be brought up to date stops no other one, and what is owed is tried until it
// is done.

import { describe, expect, test } from "vitest";
import type { Claim } from "../../../server/core/claim.ts";
import { Advances } from "../../../server/engine/background/advances.ts";
import { POLL_LOCKS_MAX } from "../../../server/engine/engine-bounds.ts";
import { Followers } from "../../../server/engine/following/followers.ts";
import { Places } from "../../../server/engine/following/places.ts";
import { Watch } from "../../../server/engine/following/watch.ts";

describe("an advance", () => {
  test("is under way once for each lock", async () => {
    const began: bigint[] = [];
    const { promise, resolve } = Promise.withResolvers<void>();
    const advance = (lockId: bigint) => {
      began.push(lockId);
      return promise;
    };
    const advances = new Advances({ advance, onFailure() {} });
    const all = [advances.start(1n), advances.start(1n), advances.start(2n)];
    expect(began).toEqual([1n, 2n]);
    resolve();
    await Promise.all(all);
    await advances.start(1n);
    expect(began).toEqual([1n, 2n, 1n]);
  });

  test("that is owed is tried until it gets through, also where one was under way already", async () => {
    const failures: unknown[] = [];
    let began = 0;
    const advance = async () => {
      began += 1;
      if (began === 2 || began === 3) throw new Error("A fault made by a test.");
    };
    const advances = new Advances({ advance, onFailure: (_loop, error) => void failures.push(error) });
    const underWay = advances.start(1n);
    await advances.owe(1n);
    await underWay;
    expect(began).toBe(2);
    advances.again();
    await advances.start(1n);
    expect(began).toBe(3);
    advances.again();
    await advances.start(1n);
    expect(began).toBe(4);
    advances.again();
    expect(began).toBe(4);
    expect(failures).toHaveLength(2);
  });
});

test("a lock whose advance never gets through keeps no follower of another from being told", async () => {
  const followers = new Followers();
  const told: bigint[] = [];
  const claim = (lockId: bigint, state: Claim["state"]) =>
    ({ lockId, ticketNumber: 1n, state, provisional: false }) as Claim;
  const last = BigInt(POLL_LOCKS_MAX + 1);
  for (let id = 1n; id <= last; id++)
    followers.add(claim(id, "waiting"), { told: ({ lockId }) => told.push(lockId) }, 1n);
  const failures: unknown[] = [];
  const advances = new Advances({
    advance: (lockId) =>
      lockId === 1n ? Promise.reject(new Error("A fault made by a test.")) : new Promise(() => {}),
    onFailure: (_loop, error) => void failures.push(error),
  });
  const store = {
    watch: async (ids: readonly bigint[]) => ({
      revisions: new Map(ids.map((id) => [id, id === last ? 2n : 1n])),
      due: ids.slice(0, 2),
      dueSoon: new Map(),
      rulesRevision: 0n,
    }),
    limitRules: async () => [],
    claims: async () => ({ nowUs: 0, claims: [claim(last, "held")] }),
  };
  const queue = async () => ({ nowUs: 0, places: [] });
  const places = new Places({ store: { queue }, followers, onFailure() {} });
  await new Watch({ store, followers, places, advances, rulesInForce: { saw() {} }, onFailure() {} }).look();
  expect(told).toEqual([last]);
  expect(failures).toHaveLength(1);
});
