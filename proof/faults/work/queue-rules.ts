// Queue rules of a run: a mutex whose shares are fair between groups of clients, and one where the newest wins. They are set
// before anybody asks for these locks.

import { setTimeout as sleep } from "node:timers/promises";
import { outcomeOf } from "../clients/client.ts";
import { monotonicMs } from "../history/clock.ts";
import { oneOf, type Run } from "./run.ts";

const SHARED = "share/0";
const NEWEST = "newest/0";
export const WITH_QUEUE_RULES = [SHARED, NEWEST];
const RULES = {
  [SHARED]: { shareBy: "label:group" },
  [NEWEST]: { waitingMax: 2, whenFull: "end longest waiting" },
} as const;

const GROUPS = 3;
const SET_TRIES_MAX = 20;
const REST_MS = 200;

export async function setQueueRules({ history, clients, chance }: Run): Promise<void> {
  for (const [lock, queueRules] of Object.entries(RULES)) {
    for (let tries = 0; tries < SET_TRIES_MAX; tries++) {
      const client = oneOf(clients, chance);
      const startMs = monotonicMs();
      const outcome = await outcomeOf(client.ask({ do: "setQueueRules", name: lock, queueRules }));
      const shares = "shareBy" in queueRules && { shareBy: queueRules.shareBy };
      history.add({
        did: "rules",
        who: client.name,
        lock,
        ...shares,
        startMs,
        endMs: monotonicMs(),
        outcome,
      });
      if (outcome === "done") break;
      await sleep(REST_MS);
    }
  }
}

/** The group of a client at a lock; undefined: its claims there are of none. */
export function groupAt(lock: string, client: { readonly name: string }): string | undefined {
  if (lock !== SHARED) return undefined;
  const sum = [...client.name].reduce((total, letter) => total + letter.charCodeAt(0), 0);
  return `group ${sum % GROUPS}`;
}
