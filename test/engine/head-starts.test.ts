// Head starts in engines over each database: who is next, also where a decision reads only parts of the queue.

import { afterEach, describe, expect, test } from "vitest";
import type { Claim } from "../../server/core/claim.ts";
import type { QueueRules } from "../../server/core/queue-rules.ts";
import { testDatabases } from "../support/database.ts";
import { ask, claimOf, follower, type Replicas, startReplicas } from "../support/replicas.ts";

const HOUR_US = 3_600_000_000;
const RULES: QueueRules = { waitingMax: null, whenFull: "refuse", shareBy: null, headStartMaxUs: HOUR_US };

describe.each(testDatabases())("head starts on $label", (database) => {
  const ours: Replicas[] = [];
  afterEach(async () => {
    for (const replicas of ours.splice(0)) {
      const findings = await replicas.all[0]?.store.checkInvariants(20);
      const failures = replicas.all.flatMap((replica) => replica.failures);
      await replicas.stop();
      expect(findings?.filter(({ severity }) => severity === "error")).toEqual([]);
      expect(failures.slice(0, 2).map(String)).toEqual([]);
    }
  });

  async function start(count = 1) {
    const replicas = await startReplicas(database, count);
    ours.push(replicas);
    const engines = replicas.all.map(({ engine }) => engine);
    const [engine] = engines as [(typeof engines)[0]];
    const set = (queueRules: QueueRules | null) =>
      engine.ask({ verb: "set_limit", name: "gpu", queueRules, expectedVersion: undefined, reason: "" });
    const waiting = new Map<bigint, Promise<{ claim: Claim }>>();
    const wait = async (headStartUs: number, by = engine) => {
      const { settled, toldClaim } = follower();
      const claim = claimOf(await by.acquire(ask("gpu", { headStartUs }), { settled }), "waiting");
      waiting.set(claim.ticketNumber, toldClaim);
      return Number(claim.ticketNumber);
    };
    const next = async (ref: Claim, by = engine) => {
      await by.ask({ verb: "release", ref });
      const { claim } = await Promise.race(waiting.values());
      waiting.delete(claim.ticketNumber);
      return claim;
    };
    const order = async (holder: Claim, count: number) => {
      const tickets: number[] = [];
      for (let turn = 0, held = holder; turn < count; turn++) {
        held = await next(held, engines[turn % engines.length]);
        tickets.push(Number(held.ticketNumber));
      }
      return tickets;
    };
    const hold = async () => claimOf(await engine.acquire(ask("gpu"), null), "held");
    /** As many waiters as that, in the order in which they are shown. */
    const shown = async (most: number) => {
      const view = await replicas.all[0]?.store.view("gpu", most);
      return view?.waiters.map(({ ticketNumber }) => Number(ticketNumber));
    };
    return { engine, engines, set, hold, wait, order, shown };
  }

  test("a claim with one is queued as if it had come so much earlier, and no more than the rules allow", async () => {
    const { set, hold, wait, order, shown } = await start(2);
    await set(RULES);
    const holder = await hold();
    const [plain, other] = [await wait(0), await wait(0)];
    const late = await wait(HOUR_US);
    // As much as is allowed, so it comes behind the one that had it before.
    const greedy = await wait(60 * HOUR_US);
    const little = await wait(1);
    const expected = [late, greedy, plain, other, little];
    for (const most of [5, 2]) expect(await shown(most)).toEqual(expected.slice(0, most));
    expect(await order(holder, 5)).toEqual(expected);
  });

  test("without rules for it, the order is that of arrival, and those that wait keep theirs when it comes", async () => {
    const { set, hold, wait, order } = await start();
    const holder = await hold();
    const [first, second] = [await wait(HOUR_US), await wait(HOUR_US)];
    await set(RULES);
    const third = await wait(HOUR_US);
    expect(await order(holder, 3)).toEqual([third, first, second]);
  });

  test("in a queue longer than a server remembers, each decision finds who is next", async () => {
    const { set, hold, wait, order, engines } = await start(2);
    await set(RULES);
    const holder = await hold();
    const queued: { ticket: number; atUs: number }[] = [];
    for (let at = 0; at < 200; at++) {
      const headStartUs = ((at * 7919) % 60) * 60_000_000;
      queued.push({ ticket: await wait(headStartUs, engines[at % 2]), atUs: at - headStartUs });
    }
    // A minute is longer than all of these requests take.
    const expected = queued.toSorted((a, b) => a.atUs - b.atUs).map(({ ticket }) => ticket);
    expect(await order(holder, 80)).toEqual(expected.slice(0, 80));
  });
});
