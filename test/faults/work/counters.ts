// Counting: a number in the status of a record, raised by compare-and-set.

import { setTimeout as sleep } from "node:timers/promises";
import { type Client, Failed } from "../clients/client.ts";
import { monotonicMs } from "../history/clock.ts";
import { oneOf, type Run } from "./run.ts";

export const COUNTERS = ["counter/0", "counter/1"];
const REST_MS_MAX = 500;

export async function count(run: Run, client: Client): Promise<void> {
  while (!run.isOver()) {
    await once(run, client, oneOf(COUNTERS, run.chance));
    await sleep(run.chance() * REST_MS_MAX);
  }
}

async function once({ history }: Run, client: Client, lock: string): Promise<void> {
  const who = client.name;
  const readMs = monotonicMs();
  let from = { value: 0, version: "0" };
  try {
    const { record } = (await client.ask({ do: "getLock", name: lock })) as {
      record?: { status: string; version: string };
    };
    if (record) from = { value: Number(record.status), version: record.version };
  } catch (error) {
    if (error instanceof Failed) return;
    throw error;
  }
  history.add({ did: "read", who, lock, ...from, startMs: readMs, endMs: monotonicMs() });
  const to = from.value + 1;
  const call = {
    did: "count",
    who,
    lock,
    fromVersion: from.version,
    from: from.value,
    to,
    startMs: monotonicMs(),
  } as const;
  const change = { do: "updateLock", name: lock, status: String(to), ifVersion: from.version };
  try {
    const { version } = (await client.ask(change)) as { version: string };
    history.add({ ...call, endMs: monotonicMs(), outcome: "done", version });
  } catch (error) {
    if (!(error instanceof Failed)) throw error;
    const outcome = error.reason === "VERSION_MISMATCH" ? "mismatch" : "unknown";
    history.add({ ...call, endMs: monotonicMs(), outcome });
  }
}
