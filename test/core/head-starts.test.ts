// Head starts when clocks are set: whoever comes longer after a waiter than the longest head start does not pass it.

import { expect, test } from "vitest";
import type { QueueRules } from "../../server/core/queue-rules.ts";
import { NAME, OneLock, SECOND_US } from "./one-lock.ts";

const RULES: QueueRules = {
  waitingMax: null,
  whenFull: "refuse",
  shareBy: null,
  headStartMaxUs: 60 * SECOND_US,
};

test.each([
  ["goes on", 0],
  ["is set back", 3_600 * SECOND_US],
])(
  "those with equal head starts are granted as they came, also if the clock %s between them",
  (_, setBackUs) => {
    const lock = new OneLock();
    lock.do({ verb: "set_limit", name: NAME, queueRules: RULES, expectedVersion: undefined, reason: "" });
    const holder = lock.lease({ ttlUs: null });
    const asked = { ttlUs: null, headStartUs: 5 * SECOND_US };
    const early = [lock.ticket(asked), lock.ticket(asked)];
    lock.setBack(setBackUs);
    const late = [lock.ticket({ ...asked, headStartUs: 0 }), lock.ticket(asked)];
    const granted: bigint[] = [];
    let held = holder;
    for (let turn = 0; turn < 4; turn++) {
      lock.release(held);
      held = lock.rows.claimsOf(NAME).find(({ state }) => state === "held") ?? held;
      granted.push(held.ticketNumber);
    }
    const order = [...early, late[1], late[0]];
    expect(granted).toEqual(order.map((claim) => claim?.ticketNumber));
  },
);
