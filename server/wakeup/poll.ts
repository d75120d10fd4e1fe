// Wake-ups by polling: each tick asks, in one query for all waiters of a replica, what has changed. So other replicas
// need not notify it.

import { Loop } from "./loop.ts";
import type { Wakeup } from "./wakeup.ts";

/**
 * After an outage waiters learn of grants by the poll, and a grant lapses if its waiter does not. So the poll resumes
 * soon.
 */
const REST_MS_MAX = 250;

/** `intervalMs` bounds how late a waiter learns of what another replica did. */
export function pollWakeup(intervalMs: number, onFailure: (loop: string, error: unknown) => void): Wakeup {
  let loop: Loop | undefined;
  return {
    start(onHint) {
      loop = new Loop({
        name: "poll",
        intervalMs,
        jitter: 0,
        restMsMax: REST_MS_MAX,
        run: () => onHint(),
        onFailure,
      });
      loop.start();
    },
    announce() {},
    async stop() {
      await loop?.stop();
    },
  };
}
