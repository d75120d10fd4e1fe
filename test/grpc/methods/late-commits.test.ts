// The COMMIT of a Capture comes late: its transaction keeps the lock's rows until then, and no read shows what it took. Until
// it is known, no answer says that there was nothing to take.

import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { ROW_LOCKED, type Store, StoreError } from "../../../server/storage/store.ts";
import { startServer, type TestServer, until } from "../../support/harness.ts";
import { isOfCapture } from "../../support/held-transactions.ts";

type Transact = Store["transact"];
type Plan = Parameters<Transact>[0];
const failure = (kind: StoreError["kind"], reason: string) =>
  new StoreError(kind, reason, "A fault made by a test.");

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
  const wrapStore = (store: Store): Store =>
    new Proxy(store, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (name === "transact")
          return (...asked: Parameters<Transact>) => failing(target.transact.bind(target), ...asked);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  return {
    wrapStore,
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

let server: TestServer | undefined;
afterEach(async () => await server?.stop());

async function scene(meets: "rows locked" | "unreachable", isMeant: (plan: Plan) => boolean = isOfCapture) {
  const late = lateCommit(meets, isMeant);
  server = await startServer({ wrapStore: late.wrapStore });
  const { client, engine } = server;
  const make = () =>
    client.call("updateRecord", {
      name: "t/1",
      status: "new",
      newAttemptsLeft: { case: "attemptsLeft", value: 1 },
    });
  /** How many leases it got, or "error". */
  const capture = (requestId: string, maxWaitS = 0) =>
    client
      .call("capture", {
        from: { case: "prefix", value: "t/" },
        maxLeases: 1,
        requestId,
        ...(maxWaitS > 0 && { maxWait: { seconds: BigInt(maxWaitS), nanos: 0 } }),
      })
      .then(
        ({ leases }) => leases.length,
        () => "error",
      );
  const holders = async () => (await client.call("getLock", { name: "t/1" })).lock?.holders.length;
  return { late, engine, make, capture, holders };
}

test("a repeat finds what its first call took, as soon as that is known", async () => {
  const { late, make, capture, holders } = await scene("rows locked");
  await make();
  late.turnOn();
  expect(await capture("r")).toBe("error");
  expect(await capture("r")).toBe("error");
  await late.commit();
  await until(async () => (await capture("r")) === 1);
  expect(await holders()).toBe(1);
}, 60_000);

test("without a request id, it is given back", async () => {
  const { late, make, capture, holders } = await scene("rows locked", () => true);
  await make();
  late.turnOn();
  expect(await capture("")).toBe("error");
  await late.commit();
  await until(async () => (await holders()) === 0);
}, 60_000);

test("the repeat of a call that was told that the database is away does not say that there is nothing", async () => {
  const { late, make, capture } = await scene("unreachable");
  await make();
  late.turnOn();
  expect(await capture("r")).toBe("error");
  expect(await capture("r")).toBe("error");
  await late.commit();
  await until(async () => (await capture("r")) === 1);
}, 60_000);

test("nor does a Capture that waits, at the end of its max_wait", async () => {
  const { late, engine, make, capture } = await scene("unreachable");
  const asked = capture("r", 3);
  await until(() => engine.waitingCaptures === 1);
  late.turnOn();
  await make();
  await until(() => late.isDecided());
  expect(await asked).toBe("error");
  await late.commit();
  await until(async () => (await capture("r")) === 1);
}, 60_000);
