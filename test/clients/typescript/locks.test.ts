// What only a real server shows of a lock: one that was lost by the client's count alone, and waits that are given up
// before they have a place. What all clients promise is in conformance/.

import { describe, expect, test } from "vitest";
import type { RowlockError } from "../../../clients/typescript/src/index.ts";
import { replacing, until } from "../../support/harness.ts";
import { startRefusingProxy } from "../../support/refusing-proxy.ts";
import { aborted, afterwards, client, start } from "./stage.ts";

describe("a request id that one client uses twice", () => {
  test("is a lock of its own if the first one was lost by the client's count alone", async () => {
    const gate = Promise.withResolvers<void>();
    const server = await start({
      wrapEngine: (engine) =>
        replacing(engine, {}, { renew: (asked) => gate.promise.then(() => engine.ask(asked)) }),
    });
    const rowlock = client(server.address);
    const asked = { requestId: "run-10", ttl: 4_000, margin: 1_900 };
    const lost = await rowlock.lock("again", asked);
    await aborted(lost.signal);
    gate.resolve();
    const lock = await rowlock.lock("again", asked);
    expect([lock.leaseId, lock.state]).toEqual([lost.leaseId, "held"]);
    expect(await lost.release()).toBe(false);
    expect(await rowlock.getLock("again")).toMatchObject({ holderCount: 1 });
    expect(await rowlock.release(lock.leaseId)).toBe(true);
    expect(lock.signal.reason).toMatchObject({ reason: "RELEASED" });
  });
});

describe("a wait", () => {
  test("that is given up before its ticket has come leaves nothing behind", async () => {
    const server = await start();
    const rowlock = client(server.address);
    const held = await rowlock.lock("hasty");
    for (let index = 0; index < 20; index++) {
      const giveUp = new AbortController();
      const waiting = rowlock.lock("hasty", { signal: giveUp.signal });
      if (index % 2) await new Promise(setImmediate);
      giveUp.abort();
      await expect(waiting).rejects.toThrow("aborted");
    }
    await until(async () => (await rowlock.getLock("hasty")).waiterCount === 0);
    await held.release();
    expect(await rowlock.tryLock("hasty")).not.toBeNull();
  });
});

test("a watch is refused if a proxy lets none through", async () => {
  const server = await start();
  const proxy = await startRefusingProxy(server.address, "UNIMPLEMENTED", ["Session", "WatchLocks"]);
  afterwards(() => proxy.close());
  const error = await client(proxy.address)
    .watchLocks()
    .next()
    .catch((why: RowlockError) => why);
  expect(error).toMatchObject({ reason: "UNKNOWN", code: "UNIMPLEMENTED" });
});
