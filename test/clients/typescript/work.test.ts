// The worker loop, on a real server.

import { expect, test } from "vitest";
import type { Lock, WorkOptions } from "../../../clients/typescript/src/index.ts";
import { until } from "../../support/harness.ts";
import { client, start } from "./stage.ts";

async function stage(tasks: number) {
  const server = await start();
  const log: string[] = [];
  const rowlock = client(server.address, { log: (level, message) => level === "error" && log.push(message) });
  const operator = client(server.address);
  for (let task = 1; task <= tasks; task++)
    await operator.updateRecord(`task/${task}`, { status: "new", notBefore: new Date(task) });
  const stop = new AbortController();
  const begun: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<void>>();
  const work = (options: WorkOptions = {}) =>
    rowlock.work(
      "task/",
      async ({ name }: Lock) => {
        begun.push(name);
        const end = Promise.withResolvers<void>();
        ends.set(name, end);
        await end.promise;
      },
      { ifStatus: "new", statusWhenDone: "done", signal: stop.signal, ...options },
    );
  const status = async (task: number) => (await operator.getLock(`task/${task}`)).record?.status;
  return { server, rowlock, operator, log, stop, begun, ends, work, status };
}

test("logs a handler that throws, gives its lock the status for that, and lets it rest", async () => {
  const { begun, ends, work, stop, log, operator } = await stage(1);
  const working = work({ statusWhenFailed: "new" });
  await until(() => begun.length === 1);
  ends.get("task/1")?.reject(new Error("a bug"));
  await until(() => log.length === 1);
  expect(log).toEqual(['The handler of the lock "task/1" failed: Error: a bug']);
  await until(async () => (await operator.getLock("task/1")).holderCount === 0);
  const { record } = await operator.getLock("task/1");
  expect(record).toMatchObject({ status: "new", failures: 1, lastRun: { endReason: "FAILED" } });
  expect(Number(record?.notBefore)).toBeGreaterThan(Date.now() - 60_000);
  stop.abort();
  await working;
});

test("lets a lock rest whose status is refused, longer with each time", async () => {
  const { begun, ends, work, stop, log, operator } = await stage(1);
  const working = work({ statusWhenDone: "x".repeat(64) });
  const restsAfter = async (runs: number, seconds: number) => {
    await until(() => begun.length === runs);
    ends.get("task/1")?.resolve();
    await until(() => log.length === runs);
    expect(log.at(-1)).toMatch(new RegExp(`the lock was given back. It rests for ${seconds} s.$`));
    const { record } = await operator.getLock("task/1");
    expect(record?.status).toBe("new");
    const restedMs = Number(record?.notBefore) - Number(record?.lastRun?.grantedAt);
    expect(restedMs).toBeGreaterThan(seconds * 1_000 - 100);
  };
  await restsAfter(1, 1);
  await restsAfter(2, 2);
  stop.abort();
  await working;
});

test.each<[number, WorkOptions, ("endedAt" | "grantedAt")?]>([
  [4_000, {}],
  [7_200_000, { backoff: { first: 3_600_000, max: 7_200_000 } }],
  [10_800_000, { minInterval: 10_800_000 }, "grantedAt"],
])(
  "lets a lock whose third handler in a row fails rest for %i ms with %j",
  async (restMs, options, since = "endedAt") => {
    const { begun, ends, work, stop, operator } = await stage(1);
    for (let run = 1; run <= 2; run++) await (await operator.lock("task/1")).release({ failed: true });
    const working = work(options);
    await until(() => begun.length === 1);
    ends.get("task/1")?.reject(new Error("a bug"));
    await until(async () => (await operator.getLock("task/1")).holderCount === 0);
    const { record } = await operator.getLock("task/1");
    expect(record).toMatchObject({ failures: 3, lastRun: { endReason: "FAILED" } });
    expect(Number(record?.notBefore) - Number(record?.lastRun?.[since])).toBe(restMs);
    stop.abort();
    await working;
  },
);

test("ends with its handlers when the client is closed", async () => {
  const { work, begun, ends, rowlock } = await stage(1);
  let hasEnded = false;
  const working = work().then(() => {
    hasEnded = true;
  });
  await until(() => begun.length === 1);
  await rowlock.close();
  expect(hasEnded).toBe(false);
  ends.get("task/1")?.resolve();
  await working;
  await expect(work()).rejects.toMatchObject({ reason: "CLOSED" });
});

test("fails if no other try can help, after its handlers have ended", async () => {
  const { work, ends, begun } = await stage(1);
  const working = work({ concurrency: 2, ifStatus: ["new", "y".repeat(64)] });
  await expect(working).rejects.toMatchObject({ reason: "BAD_REQUEST" });
  expect([begun, ends.size]).toEqual([[], 0]);
});
