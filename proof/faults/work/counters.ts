// Counting: a number in the status of a record, raised by compare-and-set.

import { setTimeout as sleep } from "node:timers/promises";
import { type Client, Failed } from "../clients/client.ts";
import { monotonicMs } from "../history/clock.ts";
import { oneOf, type Run } from "./run.ts";

/** An operator deletes its record now and then. */
export const ERASED = "counter/erased";
export const COUNTERS = ["counter/0", "counter/1", ERASED];
/** The version of a lock without a record. */
export const NO_RECORD = "0";
const REST_MS_MAX = 500;

export async function count(run: Run, client: Client): Promise<void> {
  while (!run.isOver()) {
    await once(run, client, oneOf(COUNTERS, run.chance));
    await sleep(run.chance() * REST_MS_MAX);
  }
}

async function once(run: Run, client: Client, lock: string): Promise<void> {
  const from = await readCounter(run, client, lock);
  if (!from) return;
  const to = from.value + 1;
  await compareAndSet(run, client, lock, from, to, async () => {
    const change = { do: "updateRecord", name: lock, status: String(to), ifVersion: from.version };
    const { version } = (await client.ask(change)) as { version: string };
    return version;
  });
}

export interface Counter {
  readonly value: number;
  readonly version: string;
}

/** Writes down a change of what was read. `change` resolves to the new version. */
export async function compareAndSet(
  { history }: Run,
  client: Client,
  lock: string,
  { value: from, version: fromVersion }: Counter,
  to: number,
  change: () => Promise<string>,
): Promise<void> {
  const who = client.name;
  const call = { did: "count", who, lock, fromVersion, from, to, startMs: monotonicMs() } as const;
  try {
    const version = await change();
    history.add({ ...call, endMs: monotonicMs(), outcome: "done", version });
  } catch (error) {
    if (!(error instanceof Failed)) throw error;
    const outcome = error.reason === "VERSION_MISMATCH" ? "mismatch" : "unknown";
    history.add({ ...call, endMs: monotonicMs(), outcome });
  }
}

/** undefined: it could not be read. */
export async function readCounter(
  { history }: Run,
  client: Client,
  lock: string,
): Promise<Counter | undefined> {
  const startMs = monotonicMs();
  try {
    const { record } = (await client.ask({ do: "getLock", name: lock })) as {
      record?: { status: string; version: string };
    };
    const read = { value: Number(record?.status ?? 0), version: record?.version ?? NO_RECORD };
    history.add({ did: "read", who: client.name, lock, ...read, startMs, endMs: monotonicMs() });
    return read;
  } catch (error) {
    if (error instanceof Failed) return undefined;
    throw error;
  }
}
