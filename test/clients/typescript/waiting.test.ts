// What a client says of a wait that takes long, and of one that only the client itself can end.

import { describe, expect, test } from "vitest";
import type {
  ConnectOptions,
  Lock,
  LogFields,
  LogLevel,
  Waiting,
} from "../../../clients/typescript/src/index.ts";
import { until } from "../../support/harness.ts";
import { client, start } from "./stage.ts";

type Logged = LogFields & { readonly level: LogLevel; readonly message: string };

async function stage(options: Partial<ConnectOptions> = {}) {
  const server = await start();
  const log: Logged[] = [];
  const told: Waiting[] = [];
  const rowlock = client(server.address, {
    owner: "me",
    log: (level, message, fields) => log.push({ level, message, ...fields }),
    ...options,
  });
  const other = client(server.address, { owner: "anna" });
  const waits = () => log.filter(({ message }) => message.startsWith("Waits"));
  return { rowlock, other, told, waits, onWaiting: (waiting: Waiting) => told.push(waiting) };
}

describe("a long wait", () => {
  test("is explained in the log and to the caller, with the place", async () => {
    const { rowlock, other, told, waits, onWaiting } = await stage({ explainAfter: 50 });
    const held = await other.lock("etl");
    const ahead = other.lock("etl");
    await until(async () => (await other.getLock("etl")).waiterCount === 1);
    const waited = rowlock.lock("etl", { onWaiting });
    await until(() => told.length > 0);
    expect(told).toMatchObject([
      {
        name: "etl",
        waitedMs: expect.any(Number),
        place: { ahead: 1, permitsAhead: 1 },
        summary: expect.stringContaining("held by"),
        causes: [
          { kind: "held", holders: [{ owner: "anna" }] },
          { kind: "queued", ahead: 1 },
        ],
        heldByYou: false,
      },
    ]);
    expect(waits()).toEqual([
      {
        level: "info",
        message: expect.stringMatching(/^Waits for the lock "etl" since \d+ s: .*anna/),
        lock: "etl",
      },
    ]);
    await held.release();
    await (await ahead).release();
    await (await waited).release();
  });

  test("that ends sooner is not worth a word", async () => {
    const { rowlock, other, told, waits, onWaiting } = await stage({ explainAfter: 60_000 });
    const held = await other.lock("etl");
    const waited = rowlock.lock("etl", { onWaiting });
    await until(async () => (await other.getLock("etl")).waiterCount === 1);
    await held.release();
    await (await waited).release();
    expect([told, waits()]).toEqual([[], []]);
  });

  test("ends with the exception of its caller", async () => {
    const { rowlock, other } = await stage({ explainAfter: 20 });
    await other.lock("etl");
    const onWaiting = () => {
      throw new Error("enough");
    };
    await expect(rowlock.lock("etl", { onWaiting })).rejects.toThrow("enough");
    await until(async () => (await other.getLock("etl")).waiterCount === 0);
  });
});

describe("a lock that the client holds itself", () => {
  test("is said so at once by a wait, as a warning", async () => {
    const { rowlock, told, waits, onWaiting } = await stage();
    const given: Promise<Lock>[] = [];
    await rowlock.withLock("etl", async () => {
      given.push(rowlock.lock("etl", { onWaiting }));
      await until(() => told.length > 0);
    });
    const words = /you hold "etl" yourself, since \d+ s; locks are not reentrant/;
    expect(told).toMatchObject([
      { heldByYou: true, summary: expect.stringMatching(words), place: { ahead: 0 } },
    ]);
    expect(waits()).toMatchObject([{ level: "warn", message: expect.stringMatching(words) }]);
    await (await (given[0] as Promise<Lock>)).release();
  });

  test("is said so only after a while, and not as a warning, where other work holds it", async () => {
    const { rowlock, told, waits, onWaiting } = await stage({ explainAfter: 50 });
    const done = Promise.withResolvers<void>();
    const other = rowlock.withLock("etl", () => done.promise);
    await until(async () => (await rowlock.getLock("etl")).holderCount === 1);
    const given = rowlock.lock("etl", { onWaiting });
    await until(() => told.length > 0);
    const words = /other work of this client holds "etl", since \d+ s: /;
    expect(told).toMatchObject([{ heldByYou: true, summary: expect.stringMatching(words) }]);
    expect(told[0]?.waitedMs).toBeGreaterThan(0);
    expect(waits()).toMatchObject([{ level: "info", message: expect.stringMatching(words) }]);
    done.resolve();
    await other;
    await (await given).release();
  });

  test("is said so by its refusal, and not by that of another's lock", async () => {
    const { rowlock, other } = await stage();
    await rowlock.lock("etl");
    const words = expect.stringMatching(/you hold "etl" yourself, since 0 s; locks are not reentrant\.$/);
    const tried = await rowlock.acquire("etl", { wait: 0 });
    expect(tried.refusal).toMatchObject({ reason: "BUSY", heldByYou: true, message: words });
    await expect(rowlock.lock("etl", { wait: 1 })).rejects.toMatchObject({
      reason: "TIMED_OUT",
      message: words,
      refusal: { heldByYou: true },
    });
    expect((await other.acquire("etl", { wait: 0 })).refusal).not.toHaveProperty("heldByYou");
  });
});
