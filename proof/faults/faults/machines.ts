// Machines that misbehave: a disk that is full, flushes that are slow, clocks that are set wrong and right again.

import { setTimeout as sleep } from "node:timers/promises";
import { monotonicMs } from "../history/clock.ts";
import { CLOCKS_LATE_S } from "../house/machine.ts";
import { oneOf } from "../work/run.ts";
import { type Fault, SHORT_MS } from "./fault.ts";

const FULL_MS = 5_000;
const SLOW_FLUSH_MS = 150;
/** After a clock was set right: until its process has looked, and a server has read the new time. */
const UNSURE_MS = 2 * CLOCKS_LATE_S * 1_000;
const STEPS_S = [1, -1, 60, -60, 3_600, -3_600];

const fullDisk: Fault = {
  name: "the database's disk is full",
  needs: "disk",
  async strike({ machine, database: { daemons } }) {
    machine?.disk?.fill();
    await sleep(FULL_MS);
    machine?.disk?.makeRoom();
    // Some end by themselves when their disk is full.
    for (const daemon of daemons) await daemon.comeBack();
  },
};

const slowFlushes: Fault = {
  name: `each flush of the database takes ${SLOW_FLUSH_MS} ms more`,
  needs: "flushes",
  async strike({ machine }) {
    machine?.flushes?.set(SLOW_FLUSH_MS);
    await sleep(SHORT_MS);
    machine?.flushes?.set(0);
  },
};

const steppedDatabase: readonly Fault[] = STEPS_S.map((stepS) => ({
  name: `the database's clock is set by ${stepS} s, and right again`,
  needs: "clock",
  async strike({ machine }, _chance, history) {
    const startMs = monotonicMs();
    machine?.clock?.set(stepS);
    await sleep(SHORT_MS);
    machine?.clock?.set(0);
    history.add({ did: "step", who: "", startMs, endMs: monotonicMs() + UNSURE_MS });
  },
}));

function steppedOther(whose: "a server" | "a client"): Fault {
  return {
    name: `the wall clock of ${whose} is set wrong, and right again`,
    needs: whose === "a server" ? "server clocks" : "client clocks",
    async strike({ serverClocks, clientClocks }, chance) {
      const clock = oneOf(whose === "a server" ? serverClocks : clientClocks, chance);
      clock.set(oneOf(STEPS_S, chance));
      await sleep(SHORT_MS);
      clock.set(0);
    },
  };
}

export const MACHINE_FAULTS: readonly Fault[] = [
  fullDisk,
  slowFlushes,
  ...steppedDatabase,
  steppedOther("a server"),
  steppedOther("a client"),
];
