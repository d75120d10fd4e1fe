// What a user does with the client and one server: takes locks, tries them, waits, gives up, and changes limits.

import { describe, expect, test } from "vitest";
import { RowlockError } from "../../../clients/typescript/src/index.ts";
import { Fault } from "../../../server/engine/faults.ts";
import { replacing, until } from "../../support/harness.ts";
import { aborted, client, start } from "./stage.ts";

describe("a lock", () => {
  test("is held with its token until its scope ends", async () => {
    const server = await start();
    const rowlock = client(server.address, { owner: "etl", labels: { host: "a1" } });
    {
      await using lock = await rowlock.lock("etl/load", { labels: { job: "7" } });
      expect(lock).toMatchObject({ name: "etl/load", token: 1n, state: "held", mode: "permit", permits: 1 });
      expect(lock.remainingMs).toBeGreaterThan(25_000);
      expect(lock.signal.aborted).toBe(false);
      const seen = await rowlock.getLock("etl/load");
      expect(seen).toMatchObject({ heldPermits: 1, holderCount: 1, lastToken: 1n });
      expect(seen.holders).toMatchObject([{ owner: "etl", labels: { host: "a1", job: "7" }, token: 1n }]);
    }
    expect(await rowlock.getLock("etl/load")).toMatchObject({ heldPermits: 0, holders: [] });
    expect(server.events.filter(({ kind }) => kind === "ended")).toMatchObject([
      { claim: { endReason: "released" } },
    ]);
  });

  test("is released once, and the answer shows whether it was held", async () => {
    const rowlock = client((await start()).address);
    const lock = await rowlock.lock("once");
    expect(await lock.release()).toBe(true);
    expect(await lock.release()).toBe(true);
    expect(lock.state).toBe("released");
    expect(lock.remainingMs).toBe(0);
    expect(lock.signal.reason).toMatchObject({ reason: "RELEASED" });
    expect(await rowlock.release(lock.leaseId)).toBe(false);
  });

  test("without end is held without renewals", async () => {
    const server = await start();
    const rowlock = client(server.address);
    const lock = await rowlock.lock("endless", { ttl: "forever" });
    expect(lock.remainingMs).toBe(Number.POSITIVE_INFINITY);
    expect((await rowlock.getLock("endless")).holders[0]).not.toHaveProperty("expiresAt");
    await lock.release();
  });

  test("that is busy is null when it is tried, and null is no error", async () => {
    const rowlock = client((await start()).address);
    const lock = await rowlock.tryLock("tried");
    expect(lock?.state).toBe("held");
    expect(await rowlock.tryLock("tried")).toBeNull();
    await rowlock.setLimit({ name: "paused" }, 0);
    expect(await rowlock.tryLock("paused")).toBeNull();
  });

  test.each(["write", "toString", ""])("in the mode %j is an error that names the modes", async (mode) => {
    const server = await start();
    const asked = client(server.address).lock("modes", { mode: mode as "permit" });
    await expect(asked).rejects.toThrow(/mode: ".*" must be one of "permit", "shared", "exclusive"/);
    expect(server.events).toEqual([]);
  });

  test("that is refused is an error with the reason, by type", async () => {
    const rowlock = client((await start()).address);
    await rowlock.lock("refused");
    const busy = await rowlock.acquire("refused", { wait: 0 });
    expect(busy.lock).toBeUndefined();
    if (busy.refusal?.reason !== "BUSY") throw new Error("expected BUSY");
    expect(busy.refusal.holders[0]?.owner).toBe("tester");
    expect(busy.refusal.retryAfterMs).toBeGreaterThan(20_000);
    const timedOut = rowlock.lock("refused", { wait: 30 });
    await expect(timedOut).rejects.toMatchObject({ reason: "TIMED_OUT", refusal: { reason: "TIMED_OUT" } });
    const never = rowlock.tryLock("refused", { permits: 5 });
    await expect(never).rejects.toBeInstanceOf(RowlockError);
    await expect(never).rejects.toMatchObject({ refusal: { reason: "NEVER_FITS", limit: { permits: 1 } } });
  });

  test("with a mistake is an error that names all of them", async () => {
    const rowlock = client((await start()).address);
    await expect(rowlock.lock("x", { permits: 1.5 })).rejects.toThrow(RangeError);
    const wrong = rowlock.lock("", { permits: 2_000_000 });
    await expect(wrong).rejects.toMatchObject({
      reason: "BAD_REQUEST",
      code: "INVALID_ARGUMENT",
      violations: expect.arrayContaining([
        expect.objectContaining({ field: expect.stringContaining("name") }),
      ]),
    });
    await expect(rowlock.lock("margin", { ttl: 2_000, margin: 1_000 })).rejects.toThrow(RangeError);
    await expect(rowlock.lock("x", { ttl: Number.NaN, margin: 0 })).rejects.toThrow(RangeError);
    await expect(rowlock.lock("x".repeat(70_000))).rejects.toMatchObject({ reason: "MESSAGE_TOO_LARGE" });
    await rowlock.lock("lives on");
  });

  test("is held during the work under it, and released afterwards, whatever its outcome", async () => {
    const rowlock = client((await start()).address);
    const token = await rowlock.withLock("work", async ({ token, signal }) => {
      expect(signal.aborted).toBe(false);
      return token;
    });
    expect(token).toBe(1n);
    const failed = rowlock.withLock("work", { wait: 0 }, () => Promise.reject(new Error("broken")));
    await expect(failed).rejects.toThrow("broken");
    expect((await rowlock.getLock("work")).holderCount).toBe(0);
  });

  test("that had ended unnoticed before its release fails the work under it", async () => {
    let answers: boolean[] = [];
    let away = 0;
    const server = await start({
      // Another server has just ended the lease, and the session does not know yet.
      wrapEngine: (engine) =>
        replacing(
          engine,
          {},
          {
            release: async (asked) => {
              await engine.ask(asked);
              if (away-- > 0) throw new Fault("unavailable", "test", "away", { retryAfterMs: 10 });
              const answer = await engine.ask(asked);
              answers.push(answer.outcome.kind === "released" && answer.outcome.byThisCall);
              return answer;
            },
          },
        ),
    });
    const rowlock = client(server.address);
    await expect(rowlock.withLock("ended", () => "done")).rejects.toMatchObject({
      reason: "LEASE_LOST",
      message: expect.stringContaining('"ended"'),
    });
    const broken = new Error("broken");
    await expect(rowlock.withLock("ended", () => Promise.reject(broken))).rejects.toMatchObject({
      reason: "LEASE_LOST",
      cause: broken,
    });
    // An explicit release returns it, and then it is not reported again.
    expect(await rowlock.withLock("ended", (lock) => lock.release())).toBe(false);
    expect(answers).toEqual([false, false, false]);
    // After a repeated release, the first one may have done it.
    answers = [];
    away = 1;
    expect(await rowlock.withLock("ended", () => "done")).toBe("done");
    expect(answers).toEqual([false]);
  });

  test("is handed over by its lease id, and outlives the client", async () => {
    const server = await start();
    const rowlock = client(server.address);
    const lock = await rowlock.lock("handed");
    const { leaseId } = await lock.handOver(60_000);
    await rowlock.close();
    const other = client(server.address);
    expect(await other.renew(leaseId)).toMatchObject({
      name: "handed",
      token: 1n,
      ttlMs: expect.any(Number),
    });
    expect(await other.release(leaseId)).toBe(true);
  });

  test("requested under the same request id is the same claim", async () => {
    const server = await start();
    const [one, two] = [client(server.address), client(server.address)];
    const first = await one.lock("replayed", { requestId: "run-7" });
    const again = await two.lock("replayed", { requestId: "run-7" });
    expect([again.leaseId, again.token]).toEqual([first.leaseId, first.token]);
    await first.release();
    const late = two.lock("replayed", { requestId: "run-7" });
    await expect(late).rejects.toMatchObject({ refusal: { reason: "RELEASED" } });
    const other = two.lock("other", { requestId: "run-7" });
    await expect(other).rejects.toMatchObject({ reason: "REQUEST_ID_REUSED", code: "ALREADY_EXISTS" });
  });
});

