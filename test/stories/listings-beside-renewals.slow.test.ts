// Listings of many locks with large claims, while holders renew: a page costs what it shows, its reads are small
// steps, and few of them run at once. They must not use up the deciders' connections or block their thread.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Store } from "../../server/storage/store.ts";
import { type FreshDatabase, testDatabases } from "../support/database.ts";
import { startServer, type TestServer } from "../support/harness.ts";
import { addClaimsTo } from "../support/store-fixture.ts";

const LOCKS = 200;
const HOLDERS = 10;
const LOCKS_PER_TRANSACTION = 10;
const LISTINGS = 12;
const RENEWALS = 40;
/** Claims that one step may read, which bounds how much a page may read beyond what it shows. */
const STEP_CLAIMS_MAX = 20;
const READS_AT_ONCE_MAX = 2;

const FULL = {
  state: "held" as const,
  owner: "o".repeat(255),
  labels: Object.fromEntries(
    Array.from({ length: 16 }, (_, index) => [`${index}`.padEnd(63, "k"), "v".repeat(255)]),
  ),
};

/** Counts what is read from the store for display. */
class Reads {
  claims = 0;
  largest = 0;
  atOnce = 0;
  atOnceMost = 0;
  readonly first = Promise.withResolvers<void>();

  watching(store: Store): Store {
    return new Proxy(store, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== "function") return value;
        if (name !== "list" && name !== "views") return value.bind(target);
        return (...args: unknown[]) => this.#watched(() => value.apply(target, args));
      },
    });
  }

  async #watched(read: () => Promise<unknown>): Promise<unknown> {
    this.atOnce += 1;
    this.atOnceMost = Math.max(this.atOnceMost, this.atOnce);
    this.first.resolve();
    try {
      const answer = await read();
      const claims = claimsIn(answer);
      this.claims += claims;
      this.largest = Math.max(this.largest, claims);
      return answer;
    } finally {
      this.atOnce -= 1;
    }
  }
}

function claimsIn(value: unknown): number {
  if (value === null || typeof value !== "object") return 0;
  if ("ticketNumber" in value) return 1;
  return Object.values(value).reduce((sum: number, part) => sum + claimsIn(part), 0);
}

describe.each(testDatabases())("on $label", ({ fresh }) => {
  let database: FreshDatabase;
  let server: TestServer;
  const reads = new Reads();
  beforeAll(async () => {
    database = await fresh();
    server = await startServer({ url: database.url, wrapStore: (store) => reads.watching(store) });
    const names = Array.from({ length: LOCKS }, (_, index) => `full/${String(index).padStart(4, "0")}`);
    const ids = [...(await server.store.resolve(names)).values()].sort((a, b) => (a < b ? -1 : 1));
    const holders = Array.from({ length: HOLDERS }, () => FULL);
    for (let at = 0; at < LOCKS; at += LOCKS_PER_TRANSACTION)
      await addClaimsTo(server.store, ids.slice(at, at + LOCKS_PER_TRANSACTION), ...holders);
  }, 120_000);
  afterAll(async () => {
    await server?.stop();
    await database?.drop();
  });

  test(`${LISTINGS} listings of full locks read what they show, in small steps, and every renewal succeeds`, async () => {
    const { client } = server;
    const leases = await Promise.all(
      Array.from({ length: RENEWALS }, (_, index) => client.lease({ name: `renewed/${index}` })),
    );
    const listings = Array.from({ length: LISTINGS }, () =>
      client.call("listLocks", { prefix: "full/", pageSize: 1_000 }),
    );
    await reads.first.promise;
    const renewed = await Promise.all(leases.map(({ leaseId }) => client.call("renew", { leaseId })));
    expect(renewed.every(({ lease }) => lease)).toBe(true);
    const pages = await Promise.all(listings);

    let shown = 0;
    for (const { locks, nextPageToken } of pages) {
      expect(nextPageToken).not.toBe("");
      for (const { name, holders, holderCount } of locks) {
        expect([name, holders.length, holderCount]).toEqual([name, HOLDERS, HOLDERS]);
        shown += holders.length;
      }
    }
    expect(reads.claims).toBeLessThanOrEqual(shown + LISTINGS * STEP_CLAIMS_MAX);
    expect(reads.largest).toBeLessThanOrEqual(STEP_CLAIMS_MAX);
    expect(reads.atOnceMost).toBeLessThanOrEqual(READS_AT_ONCE_MAX);
  });
});
