// Polite clients beside a hostile one that asks for thousands of things and gives them up at once: what they ask for takes
// hardly longer than when they are alone. Three processes want all of a machine for a minute: it runs where
// `ROWLOCK_TEST_ROUNDS` says how many rounds there are, 100 for one.

import { beforeAll, describe, expect, test } from "vitest";
import type { TestCalls } from "../support/test-calls.ts";
import { RowlockProcess } from "./server-process.ts";
import { processStage, type ServingServer } from "./stage.ts";

const ROUNDS = Number(process.env.ROWLOCK_TEST_ROUNDS ?? 0);
const TASKS = 1_000;
/** Above what two processes that take all of a machine can cost, and far below what a queue of cancelled calls costs. */
const FACTOR = 30;
const MS_ALLOWED = 1_500;
const SLOW_MACHINE_MS = 120_000;

const stage = processStage("after all");
let server: ServingServer;

beforeAll(async () => {
  if (ROUNDS === 0) return;
  server = await stage.serving("sqlite::memory:");
  const { client } = server;
  for (let from = 0; from < TASKS; from += 100)
    await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        client.call("updateLock", { name: `task/${from + index}`, status: "new" }),
      ),
    );
  for (let index = 0; index < 50; index++)
    await client.lease({ name: `held/${index}`, ttl: { seconds: 600n, nanos: 0 } });
  for (let index = 0; index < 20; index++)
    await client.call("updateLock", { name: `polite/${index}`, status: "new" });
}, SLOW_MACHINE_MS);

/** How long the slowest of a hundred took, by what was asked for; of fewer, the slowest. */
async function politely(client: TestCalls): Promise<Record<string, number>> {
  const tookMs: Record<string, number[]> = {};
  const timed = async <Answer>(what: string, ask: () => Promise<Answer>) => {
    const askedMs = performance.now();
    const answer = await ask();
    const times = tookMs[what] ?? [];
    tookMs[what] = times;
    times.push(performance.now() - askedMs);
    return answer;
  };
  const watched = client.watch("polite/");
  await watched.complete();
  for (let round = 0; round < ROUNDS; round++) {
    const { leases } = await timed("capture", () =>
      client.call("capture", { prefix: "polite/", maxLeases: 1 }),
    );
    const leaseId = leases[0]?.leaseId ?? "";
    await timed("renewal", () => client.call("renew", { leaseId }));
    await timed("release", () => client.call("release", { leaseId }));
    await timed("refusal", () => client.refusal({ name: `held/${round % 50}` }));
    if (round % 10 > 0) continue;
    const status = `s${round}-${performance.now()}`;
    await client.call("updateLock", { name: "polite/seen", status });
    await timed("watch", () => watched.shows("polite/seen", ({ record }) => record?.status === status));
  }
  watched.cancel();
  return Object.fromEntries(
    Object.entries(tookMs).map(([what, times]) => [
      what,
      times.sort((a, b) => a - b)[Math.ceil(times.length * 0.99) - 1] as number,
    ]),
  );
}

describe.skipIf(ROUNDS === 0)("beside one that gives up at once all that it asks for", () => {
  test.each(["captures", "refusals"])(
    "%s",
    async (attack) => {
      const alone = await politely(server.client);
      const hostile = new RowlockProcess([server.grpcAddress, attack], {}, "test/process/hostile-client.ts");
      stage.afterwards(() => hostile.destroy());
      await hostile.said(/begun/);
      const beside = await politely(server.client);
      hostile.kill("SIGTERM");
      const { out } = await hostile.exited;
      const { sent } = JSON.parse(out.trim().split("\n").at(-1) ?? "") as { sent: number };
      expect(out).not.toContain("ended");
      expect(sent).toBeGreaterThan(ROUNDS);
      const slow = Object.entries(beside).filter(
        ([what, ms]) => ms > Math.max(MS_ALLOWED, FACTOR * (alone[what] as number)),
      );
      expect(slow, `alone: ${JSON.stringify(alone)}, sent: ${sent}`).toEqual([]);
      console.log({ attack, sent, alone, beside });
    },
    SLOW_MACHINE_MS,
  );
});