describe("a request id that one client uses twice", () => {
  test("is one lock for both calls", async () => {
    const server = await start();
    const rowlock = client(server.address);
    const asked = { requestId: "run-8", ttl: 2_000 };
    const [one, two] = await Promise.all([rowlock.lock("twice", asked), rowlock.lock("twice", asked)]);
    expect(two).toBe(one);
    expect(await rowlock.tryLock("twice", asked)).toBe(one);
    const renewals = () => server.calls.filter(({ method }) => method === "RenewLeases").length;
    await until(() => renewals() >= 4);
    await until(() => one.state === "held");
    expect(await two.release()).toBe(true);
    expect(one.signal.reason).toMatchObject({ reason: "RELEASED" });
    expect(await one.release()).toBe(true);
  });

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

  test("is not given back if one of its calls is given up", async () => {
    const rowlock = client((await start()).address);
    const asked = { requestId: "run-9" };
    const lock = await rowlock.lock("kept", asked);
    const giveUp = new AbortController();
    const again = rowlock.lock("kept", { ...asked, signal: giveUp.signal });
    await new Promise(setImmediate);
    giveUp.abort();
    await expect(again).rejects.toThrow("aborted");
    // Sent after it, and so answered after it.
    expect(await rowlock.getLock("kept")).toMatchObject({ holderCount: 1 });
    expect(lock.state).toBe("held");
    expect(await lock.release()).toBe(true);
  });
});

