// One of two servers loses its database: the time until its session gets `going_away`, and until the other server has
// renewed its locks.

import { setTimeout as sleep } from "node:timers/promises";
import { startLateProxy } from "../../test/support/late-proxy.ts";
import { startPrivateServer } from "../../test/support/mysql-family/private-server.ts";
import { acquire, BareSession, type Command } from "../../test/support/session-client.ts";
import { databaseAt, Household, type Serving, through } from "./household.ts";

const LOCKS = 20;
/** Varies the time between losses by as long as a server may go without checking its database. */
const VARIED_MS = 2_000;
const KEPT_ALIVE_MS = 250;

export interface Moved {
  readonly toldMs: number;
  readonly renewedMs: number;
  /** Whether a client caused decisions all the time. */
  readonly isBusy: boolean;
}

export async function movedElsewhere(binary: string, rounds: number): Promise<Moved[]> {
  const house = new Household();
  try {
    const database = await startPrivateServer(binary, "mariadb");
    house.afterwards(() => database.stop());
    const [url] = (await databaseAt([database.server.url])) as [string];
    const proxy = await startLateProxy("127.0.0.1", Number(new URL(url).port));
    house.afterwards(() => proxy.close());
    const other = await house.serving(url);
    const server = await house.serving(through(url, proxy.port));
    const moved: Moved[] = [];
    for (let round = 0; round < rounds; round++) {
      await untilReady(server);
      await sleep(KEPT_ALIVE_MS + Math.random() * VARIED_MS);
      moved.push(await move(server, other, proxy, round));
      proxy.thaw();
    }
    return moved;
  } finally {
    await house.close();
  }
}

async function move(
  server: Serving,
  other: Serving,
  proxy: { freeze(): void },
  round: number,
): Promise<Moved> {
  const session = new BareSession(server.client);
  session.keepAlive(KEPT_ALIVE_MS);
  const asked = Array.from({ length: LOCKS }, (_, lock) => acquire({ name: `moved-${round}-${lock}` }));
  const leaseIds: string[] = [];
  for (const call of session.ask(...asked)) {
    const answer = await session.last(call);
    if (answer.case === "acquire" && answer.value.outcome.case === "lease")
      leaseIds.push(answer.value.outcome.value.leaseId);
  }
  const isBusy = round % 2 === 1;
  const stop = new AbortController();
  const busy = isBusy ? decideAlways(server, stop.signal) : undefined;
  await sleep(KEPT_ALIVE_MS);
  proxy.freeze();
  const lostMs = performance.now();
  await session.until((all) => (all.some(({ goingAway }) => goingAway) ? true : undefined));
  const toldMs = performance.now() - lostMs;
  const command = { case: "renewLeases", value: { leases: leaseIds.map((leaseId) => ({ leaseId })) } };
  const next = new BareSession(other.client, {
    open: {},
    commands: [{ call: 1n, command: command as Command }],
  });
  const renewed = await next.last(1n);
  const renewedMs = performance.now() - lostMs;
  if (
    renewed.case !== "renewLeases" ||
    !renewed.value.leases.every(({ outcome }) => outcome.case === "lease")
  )
    throw new Error(`Not all leases were renewed elsewhere: ${JSON.stringify(renewed.case)}.`);
  stop.abort();
  next.cancel();
  session.cancel();
  await busy;
  return { toldMs, renewedMs, isBusy };
}

async function decideAlways({ client }: Serving, signal: AbortSignal): Promise<void> {
  try {
    for (;;) {
      const name = "passing";
      const { outcome } = await client.call("acquire", { name }, { signal });
      if (outcome.case === "lease")
        await client.call("release", { leaseId: outcome.value.leaseId }, { signal });
    }
  } catch {
    // The database is away, or the round is over.
  }
}

async function untilReady({ metricsUrl }: Serving): Promise<void> {
  while (!(await fetch(`${metricsUrl}/readyz`)).ok) await sleep(KEPT_ALIVE_MS);
}
