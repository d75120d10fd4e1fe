// A server decides again about locks with its own waiters if a limit by pattern has changed since its last decision
// about them, whichever server changed it.

import { describe, expect, test } from "vitest";
import type { Claim } from "../../../server/core/claim.ts";
import type { LimitRule } from "../../../server/core/limit.ts";
import { Followers } from "../../../server/engine/subscribers/followers.ts";
import { Places } from "../../../server/engine/subscribers/places.ts";
import { RuleRevisions, Waiters } from "../../../server/engine/subscribers/waiters.ts";

const rule = (prefix: string, limit: number | null, version = 1n): LimitRule => {
  return { prefix, limit, version, reason: "", changeMark: 0n };
};

/** Two locks with one waiter each; this server has decided about both by the rules. */
function scene(rules: readonly LimitRule[]) {
  const now = { rules, revision: 1n };
  const names = new Map([
    [1n, "etl/load"],
    [2n, "web/load"],
  ]);
  const followers = new Followers();
  const decided = (id: bigint, by: readonly LimitRule[]) => {
    followers.decided({ id, name: names.get(id) as string, revision: 1n }, 0n, by);
  };
  for (const lockId of names.keys()) {
    followers.add({ lockId, ticketNumber: 1n } as Claim, { settled() {} }, 1n);
    decided(lockId, rules);
  }
  let started: bigint[] = [];
  let reads = 0;
  const seen: bigint[] = [];
  const changed: (readonly string[])[] = [];
  const waiters = new Waiters({
    store: {
      poll: async (ids) => ({
        revisions: new Map(ids.map((id) => [id, 1n])),
        due: [],
        dueSoon: new Map(),
        rulesRevision: now.revision,
      }),
      claims: async () => ({ nowUs: 0, claims: [] }),
      limitRules: async () => {
        reads += 1;
        return now.rules;
      },
    },
    followers,
    places: new Places({
      store: { queue: async () => ({ nowUs: 0, places: [] }) },
      followers,
      onFailure() {},
    }),
    advances: { start: async (lockId) => void started.push(lockId) },
    rulesInForce: { saw: (revision) => void seen.push(revision) },
    intervalMs: 86_400_000,
    onRulesChanged: (prefixes) => void changed.push(prefixes),
    onFailure() {},
  });
  return {
    now,
    decided,
    followers,
    seen,
    changed,
    reads: () => reads,
    /** Polls, and returns the locks decided again. */
    poll: async () => {
      started = [];
      await waiters.look();
      return started;
    },
  };
}

test("only the locks under the changed pattern are decided again, until a decision by the new rules is committed", async () => {
  const before = [rule("etl/", 1), rule("web/", 1)];
  const { now, poll, decided, reads } = scene(before);
  expect(await poll()).toEqual([]);
  now.rules = [rule("etl/", 5, 2n), rule("web/", 1)];
  now.revision = 2n;
  expect(await poll()).toEqual([1n]);
  // A lagging node has decided by the earlier rules once more.
  decided(1n, before);
  expect(await poll()).toEqual([1n]);
  decided(1n, [...now.rules]);
  expect(await poll()).toEqual([]);
  expect(reads()).toBe(2);
});

test("is announced once, by the prefixes of the changed rules, and not when the rules are first read", async () => {
  const { now, poll, changed } = scene([rule("etl/", 1), rule("web/", 1)]);
  await poll();
  expect(changed).toEqual([]);
  now.rules = [rule("etl/", 5, 2n), rule("web/", 1), rule("new/", 1)];
  now.revision = 2n;
  await poll();
  await poll();
  expect(changed).toEqual([["etl/", "new/"]]);
  // Another revision with the same rules concerns nobody.
  now.revision = 3n;
  await poll();
  expect(changed).toHaveLength(1);
});

test("a server without waiters looks at the rules as well, as others wait for it", async () => {
  const { followers, poll, seen } = scene([]);
  for (const { lockId } of [...followers.claims()])
    followers.settled({ lockId, ticketNumber: 1n } as Claim, 0);
  expect(await poll()).toEqual([]);
  expect(seen).toEqual([1n]);
});

describe("between two revisions of the rules", () => {
  /** Whether decisions about a lock under etl/ may differ after the change. */
  async function concerns(before: readonly LimitRule[], now: readonly LimitRule[], name = "etl/load") {
    const changes = new RuleRevisions(
      async () => now,
      () => {},
    );
    await changes.saw(2n);
    expect(changes.rules).toBe(now);
    return changes.concerns(name, before);
  }

  test("a rule concerns the locks whose limit differs, under whatever version", async () => {
    // The rows were set back, and another limit was set with the same version.
    expect(await concerns([rule("etl/", 1)], [rule("etl/", 2)])).toBe(true);
    // The limit was another one in between.
    expect(await concerns([rule("etl/", 1)], [rule("etl/", 1, 3n)])).toBe(true);
    expect(await concerns([rule("etl/", 1)], [])).toBe(true);
    expect(await concerns([], [rule("etl/", 1)])).toBe(true);
  });

  test("a rule concerns no lock if it is the same, never had a limit, or has other names", async () => {
    expect(await concerns([rule("etl/", 1)], [rule("etl/", 1)])).toBe(false);
    expect(await concerns([], [rule("etl/", null)])).toBe(false);
    expect(await concerns([rule("web/", 1)], [rule("web/", 2, 2n)])).toBe(false);
    const same = [rule("etl/", 1)];
    expect(await concerns(same, same)).toBe(false);
  });

  test("a lock is compared with the newest rules, even if older ones concerned it", async () => {
    const before = [rule("etl/", 1)];
    let now: readonly LimitRule[] = [rule("etl/", 2, 2n)];
    const changes = new RuleRevisions(
      async () => now,
      () => {},
    );
    await changes.saw(2n);
    expect(["etl/a", "etl/b", "web/a"].map((name) => changes.concerns(name, before))).toEqual([
      true,
      true,
      false,
    ]);
    now = [rule("etl/", 1), rule("web/", 1)];
    await changes.saw(3n);
    expect(["etl/a", "etl/b", "web/a"].map((name) => changes.concerns(name, before))).toEqual([
      false,
      false,
      true,
    ]);
  });

  test("rules that could not be read are read when their revision is seen again", async () => {
    let fails = true;
    let now = [rule("etl/", 2)];
    const changed: (readonly string[])[] = [];
    const changes = new RuleRevisions(
      async () => {
        if (fails) throw new Error("away");
        return now;
      },
      (prefixes) => changed.push(prefixes),
    );
    await expect(changes.saw(2n)).rejects.toThrow("away");
    expect(changes.rules).toEqual([]);
    fails = false;
    await changes.saw(2n);
    expect(changes.rules).toBe(now);
    fails = true;
    await expect(changes.saw(3n)).rejects.toThrow("away");
    fails = false;
    now = [rule("etl/", 3)];
    await changes.saw(3n);
    expect(changed).toEqual([["etl/"]]);
  });
});
