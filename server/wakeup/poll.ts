// Wake-ups by polling: every tick may have changed everything. One query per tick for all waiters of a replica answers
// that, so other replicas need not be told anything.

import { Loop } from "./loop.ts";
import type { Wakeup } from "./wakeup.ts";

/** After an outage waiters hear of grants by it, which lapse where nobody hears of them: so it is there again soon. */
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
