// From names to ids while the database is slow or away: what waits for it is bounded, and hears of it soon.

import { describe, expect, test } from "vitest";
import { RESOLVE_NAMES_MAX, RESOLVE_QUEUED_MAX } from "../../../server/engine/engine-bounds.ts";
import { Fault } from "../../../server/engine/faults.ts";
import { LockIds } from "../../../server/engine/transaction/lock-ids.ts";

const away = () => new Fault("unavailable", "unreachable", "It is away.", { retryAfterMs: 1_000 });
const names = (count: number) => Array.from({ length: count }, (_, index) => `name ${index}`);

describe("the ids of locks", () => {
  test("are refused to all who ask once the database is known to be away", async () => {
    let looks = 0;
    const ids = new LockIds({
      resolve: async () => {
        looks += 1;
        throw away();
      },
    });
    const asked = await Promise.allSettled(names(3 * RESOLVE_NAMES_MAX).map((name) => ids.get(name)));
    expect(asked.every((each) => each.status === "rejected" && each.reason instanceof Fault)).toBe(true);
    expect(looks).toBe(1);
    // Whoever comes later makes it look again.
    await expect(ids.get("later")).rejects.toThrow(Fault);
    expect(looks).toBe(2);
  });

  test("of one part of names do not fail for a bug that another part met", async () => {
    const ids = new LockIds({
      resolve: async (part) => {
        if (part.includes("name 0")) throw new Error("A bug.");
        return new Map(part.map((name) => [name, 1n]));
      },
    });
    const asked = await Promise.allSettled(names(RESOLVE_NAMES_MAX + 1).map((name) => ids.get(name)));
    expect(asked.filter((each) => each.status === "fulfilled")).toHaveLength(1);
  });

  test("are refused early when too many new names wait", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const ids = new LockIds({
      resolve: async (part) => {
        await promise;
        return new Map(part.map((name) => [name, 1n]));
      },
    });
    const asked = names(RESOLVE_QUEUED_MAX).map((name) => ids.get(name));
    expect(() => ids.get("one too many")).toThrow(Fault);
    resolve();
    await Promise.all(asked);
    expect(await ids.get("one too many")).toBe(1n);
  });
});
