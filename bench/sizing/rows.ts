// What rows take on the disk: a lock, a live claim, a waiter, an ended claim, a request id and a record. Fills an empty
// database step by step and compares the pages that its tables use.

import { acquire, type Command, wait } from "../../test/support/session-client.ts";
import type { TestCalls } from "../../test/support/test-calls.ts";
import { serve } from "../systems/rowlock.ts";
import { type Callers, each, giveBack, sessionsAt, take } from "./callers.ts";
import type { SizedDatabase } from "./sized-database.ts";

const LOCKS = 20_000;
const WAITERS = 5_000;
const QUEUES = 10;
const RECORDS = 5_000;
const HOUR_S = 3_600;

/** In bytes, by what takes them. */
export type RowSizes = Readonly<Record<string, number>>;

export async function rowSizes(database: SizedDatabase): Promise<RowSizes> {
  const names = Array.from({ length: LOCKS }, (_, nth) => `billing/invoice-${String(nth).padStart(8, "0")}`);
  let leases: string[] = [];
  const empty = await database.tableBytes().catch(() => new Map<string, number>());
  const held = await after(database, async (callers) => {
    leases = await each(callers, names, (session, name) => take(session, { name, ttlS: HOUR_S }));
  });
  const released = await after(database, async (callers) => {
    await each(callers, leases, giveBack);
  });
  const waiting = await after(database, async (callers) => {
    const queues = Array.from({ length: QUEUES }, (_, nth) => `billing/queue-${nth}`);
    await each(
      callers,
      queues,
      (session, name) =>
        session.ask(acquire({ name, terms: { lasting: { case: "noExpiry" as const, value: {} } } })).first,
    );
    const waits = Array.from({ length: WAITERS }, (_, nth) => queues[nth % QUEUES] as string);
    await each(callers, waits, (session, name) => session.ask(waitAsUsual(name)).first);
  });
  const recorded = await after(database, async ({ clients }) => {
    const client = clients[0] as TestCalls;
    for (let at = 0; at < RECORDS; at += 100) {
      const some = names.slice(at, at + 100);
      await Promise.all(
        some.map((name) =>
          client.call("updateRecord", {
            name,
            status: "done",
            newAttemptsLeft: { case: "attemptsLeft", value: 3 },
          }),
        ),
      );
    }
  });
  const rise = (table: string, from: ReadonlyMap<string, number>, to: ReadonlyMap<string, number>) =>
    (to.get(table) ?? 0) - (from.get(table) ?? 0);
  return {
    "a lock with a holder": rise("lock", empty, held) / LOCKS,
    "a lock without one": rise("lock", empty, released) / LOCKS,
    "a waiter or a further holder": rise("claim", released, waiting) / WAITERS,
    "an ended claim": rise("history", held, released) / LOCKS,
    "a request id": rise("request", empty, released) / LOCKS,
    "a record": rise("record", waiting, recorded) / RECORDS,
  };
}

let number = 0;
const waitAsUsual = (name: string): Command => {
  number += 1;
  const requestId = `5b0c1c5e-0d5c-4f0e-9d6a-${String(number).padStart(12, "0")}`;
  return wait({ name, requestId, owner: "worker-17.host", labels: { team: "billing" } });
};

/** Lets callers work at a server, stops it, and returns what the tables take then. */
async function after(database: SizedDatabase, work: (callers: Callers) => Promise<void>) {
  // Waiters keep their places while no server runs, and nothing is cleaned.
  const flags = ["--grace", "10m", "--queue-max", "100000", "--session-waits-max", "100000"];
  const server = await serve(database.url, database.folder, undefined, flags);
  const callers = sessionsAt(server.target.address, 4);
  try {
    await work(callers);
  } finally {
    callers.close();
    await server.stop();
  }
  return database.tableBytes();
}
