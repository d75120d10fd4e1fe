// Polite clients beside hostile ones, which send thousands of requests and cancel them at once, or never read what
// the server sends. The server refuses no polite action, and does not do much more work before it than without hostile
// clients. The work is the processor time of this process, in which the server and all clients run: other processes on
// the machine do not change it.

import { afterAll, beforeAll, expect, test } from "vitest";
import { WATCHES_MAX } from "../../server/engine/engine-bounds.ts";
import { startServer, type TestServer, until } from "../support/harness.ts";
import {
  acquire,
  BareSession,
  type Command,
  cancel,
  capture,
  SessionClient,
  wait,
} from "../support/session-client.ts";
import { queued, TestCalls, withTtl } from "../support/test-calls.ts";

/** Attacks of one kind, one after the other; each polite action runs once during each attack. */
const ROUNDS = 2;
/**
 * The slowest action may see this many times as much work as the slowest one without hostile clients, and always the
 * milliseconds below.
 */
const FACTOR = 15;
const MS_ALLOWED = 1_000;
/** An action that takes this long has failed, even on a busy machine. */
const MS_MAX = 30_000;
const TASKS = 1_000;
const HELD = 50;
const WATCHED = 1_000;
/** Hostile clients, each with its own connection, and how many commands each puts into a request. */
const HOSTILE = 3;
const PER_REQUEST = 250;
/** All requests together exceed what may wait for the database. */
const REQUESTS = 16;

let server: TestServer;
const clients: TestCalls[] = [];
let actions: Record<string, () => Promise<unknown>>;

function connect(Client: typeof TestCalls = TestCalls): TestCalls {
  const client = new Client(server.address);
  clients.push(client);
  return client;
}

