// The database fails at a further look of a Capture that has taken a lock already: the Capture answers with that lock.

import { afterEach, expect, test } from "vitest";
import { type Store, StoreError } from "../../../server/storage/store.ts";
import { startServer, type TestServer, until } from "../../support/harness.ts";

let server: TestServer;
afterEach(async () => await server.stop());

/** After the look that finds both tasks, somebody else takes t/2, and further looks fail. */
function failingLooks() {
  let isOn = false;
  let isAway = false;
  const away = () => new StoreError("unavailable", "unreachable", "A fault made by a test.");
  const wrapStore = (store: Store): Store =>
    new Proxy(store, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (name === "claimsByRequest" && isAway) return () => Promise.reject(away());
        if (name !== "freeLocks") return typeof value === "function" ? value.bind(target) : value;
        return async (...asked: Parameters<Store["freeLocks"]>) => {
          if (isAway) throw away();
          const page = await target.freeLocks(...asked);
          if (!isOn || page.locks.length < 2) return page;
          isAway = true;
          await server.client.lease({ name: "t/2", requestId: "another's" });
          // There are more tasks behind these.
          return { ...page, next: { ...asked[1], after: page.locks.at(-1) ?? null } };
        };
      },
    });
  const turnOn = () => {
    isOn = true;
  };
  return { wrapStore, turnOn };
}

const put = (name: string) =>
  server.client.call("updateRecord", {
    name,
    status: "new",
    newAttemptsLeft: { case: "attemptsLeft", value: 1 },
  });
const namesOf = ({ leases }: { leases: readonly { lockName: string }[] }) =>
  leases.map(({ lockName }) => lockName);

test("at once, without a request id", async () => {
  const { wrapStore, turnOn } = failingLooks();
  server = await startServer({ wrapStore });
  await put("t/1");
  await put("t/2");
  turnOn();
  expect(
    namesOf(await server.client.call("capture", { from: { case: "prefix", value: "t/" }, maxLeases: 2 })),
  ).toEqual(["t/1"]);
});

test("after a wait, with a request id", async () => {
  const { wrapStore, turnOn } = failingLooks();
  server = await startServer({ wrapStore });
  const maxWait = { seconds: 30n, nanos: 0 };
  const asked = server.client.call("capture", {
    from: { case: "prefix", value: "t/" },
    maxLeases: 2,
    requestId: "r",
    maxWait,
  });
  await until(() => server.engine.waitingCaptures === 1);
  turnOn();
  await Promise.all([put("t/1"), put("t/2")]);
  expect((await asked).leases.length).toBeGreaterThan(0);
});
