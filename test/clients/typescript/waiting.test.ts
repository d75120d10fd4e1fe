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
});
