// Several operators set a limit at once, through several servers if the database allows them: compare-and-set lets
// one of them through for each version, and grants meanwhile never exceed the limit in force.

import { beforeAll, describe, expect, test } from "vitest";
import { RefusalReason } from "#proto/rowlock/v1/lock_pb.js";
import { testDatabases } from "../support/database.ts";
import type { TestCalls } from "../support/test-calls.ts";
import { processStage } from "./stage.ts";

const RIVALS = 8;
const ROUNDS = 5;
const TURNS = 30;

const stage = processStage("after all");
const name = (value: string) => ({ target: { case: "name" as const, value } });
const pattern = (value: string) => ({ target: { case: "pattern" as const, value } });

describe.each(testDatabases())("on $label", ({ kind, fresh }) => {
  /** One client for each server. */
  const all: TestCalls[] = [];

  beforeAll(async () => {
    const url = await stage.database(fresh);
    const servers = kind === "sqlite" ? 1 : 2;
    while (all.length < servers) all.push((await stage.serving(url)).client);
  });

  test.each([
    ["a name", "raced", name("raced")],
    ["a pattern", "etl/raced", pattern("etl/*")],
  ])(
    "one of several callers sets a limit of %s for a version, and the others get the limit in force",
    async (_, lockName, target) => {
      for (let version = 0n; version < ROUNDS; version++) {
        const rivals = Array.from({ length: RIVALS }, (_, index) => index + 1);
        const results = await Promise.allSettled(
          rivals.map((limit, index) =>
            all[index % all.length]?.call("setLimit", {
              ...target,
              newLimit: { case: "limit", value: limit },
              expectedVersion: version,
            }),
          ),
        );
        const winners = results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
        expect(winners).toMatchObject([{ version: version + 1n }]);
        for (const result of results) {
          if (result.status === "fulfilled") continue;
          expect(result.reason).toMatchObject({
            code: "ABORTED",
            reason: "VERSION_MISMATCH",
            metadata: { version: String(version + 1n) },
          });
        }
        for (const client of all) {
          await client.refusal({ name: lockName, permits: 1_000 });
          const { lock } = await client.call("getLock", { name: lockName });
          expect(lock?.limit).toMatchObject({ permits: winners[0]?.limit, version: version + 1n });
        }
      }
    },
  );

  test("a limit that changes while others acquire grants no more than it allows", async () => {
    const [operator] = all as [TestCalls];
    await operator.call("setLimit", { ...name("turned"), newLimit: { case: "limit", value: 1 } });
    let turning = true;
    const callers = Array.from({ length: RIVALS }, async (_, index) => {
      const client = all[index % all.length] as TestCalls;
      while (turning) {
        const { outcome } = await client.call("acquire", { name: "turned" });
        if (outcome.case === "lease") await client.call("release", { leaseId: outcome.value.leaseId });
        else expect(outcome.value).toMatchObject({ reason: oneOf(RefusalReason.BUSY, RefusalReason.PAUSED) });
      }
    });
    for (let turn = 1; turn <= TURNS; turn++) {
      const limit = turn % 4;
      const answer = await operator.call("setLimit", {
        ...name("turned"),
        newLimit: { case: "limit", value: limit },
      });
      // What is being drained was granted before, under a limit of at most 3.
      expect(answer).toMatchObject({
        limit,
        version: BigInt(turn + 1),
        draining: answer.heldPermits > limit,
      });
      expect(answer.heldPermits).toBeLessThanOrEqual(3n);
    }
    turning = false;
    await Promise.all(callers);
    const { lock } = await operator.call("getLock", { name: "turned" });
    expect(lock).toMatchObject({
      holderCount: 0,
      heldPermits: 0n,
      waiterCount: 0,
      limit: { permits: TURNS % 4 },
    });
  });
});

const oneOf = (...values: number[]) => expect.toSatisfy((value: number) => values.includes(value));
