// What many idle leases and waits cost a server: leases of few sessions, each renewed every ten seconds, and many
// waits. Prints how late renewals are, how much processor time they take, and how much memory a waiter takes.
//
//   npm run bench:at-rest -- [--system rowlock-mariadb] [--leases 100000] [--waits 10000] [--seconds 60]

import { rm } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { partsOf } from "../server/core/bounds.ts";
import { acquire, type Command, wait } from "../test/support/session-client.ts";
import { TestCalls } from "../test/support/test-calls.ts";
import { makeCacheFolder } from "./cache-folder.ts";
import { databaseCpuSeconds } from "./cpu-time.ts";
import { LeanSession } from "./lean-session.ts";
import { scrape } from "./scrape.ts";
import { DatabaseServers } from "./systems/database-servers.ts";
import { SYSTEMS } from "./systems/systems.ts";

const SESSIONS = 10;
const RENEW_EVERY_MS = 10_000;
const TTL = { seconds: 30n, nanos: 0 };
/** How many of each fit into one message. */
const ACQUIRES_AT_ONCE = 400;
const RENEWED_AT_ONCE = 1_000;

const { values: options } = parseArgs({
  options: {
    system: { type: "string", default: "rowlock-mariadb" },
    leases: { type: "string", default: "100000" },
    waits: { type: "string", default: "10000" },
    seconds: { type: "string", default: "60" },
  },
});

const found = SYSTEMS.find(({ name }) => name === options.system);
if (!found) throw new Error(`There is no system ${options.system}.`);
const directory = makeCacheFolder("rowlock-bench-");
const databases = new DatabaseServers(directory);
const system = await found.start({ directory, databases });
const { address } = system.target;
const clients = Array.from({ length: SESSIONS }, () => new TestCalls(address));
const sessions = clients.map((client) => new LeanSession(client));

try {
  console.log(`${found.name} (${system.version}), ${SESSIONS} sessions`);
  await waits(Number(options.waits) / SESSIONS);
  await leases(Number(options.leases) / SESSIONS);
} finally {
  for (const session of sessions) session.close();
  for (const client of clients) client.close();
  await system.stop();
  await databases.stop();
  await rm(directory, { recursive: true, force: true });
}

async function waits(each: number): Promise<void> {
  if (each === 0) return;
  const { leaseId } = await (clients[0] as TestCalls).lease({
    name: "hot",
    terms: { lasting: { case: "noExpiry", value: {} } },
  });
  const before = await liveHeap();
  const calls = await Promise.all(
    sessions.map(async (session, index) => {
      const all: bigint[] = [];
      for (let at = 0; at < each; at += ACQUIRES_AT_ONCE) {
        const count = Math.min(ACQUIRES_AT_ONCE, each - at);
        const asked = Array.from({ length: count }, (_, nth) =>
          session.ask(wait({ name: "hot", requestId: `w-${index}-${at + nth}` })),
        );
        await Promise.all(asked.map(({ first }) => first));
        all.push(...asked.map(({ call }) => call));
      }
      return all;
    }),
  );
  const after = await liveHeap();
  const kib = (after - before) / (each * SESSIONS) / 1_024;
  console.log(`${each * SESSIONS} waits: ${kib.toFixed(1)} KiB of live heap each`);
  sessions.forEach((session, index) => {
    for (const call of calls[index] as bigint[]) session.cancel(call);
  });
  await (clients[0] as TestCalls).call("release", { leaseId });
  // Giving up ten thousand places at once fills the server's queue of commands for the database.
  await sleep(20_000);
}