describe("a wait", () => {
  test("reports the place as it moves up, and ends in the lock", async () => {
    const rowlock = client((await start()).address);
    const held = await rowlock.lock("queue");
    const first = rowlock.lock("queue");
    await until(async () => (await rowlock.getLock("queue")).waiterCount === 1);
    const ahead: number[] = [];
    const moved = Promise.withResolvers<void>();
    const second = rowlock.lock("queue", {
      positionInterval: 0,
      onPosition: (place) => {
        ahead.push(place.ahead);
        if (place.ahead === 0) moved.resolve();
      },
    });
    await until(() => ahead.length > 0);
    await held.release();
    const lock = await first;
    await moved.promise;
    expect(ahead).toEqual([1, 0]);
    await lock.release();
    expect((await second).token).toBe(3n);
  });

  test("is confirmed without a renewal by the client", async () => {
    const server = await start({ rules: { graceUs: 6_000_000, attachedForUs: 7_500_000 } });
    const rowlock = client(server.address);
    const held = await rowlock.lock("confirmed", { ttl: 12_000 });
    const waiting = rowlock.lock("confirmed", { ttl: 12_000 });
    await until(async () => (await rowlock.getLock("confirmed")).waiterCount === 1);
    await held.release();
    const lock = await waiting;
    expect(lock.remainingMs).toBeLessThan(6_000);
    await until(() => lock.remainingMs > 6_000);
    expect(server.calls.filter(({ method }) => method.startsWith("Renew"))).toEqual([]);
    expect(lock.state).toBe("held");
  });

  test("that is given up leaves the queue at once", async () => {
    const server = await start();
    const rowlock = client(server.address);
    await rowlock.lock("given-up");
    const giveUp = new AbortController();
    const waiting = rowlock.lock("given-up", { signal: giveUp.signal });
    const behind = rowlock.lock("given-up");
    behind.catch(() => {});
    await until(async () => (await rowlock.getLock("given-up")).waiterCount === 2);
    giveUp.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
    expect(await server.event(({ kind }) => kind === "ended")).toMatchObject({
      claim: { endReason: "cancelled" },
    });
    await expect(rowlock.lock("given-up", { signal: giveUp.signal })).rejects.toThrow("enough");
  });

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

  test("is over if the listener for its place throws", async () => {
    const rowlock = client((await start()).address);
    await rowlock.lock("throws");
    const onPosition = () => {
      throw new Error("listener");
    };
    await expect(rowlock.lock("throws", { onPosition })).rejects.toThrow("listener");
    await until(async () => (await rowlock.getLock("throws")).waiterCount === 0);
  });

  test("ends in the lock when the limit is raised", async () => {
    const rowlock = client((await start()).address);
    await rowlock.lock("pool");
    const waits = [rowlock.lock("pool"), rowlock.lock("pool"), rowlock.lock("pool")];
    await until(async () => (await rowlock.getLock("pool")).waiterCount === 3);
    const set = await rowlock.setLimit({ name: "pool" }, 4, { ifVersion: 0, reason: "night shift" });
    expect(set).toMatchObject({ limit: 4, version: 1n });
    const tokens = (await Promise.all(waits)).map(({ token }) => token);
    expect(tokens.sort()).toEqual([2n, 3n, 4n]);
  });

  test("of readers ends together, and of a writer alone", async () => {
    const rowlock = client((await start()).address);
    const writer = await rowlock.lock("book", { mode: "exclusive" });
    const readers = [1, 2, 3].map(() => rowlock.lock("book", { mode: "shared" }));
    await until(async () => (await rowlock.getLock("book")).waiterCount === 3);
    const next = rowlock.lock("book", { mode: "exclusive" });
    await until(async () => (await rowlock.getLock("book")).waiterCount === 4);
    await writer.release();
    const reading = await Promise.all(readers);
    expect(await rowlock.getLock("book")).toMatchObject({ holderCount: 3, waiterCount: 1 });
    for (const reader of reading) await reader.release();
    expect((await next).mode).toBe("exclusive");
  });
});

