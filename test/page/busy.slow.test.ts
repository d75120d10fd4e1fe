// The port for operators while pages watch locks that change a thousand times a second: scrapes, probes and calls of the
// page are answered, and each watch goes on.

import { afterAll, expect, test } from "vitest";
import { PAGE_WATCHES } from "../../server/page/page-bounds.ts";
import { processStage } from "../process/stage.ts";
import { freshSqlite } from "../support/database.ts";
import { lasting } from "../support/lasting.ts";
import { until } from "../support/until.ts";
import { EventReader } from "./event-reader.ts";
import { answered, posted, sent } from "./requests.ts";

const stage = processStage("after all");
const LOCKS_OF_EACH = 10;
const CHANGES = 3_000;
const CHANGES_PER_MS = 1;
const CLIENTS = 50;

const readers: EventReader[] = [];
afterAll(() => {
  for (const reader of readers) reader.leave();
});

test("scrapes, probes and calls are answered beside 20 watches and 1,000 changes a second", async () => {
  const url = await stage.database(freshSqlite);
  const { client, metricsUrl } = await stage.serving(url, "--log-level", "warn");
  const port = Number(new URL(metricsUrl).port);
  // Nobody is refused, because each client has locks of its own.
  const name = (worker: number, turn: number) => `lock/${worker}/${turn % LOCKS_OF_EACH}`;
  for (let index = 0; index < PAGE_WATCHES.max; index += 1) {
    const asked = { ...posted({ prefix: "lock/" }), from: `127.0.0.${1 + (index % 2)}` };
    readers.push(new EventReader(await sent(port, "/rowlock.v1.LockService/WatchLocks", asked)));
  }
  await Promise.all(readers.map((reader) => reader.until(({ events }) => events.length > 0)));

  const beganMs = performance.now();
  let made = 0;
  const change = async (worker: number) => {
    while (made < CHANGES) {
      // A grant and a release are two.
      made += 2;
      const dueMs = beganMs + made / CHANGES_PER_MS;
      const earlyMs = dueMs - performance.now();
      if (earlyMs > 0) await new Promise((resolve) => setTimeout(resolve, earlyMs));
      const { leaseId } = await client.lease({
        name: name(worker, made / 2),
        terms: lasting(`worker ${worker}`),
      });
      await client.call("release", { leaseId });
    }
  };
  const changing = Promise.all(Array.from({ length: CLIENTS }, (_, worker) => change(worker)));
  let isOver = false;
  const over = () => {
    isOver = true;
  };
  void changing.then(over, over);
  const asked = { metrics: 0, readyz: 0, getLock: 0 };
  while (!isOver) {
    const answers = await Promise.all([
      sent(port, "/metrics", {}).then(answered),
      sent(port, "/readyz", {}).then(answered),
      sent(port, "/rowlock.v1.LockService/GetLock", posted({ name: name(0, 1) })).then(answered),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(answers[0]?.text).toContain('rowlock_bound_used{bound="page_watches",kind="room"} 20');
    for (const key of Object.keys(asked)) asked[key as keyof typeof asked] += 1;
  }
  await changing;
  expect(asked.metrics).toBeGreaterThan(1);

  // Each watch goes on, and hears of the last change.
  await client.lease({
    name: "lock/last",
    terms: lasting("the last"),
  });
  await Promise.all(readers.map((reader) => reader.until(({ locks }) => locks.has("lock/last"))));
  // The activity shows the grants as soon as their step is over.
  await until(async () => {
    const { json } = await answered(await sent(port, "/api/activity", {}));
    return json.series.grants.some((rate: number) => rate > 0);
  });
});
