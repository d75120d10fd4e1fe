// A server decides again about locks with its own waiters if a limit by pattern has changed since its last decision
// about them, whichever server changed it.

import { describe, expect, test } from "vitest";
import type { Claim } from "../../../server/core/claim.ts";
import type { LimitRule } from "../../../server/core/limit.ts";
import { Followers } from "../../../server/engine/subscribers/followers.ts";
import { RuleRevisions, type WaitersOptions } from "../../../server/engine/subscribers/waiters.ts";
import { polled, waitersOver } from "../../support/scripted-waiters.ts";

const rule = (prefix: string, limit: number | null, version = 1n): LimitRule => {
  return { prefix, limit, rate: null, queueRules: null, version, reason: "", changeMark: 0n };
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
  const store: Partial<WaitersOptions["store"]> = {
    poll: async (ids) =>
      polled({ revisions: new Map(ids.map((id) => [id, 1n])), rulesRevision: now.revision }),
    limitRules: async () => {
      reads += 1;
      return now.rules;
    },
  };
  const waiters = waitersOver(followers, store, {
    advances: { start: async (lockId) => void started.push(lockId) },
    rulesInForce: { saw: (revision) => void seen.push(revision) },
  });
  return {
    now,
    decided,
    followers,
    seen,
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

test("a server without waiters looks at the rules as well, as others wait for it", async () => {
  const { followers, poll, seen } = scene([]);
  for (const { lockId } of [...followers.claims()])
    followers.settled({ lockId, ticketNumber: 1n } as Claim, 0);
  expect(await poll()).toEqual([]);
  expect(seen).toEqual([1n]);
});

describe("between two revisions of the rules", () => {
  /** The revisions over rules that the test changes. */
  function revisions(first: readonly LimitRule[] = []) {
    const now = { rules: first, isAway: false };
    const changed: (readonly string[])[] = [];
    const read = async () => {
      if (now.isAway) throw new Error("away");
      return now.rules;
    };
    return { now, changed, revisions: new RuleRevisions(read, (prefixes) => changed.push(prefixes)) };
  }
  const ONE = [rule("etl/", 1)];

  test.each<[string, boolean, readonly LimitRule[], readonly LimitRule[]]>([
    [
      "has another limit, with whatever version: the rows may have been set back",
      true,
      ONE,
      [rule("etl/", 2)],
    ],
    ["has the same limit again, after another one", true, ONE, [rule("etl/", 1, 3n)]],
    ["is gone", true, ONE, []],
    ["is new", true, [], ONE],
    ["is the same", false, ONE, [rule("etl/", 1)]],
    ["is the very same", false, ONE, ONE],
    ["never had a limit", false, [], [rule("etl/", null)]],
    ["has other names", false, [rule("web/", 1)], [rule("web/", 2, 2n)]],
  ])("decisions about etl/load by a rule that %s may differ: %s", async (_, differ, before, rules) => {
    const stage = revisions(rules);
    await stage.revisions.saw(2n);
    expect(stage.revisions.rules).toBe(rules);
    expect(stage.revisions.concerns("etl/load", before)).toBe(differ);
  });

  test("rules that could not be read are read when their revision is seen again", async () => {
    const { now, changed, revisions: seen } = revisions([rule("etl/", 2)]);
    for (const [revision, limit] of [
      [2n, 2],
      [3n, 3],
    ] as const) {
      now.isAway = true;
      await expect(seen.saw(revision)).rejects.toThrow("away");
      now.isAway = false;
      now.rules = [rule("etl/", limit)];
      await seen.saw(revision);
      expect(seen.rules).toBe(now.rules);
    }
    expect(changed).toEqual([["etl/"]]);
  });
});
