// What a server keeps in memory for each lock that it knows, lease, waiter, session, connection and watch: the bytes
// that are left after a full garbage collection, which the server's own inspector makes and counts.

import { partsOf } from "../../server/core/bounds.ts";
import { RowlockProcess, screenOf, serveArgs } from "../../test/process/server-process.ts";
import { wait } from "../../test/support/session-client.ts";
import { TestCalls } from "../../test/support/test-calls.ts";
import { each, pairOfEach, sessionsAt, take } from "./callers.ts";
import type { SizedDatabase } from "./sized-database.ts";

const LOCKS = 20_000;
const WAITS = 5_000;
const STREAMS = 2_000;
const SESSIONS = 500;
/** Twice as many is the most. */
const WATCHES = 40;
/** Of the leases, those whose number begins so; each watch watches all of them. */
const WATCHED = { prefix: "held/000", locks: 1_000 };
const STREAMS_OF_A_CONNECTION = 900;
const HOUR_S = 3_600;
/** Few enough that the server refuses none. */
const READS_AT_ONCE = 10;

/** In bytes, by what takes them. */
export type MemorySizes = Readonly<Record<string, number>>;

export async function memorySizes(database: SizedDatabase): Promise<MemorySizes> {
  const process = new RowlockProcess(serveArgs(database.url, "--log-level", "warn"), {
    NODE_OPTIONS: "--inspect=127.0.0.1:0",
  });
  const closers: (() => void)[] = [];
  try {
    const [, inspector] = await process.logged(/Debugger listening on (ws:\S+)/);
    const { grpcAddress } = await screenOf(process);
    const inspected = await inspect(inspector as string);
    closers.push(() => inspected.close());
    const sizes: Record<string, number> = {};
    let before = 0;
    /** Does the work, and counts what it leaves in memory, for each of `count`. */
    const measure = async (what: string | null, count: number, work: () => Promise<unknown>) => {
      await work();
      const now = await inspected.usedBytes();
      if (what !== null) sizes[what] = (now - before) / count;
      before = now;
    };
    const callers = sessionsAt(grpcAddress, 5);
    closers.push(() => callers.close());
    // Code is compiled and caches are filled.
    await pairOfEach(callers, names("warm", 2_000));
    await measure(null, 1, async () => {});
    sizes["the process at rest (resident)"] = await inspected.residentBytes();
    await measure("a lock that it knows", LOCKS, () => pairOfEach(callers, names("known", LOCKS)));
    await measure("a lease with its lock, in a session", LOCKS, () =>
      each(callers, names("held", LOCKS), (session, name) => take(session, { name, ttlS: HOUR_S })),
    );
    await take(callers.sessions[0] as never, { name: "hot", ttlS: HOUR_S });
    await measure("a waiter in a session", WAITS, () =>
      each(
        callers,
        names("w", WAITS),
        (session, requestId) => session.ask(wait({ name: "hot", requestId })).first,
      ),
    );
    const streams = await connected(grpcAddress, Math.ceil(STREAMS / STREAMS_OF_A_CONNECTION), closers);
    await measure(null, 1, async () => {});
    await measure("a waiter in a stream of its own", STREAMS, () =>
      Promise.all(
        names("s", STREAMS).map(async (requestId, nth) => {
          const client = streams[nth % streams.length] as TestCalls;
          const stream = client.wait({ target: { case: "request", value: { name: "hot", requestId } } });
          await stream.position();
        }),
      ),
    );
    await measure("a connection", SESSIONS, () => connected(grpcAddress, SESSIONS, closers));
    await measure("a session with its connection", SESSIONS, async () => {
      const more = sessionsAt(grpcAddress, SESSIONS);
      closers.push(() => more.close());
      await pairOfEach(more, names("of-session", SESSIONS));
    });
    const watcher = (await connected(grpcAddress, 1, closers))[0] as TestCalls;
    await measure("a watch without locks", WATCHES, () => watch(watcher, "nothing/"));
    await measure("a watched lock", WATCHES * WATCHED.locks, () => watch(watcher, WATCHED.prefix));
    sizes["the process at the end (resident)"] = await inspected.residentBytes();
    return sizes;
  } finally {
    for (const close of closers.reverse()) close();
    await process.destroy();
  }
}

const names = (kind: string, count: number) =>
  Array.from({ length: count }, (_, nth) => `${kind}/${String(nth).padStart(6, "0")}`);

/** Clients that have made a call, so that each has its connection. */
async function connected(address: string, count: number, closers: (() => void)[]): Promise<TestCalls[]> {
  const clients = Array.from({ length: count }, () => new TestCalls(address));
  closers.push(() => {
    for (const client of clients) client.close();
  });
  for (const some of partsOf(clients, READS_AT_ONCE))
    await Promise.all(some.map((client) => client.call("getLock", { name: "hot" })));
  return clients;
}

/** Opens the watches and waits until each has its whole snapshot. */
async function watch(client: TestCalls, prefix: string): Promise<void> {
  for (const some of partsOf(names("watch", WATCHES), READS_AT_ONCE))
    await Promise.all(some.map(() => client.watch(prefix).complete()));
}

interface Inspected {
  usedBytes(): Promise<number>;
  residentBytes(): Promise<number>;
  close(): void;
}

/** Speaks to the inspector of a Node process. */
async function inspect(url: string): Promise<Inspected> {
  const socket = new WebSocket(url);
  const answers = new Map<number, (result: Answer) => void>();
  socket.addEventListener("message", ({ data }) => {
    const { id, result } = JSON.parse(String(data)) as { id?: number; result: Answer };
    if (id !== undefined) answers.get(id)?.(result);
  });
  await new Promise((resolve, reject) => {
    socket.addEventListener("open", resolve);
    socket.addEventListener("error", () => reject(new Error("The server's inspector does not answer.")));
  });
  let calls = 0;
  const call = (method: string, params = {}) => {
    calls += 1;
    const id = calls;
    socket.send(JSON.stringify({ id, method, params }));
    return new Promise<Answer>((resolve) => answers.set(id, resolve));
  };
  const memory = async () => {
    const { result } = await call("Runtime.evaluate", {
      expression: "JSON.stringify(process.memoryUsage())",
    });
    return JSON.parse(String(result?.value)) as NodeJS.MemoryUsage;
  };
  return {
    async usedBytes() {
      // What a first collection finalizes, a second one frees.
      for (let times = 0; times < 2; times++) await call("HeapProfiler.collectGarbage");
      const { heapUsed, external } = await memory();
      return heapUsed + external;
    },
    async residentBytes() {
      return (await memory()).rss;
    },
    close: () => socket.close(),
  };
}

interface Answer {
  readonly result?: { readonly value?: unknown };
}