async function leases(each: number): Promise<void> {
  if (each === 0) return;
  const held = await Promise.all(sessions.map((session, index) => acquireMany(session, index, each)));
  console.log(`${each * SESSIONS} leases are held`);
  const late: number[] = [];
  const took: number[] = [];
  const endMs = performance.now() + Number(options.seconds) * 1_000;
  const before = await cpuSeconds();
  const beganMs = performance.now();
  await Promise.all(
    sessions.flatMap((session, index) => {
      const parts = partsOf(held[index] as readonly string[], RENEWED_AT_ONCE);
      return parts.map(async (some, part) => {
        // Spread evenly, like the timers of programs that started at different times.
        let dueMs = beganMs + ((part * SESSIONS + index) / (parts.length * SESSIONS)) * RENEW_EVERY_MS;
        for (; dueMs < endMs; dueMs += RENEW_EVERY_MS) {
          await sleep(Math.max(0, dueMs - performance.now()));
          const failed = await renewMany(session, some);
          took.push(performance.now() - dueMs);
          if (performance.now() - dueMs > RENEW_EVERY_MS || failed > 0) late.push(performance.now() - dueMs);
        }
      });
    }),
  );
  const seconds = (performance.now() - beganMs) / 1_000;
  const after = await cpuSeconds();
  took.sort((a, b) => a - b);
  const at = (share: number) => (took[Math.floor(took.length * share)] ?? Number.NaN).toFixed(0);
  const mib = (await metric("process_resident_memory_bytes")) / 2 ** 20;
  const cores = (name: "server" | "database") => ((after[name] - before[name]) / seconds).toFixed(2);
  console.log(
    `each renewed every ${RENEW_EVERY_MS / 1_000} s for ${seconds.toFixed(0)} s, ${RENEWED_AT_ONCE} in a command: ` +
      `${late.length} commands of ${took.length} were late; answered after ${at(0.5)} ms (p50), ${at(0.99)} ms (p99); ` +
      `${cores("server")} cores for the server, ${cores("database")} for the database; ${mib.toFixed(0)} MiB of memory for the server`,
  );
}

async function acquireMany(session: LeanSession, index: number, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let at = 0; at < count; at += ACQUIRES_AT_ONCE) {
    const some = Math.min(ACQUIRES_AT_ONCE, count - at);
    const asked = Array.from({ length: some }, (_, nth) =>
      session.ask(
        acquire({ name: `${index}/${at + nth}`, terms: { lasting: { case: "ttl" as const, value: TTL } } }),
      ),
    );
    for (const { first } of asked) {
      const result = await first;
      if (result.case !== "acquire" || result.value.outcome.case !== "lease") throw new Error("no lease");
      ids.push(result.value.outcome.value.leaseId);
    }
    // Leases already taken must not end while others are being taken.
    if (at > 0 && (at / ACQUIRES_AT_ONCE) % 10 === 0) await renewAll(session, ids);
  }
  return ids;
}

async function renewAll(session: LeanSession, ids: readonly string[]): Promise<void> {
  for (const part of partsOf(ids, RENEWED_AT_ONCE)) {
    const failed = await renewMany(session, part);
    if (failed > 0) throw new Error(`${failed} leases were lost before the measurement`);
  }
}

/** Returns how many could not be renewed. */
async function renewMany(session: LeanSession, ids: readonly string[]): Promise<number> {
  const value = { leases: ids.map((leaseId) => ({ leaseId })) };
  const result = await session.ask({ case: "renewLeases", value } as Command).first;
  if (result.case !== "renewLeases") throw new Error(`renewals were answered by ${result.case}`);
  return result.value.leases.filter(({ outcome }) => outcome.case !== "lease").length;
}

/** The lowest heap use within some seconds, which is what remains after a collection. */
async function liveHeap(): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let look = 0; look < 60; look++) {
    least = Math.min(least, await metric("nodejs_heap_size_used_bytes"));
    await sleep(500);
  }
  return least;
}

async function cpuSeconds(): Promise<{ server: number; database: number }> {
  return { server: await metric("process_cpu_seconds_total"), database: await databaseCpuSeconds() };
}

async function metric(name: string): Promise<number> {
  return (await scrape(system.metrics as string)).get(name) ?? Number.NaN;
}