const names = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`);

beforeAll(async () => {
  server = await startServer();
  const client = connect(SessionClient);
  const put = (name: string) => client.put(name);
  await Promise.all(["polite/seen", ...names("task/", TASKS), ...names("watched/", WATCHED)].map(put));
  const ttl = { seconds: 600n, nanos: 0 };
  await Promise.all(
    names("held/", HELD).map((name) =>
      client.lease({ name, terms: { lasting: { case: "ttl", value: ttl } } }),
    ),
  );
  actions = await politeActions();
});
afterAll(async () => {
  for (const client of clients) client.close();
  await server.stop();
});

/** What polite clients do, each over its own connection. */
async function politeActions(): Promise<Record<string, () => Promise<unknown>>> {
  const [owner, worker, watcher, first, second, refused] = names("", 6).map(() => connect()) as [
    TestCalls,
    TestCalls,
    TestCalls,
    TestCalls,
    TestCalls,
    TestCalls,
  ];
  const keeper = connect(SessionClient);
  const { leaseId: kept } = await keeper.lease({ name: "polite/kept", terms: withTtl(600) });
  let round = 0;
  return {
    async lease() {
      const { leaseId } = await owner.lease({ name: "polite/lock" });
      await owner.call("release", { leaseId });
    },
    async capture() {
      const { leases } = await worker.call("capture", {
        from: { case: "prefix", value: "task/" },
        maxLeases: 1,
      });
      expect(leases).toHaveLength(1);
      await worker.call("release", { leaseId: leases[0]?.leaseId ?? "" });
    },
    renewal: () => keeper.call("renew", { leaseId: kept }),
    async watch() {
      const status = `s${++round}`;
      const watched = watcher.watch("polite/seen");
      await watched.complete();
      await watcher.call("updateRecord", { name: "polite/seen", status });
      await watched.shows("polite/seen", ({ record }) => record?.status === status);
      watched.cancel();
    },
    async wait() {
      const { leaseId } = await first.lease({ name: "polite/turn" });
      const waiting = second.wait(queued({ name: "polite/turn" }));
      await waiting.position();
      await first.call("release", { leaseId });
      const granted = await waiting.granted();
      await second.call("release", { leaseId: granted.leaseId });
    },
    refusal: () => refused.refusal({ name: `held/${++round % HELD}` }),
  };
}

/** The processor time until each action was done, in milliseconds, or what went wrong. */
async function politely(): Promise<Record<string, number | string>> {
  const took = Object.entries(actions).map(async ([what, act]) => {
    const began = process.cpuUsage();
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, MS_MAX);
    try {
      const isDone = await Promise.race([act().then(() => true), late]);
      const { user, system } = process.cpuUsage(began);
      return [what, isDone ? Math.round((user + system) / 1_000) : `nothing in ${MS_MAX} ms`];
    } catch (error) {
      return [what, String(error)];
    } finally {
      clearTimeout(timer);
    }
  });
  return Object.fromEntries(await Promise.all(took));
}

/** The worst result of each action over some rounds. */
async function worst(
  round: () => Promise<Record<string, number | string>>,
): Promise<Record<string, number | string>> {
  let found: Record<string, number | string> = {};
  for (let index = 0; index < ROUNDS; index++) {
    const next = await round();
    const worse = Object.entries(next).filter(([what, ms]) => !(Number(ms) <= Number(found[what] ?? 0)));
    found = { ...found, ...Object.fromEntries(worse) };
  }
  return found;
}

/** Cleans up after an attack. */
type End = () => void;

/** Sends the same command many times and cancels all of them. Resolves when the server has read them. */
async function askAndCancel(commandOf: (index: number) => Command): Promise<End> {
  const session = new BareSession(connect());
  session.keepAlive(1_000);
  for (let sent = 0; sent < REQUESTS; sent++) {
    const commands = Array.from({ length: PER_REQUEST }, (_, index) => commandOf(sent * PER_REQUEST + index));
    const calls = session.ask(...commands);
    session.send({ commands: calls.map((call) => ({ command: cancel(call) })) });
  }
  // Includes the request that opens the session.
  const requests = BigInt(1 + 2 * REQUESTS);
  await session.until((responses) => responses.find(({ heard }) => heard >= requests));
  return () => session.cancel();
}

function openWatches(): number {
  const count = (kind: string) => server.watchEvents.filter((event) => event.kind === kind).length;
  return count("watch_opened") - count("watch_closed");
}

/** Opens more watches than the server allows, and reads nothing from them. */
async function watchUnread(): Promise<End> {
  const session = new BareSession(connect());
  session.keepAlive(1_000);
  session.stopReading();
  const watch: Command = { case: "watchLocks", value: { prefix: "watched/" } } as Command;
  session.ask(...Array.from({ length: PER_REQUEST }, () => watch));
  await until(() => openWatches() >= WATCHES_MAX);
  return () => session.cancel();
}

const ATTACKS: Readonly<Record<string, () => Promise<End>>> = {
  "captures that are cancelled at once": () =>
    askAndCancel(() => capture({ from: { case: "prefix", value: "task/" }, maxLeases: 1 })),
  "watches that are never read": watchUnread,
  "commands and waits that are cancelled at once": () =>
    askAndCancel((index) =>
      index % 2 === 0 ? acquire({ name: `wanted/${index}` }) : wait({ name: `held/${index % HELD}` }),
    ),
  "refusals that are cancelled at once": () =>
    askAndCancel((index) => acquire({ name: `held/${index % HELD}` })),
};

test.each(Object.entries(ATTACKS))(
  "polite clients make progress beside %s",
  async (_kind, attack) => {
    const alone = await worst(politely);
    const ends: End[] = [];
    const beside = await worst(async () => {
      ends.push(...(await Promise.all(Array.from({ length: HOSTILE }, attack))));
      return await politely();
    });
    for (const end of ends) end();
    const slow = Object.entries(beside).filter(
      ([what, ms]) => !(Number(ms) <= Math.max(MS_ALLOWED, FACTOR * Number(alone[what]))),
    );
    expect(slow, JSON.stringify({ alone, beside })).toEqual([]);
  },
  120_000,
);
