// The answer of a COMMIT is late or lost, or a later read fails: no answer says that there was nothing to take, none
// takes two places, and what was taken is told or given back.

import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { ROW_LOCKED, type Store, StoreError } from "../../../server/storage/store.ts";
import { changedStore } from "../../support/changed-store.ts";
import { serverOfTest, until } from "../../support/harness.ts";
import { isOfCapture } from "../../support/held-transactions.ts";
import { captureOf, seconds } from "../../support/test-calls.ts";

type Transact = Store["transact"];
type Plan = Parameters<Transact>[0];
const failure = (kind: StoreError["kind"], reason: string) =>
  new StoreError(kind, reason, "A fault made by a test.");
const ONE_ATTEMPT = { newAttemptsLeft: { case: "attemptsLeft", value: 1 } } as const;

describe("the COMMIT of a capture comes late, and its rows are locked until then:", () => {
  /** The first transaction that `isMeant` selects is committed when the test says so; later ones meet `meets`, then its rows. */
  function lateCommit(meets: "rows locked" | "unreachable", isMeant: (plan: Plan) => boolean) {
    let isOn = false;
    let tries = 0;
    let commit: (() => Promise<void>) | null = null;
    const failing = async (transact: Transact, ...[plan, decide]: Parameters<Transact>): Promise<void> => {
      if (!isOn || plan.locks.length === 0 || !(commit || isMeant(plan))) return await transact(plan, decide);
      tries += 1;
      if (tries === 1) {
        let decided: ReturnType<typeof decide> | undefined;
        const lost = failure("unknown_outcome", "connection_lost");
        await transact(plan, (loaded) => {
          decided = decide(loaded);
          throw lost;
        }).catch((error: unknown) => {
          if (!decided) throw error;
        });
        commit = () => transact(plan, () => decided as ReturnType<typeof decide>);
        throw lost;
      }
      if (tries === 2 && meets === "unreachable") throw failure("unavailable", "unreachable");
      if (!plan.impatient) await sleep(1_000);
      throw failure("transient", ROW_LOCKED);
    };
    return {
      wrapStore: changedStore((store) => ({
        transact: (...asked) => failing(store.transact.bind(store), ...asked),
      })),
      turnOn: () => {
        isOn = true;
      },
      isDecided: () => commit !== null,
      commit: async () => {
        isOn = false;
        await commit?.();
      },
    };
  }

  async function scene(...asked: Parameters<typeof lateCommit>) {
    const late = lateCommit(...asked);
    const { client, engine } = await serverOfTest({ wrapStore: late.wrapStore });
    /** How many leases it got, or "error". */
    const capture = (requestId: string, maxWaitS = 0) =>
      client
        .capture("t/", { requestId, ...(maxWaitS > 0 && { maxWait: seconds(maxWaitS) }) })
        .then(({ length }) => length)
        .catch(() => "error");
    return { late, engine, client, make: () => client.put("t/1", ONE_ATTEMPT), capture };
  }

  test.each(["rows locked", "unreachable"] as const)(
    "a repeat that meets them (%s) finds what its first call took, as soon as that is known",
    async (meets) => {
      const { late, client, make, capture } = await scene(meets, isOfCapture);
      await make();
      late.turnOn();
      expect(await capture("r")).toBe("error");
      expect(await capture("r")).toBe("error");
      await late.commit();
      await until(async () => (await capture("r")) === 1);
      expect((await client.shown("t/1")).holders).toHaveLength(1);
    },
  );

  test("without a request id, what it took is given back", async () => {
    const { late, client, make, capture } = await scene("rows locked", () => true);
    await make();
    late.turnOn();
    expect(await capture("")).toBe("error");
    await late.commit();
    await until(async () => (await client.shown("t/1")).holders.length === 0);
  });

  test("a capture that waits does not say that there is nothing at the end of its max_wait", async () => {
    const { late, engine, make, capture } = await scene("unreachable", isOfCapture);
    const asked = capture("r", 3);
    await until(() => engine.waitingCaptures === 1);
    late.turnOn();
    await make();
    await until(() => late.isDecided());
    expect(await asked).toBe("error");
    await late.commit();
    await until(async () => (await capture("r")) === 1);
  });
});

test.each([
  ["at once, without a request id", {}],
  ["after a wait, with a request id", { requestId: "r", maxWait: seconds(30) }],
])("a capture that has taken a lock as a further look fails answers with that lock: %s", async (_, more) => {
  let isOn = false;
  let isAway = false;
  const away = () => Promise.reject(failure("unavailable", "unreachable"));
  const { client, engine } = await serverOfTest({
    wrapStore: changedStore((store) => ({
      claimsByRequest: (...asked) => (isAway ? away() : store.claimsByRequest(...asked)),
      freeLocks: async (...asked) => {
        if (isAway) return await away();
        const page = await store.freeLocks(...asked);
        if (!isOn || page.locks.length < 2) return page;
        isAway = true;
        // After the look that finds both tasks, somebody else takes t/2. There are more tasks behind these.
        await client.lease({ name: "t/2", requestId: "another's" });
        return { ...page, next: { ...asked[1], after: page.locks.at(-1) ?? null } };
      },
    })),
  });
  const put = () => Promise.all(["t/1", "t/2"].map((name) => client.put(name, ONE_ATTEMPT)));
  const isWait = "maxWait" in more;
  if (!isWait) await put();
  isOn = !isWait;
  const asked = client.call("capture", captureOf("t/", { maxLeases: 2, ...more }));
  if (isWait) await until(() => engine.waitingCaptures === 1);
  isOn = true;
  if (isWait) await put();
  const names = (await asked).leases.map(({ lockName }) => lockName);
  if (isWait) expect(names.length).toBeGreaterThan(0);
  else expect(names).toEqual(["t/1"]);
});

test("an Acquire without a request id whose COMMIT has no answer takes one place, though that moves on", async () => {
  let loses = false;
  let queueRead: (() => Promise<void>) | null = null;
  const { client } = await serverOfTest({
    wrapStore: changedStore((store) => ({
      queue: async (...asked) => {
        const before = queueRead;
        queueRead = null;
        await before?.();
        return await store.queue(...asked);
      },
      transact: async (...asked) => {
        const isLost = loses && asked[0].locks.length > 0;
        if (isLost) loses = false;
        await store.transact(...asked);
        if (isLost) throw failure("unknown_outcome", "connection_lost");
      },
    })),
  });
  const first = await client.lease({ name: "a" });
  loses = true;
  // The holder releases between the commit and the read of the place.
  queueRead = async () => void (await client.call("release", { leaseId: first.leaseId }));
  await client.call("acquire", { name: "a", whenBusy: { case: "enqueue", value: {} } });
  const { holders, waiters } = await client.shown("a");
  expect([...holders, ...waiters].map(({ ticketNumber }) => ticketNumber)).toEqual([2n]);
});