describe("an operator", () => {
  test.each(["longest", "LONGEST_WAIT", "toString", 2, null])(
    "is refused an unknown order of a listing: %j",
    async (order) => {
      const rowlock = client("127.0.0.1:9");
      const listed = rowlock.listLocks({ order: order as "name" });
      await expect(listed.next()).rejects.toThrow(RangeError);
      await expect(rowlock.listLocks({ order: order as "name" }).next()).rejects.toThrow(
        `order: ${JSON.stringify(order)} must be one of "name", "longest wait", "most waiters"`,
      );
    },
  );

  test("lists locks and limits over pages, and ends a holder by force", async () => {
    const server = await start();
    const rowlock = client(server.address);
    const held = await Promise.all(Array.from({ length: 7 }, (_, index) => rowlock.lock(`page/${index}`)));
    const names = await Array.fromAsync(
      rowlock.listLocks({ prefix: "page/", pageSize: 2 }),
      ({ name }) => name,
    );
    expect(names).toEqual(held.map(({ name }) => name));
    await rowlock.setLimit({ pattern: "page/*" }, 2, { reason: "two" });
    await rowlock.setLimit({ name: "page/1" }, 3);
    expect(await Array.fromAsync(rowlock.listLimits())).toMatchObject([
      { pattern: "page/*", limit: 2, version: 1n, reason: "two" },
      { name: "page/1", limit: 3 },
    ]);
    const late = rowlock.setLimit({ name: "page/1" }, 4, { ifVersion: 7 });
    await expect(late).rejects.toMatchObject({ reason: "VERSION_MISMATCH", metadata: { version: "1" } });
    expect(await rowlock.setLimit({ name: "page/1" }, null)).toMatchObject({ limit: 2 });
    const forced = await rowlock.forceRelease({ name: "page/3" }, "stuck");
    expect(forced).toMatchObject({ remaining: 0, ended: [{ lockName: "page/3", ticketNumber: 1n }] });
    const lost = held[3] as (typeof held)[0];
    expect(await aborted(lost.signal)).toMatchObject({
      reason: "LEASE_LOST",
      end: { reason: "FORCE_RELEASED" },
    });
    expect(lost.state).toBe("lost");
    expect(await lost.release()).toBe(false);
  });

  test("that ends the holder in withLock makes it fail", async () => {
    const rowlock = client((await start()).address);
    const work = rowlock.withLock("forced", async ({ signal }) => {
      await rowlock.forceRelease({ name: "forced", ticketNumber: 1n }, "stuck");
      await aborted(signal);
    });
    await expect(work).rejects.toMatchObject({ reason: "LEASE_LOST" });
  });
});

describe("closing", () => {
  test("gives back held locks and waits, and ends the session in good order", async () => {
    const server = await start();
    const rowlock = client(server.address);
    const lock = await rowlock.lock("closed");
    const waiting = rowlock.lock("closed");
    await until(async () => (await rowlock.getLock("closed")).waiterCount === 1);
    const failed = expect(waiting).rejects.toMatchObject({ reason: "CLOSED" });
    await rowlock.close();
    await failed;
    expect(lock.signal.aborted).toBe(true);
    await until(() => server.sessionEnds.length === 1);
    expect(server.sessionEnds).toEqual(["OK"]);
    const view = (await server.client.call("getLock", { name: "closed" })).lock;
    expect(view).toMatchObject({ holderCount: 0, waiterCount: 0 });
    await expect(rowlock.lock("closed")).rejects.toMatchObject({ reason: "CLOSED" });
  });

  test("a client that was never used, or that reaches no server, takes no time", async () => {
    await client("127.0.0.1:9").close();
    const away = client("127.0.0.1:9");
    const waiting = away.lock("away");
    const failed = expect(waiting).rejects.toMatchObject({ reason: "CLOSED" });
    await away.close();
    await failed;
  });

  test("a client without a server reports it", async () => {
    const away = client(["127.0.0.1:9", "127.0.0.1:10"], { giveUpAfter: 300 });
    const failed = await away.lock("away").catch((error: unknown) => error);
    expect(failed).toMatchObject({ reason: "NO_SERVER", code: "UNAVAILABLE" });
    expect(String(failed)).toContain("127.0.0.1:9, 127.0.0.1:10");
    expect(String(failed)).toContain("nobody listens there");
  });
});
