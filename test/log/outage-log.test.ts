// The log of an outage: three kinds of lines, whichever part of the server notices it and however often.

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Fault } from "../../server/engine/faults.ts";
import { createLog } from "../../server/log/log.ts";
import { OutageLog } from "../../server/log/outage-log.ts";
import { StoreError } from "../../server/storage/store.ts";

interface Line {
  readonly level: string;
  readonly msg: string;
  readonly reason?: string;
  readonly forMs?: number;
  readonly callsFailed?: number;
  readonly err?: { readonly stack: string };
}

function recorded(level = "info") {
  const lines: string[] = [];
  const outage = new OutageLog(createLog({ level, write: (line) => lines.push(line) }));
  return { outage, lines: () => lines.map((line) => JSON.parse(line) as Line) };
}

const lost = () => new StoreError("transient", "connection_lost", "The connection to the database was lost.");
const busy = (reason: string) => new StoreError("unavailable", reason, "Somebody was in the way.");
const fault = (cause: StoreError) =>
  new Fault("unavailable", cause.reason, "The database cannot be used now.", { retryAfterMs: 1, cause });
const overloaded = () => new Fault("overloaded", "commands_queued", "Too many calls.", { retryAfterMs: 1 });
const stopping = () => new Fault("shutting_down", "shutting_down", "It stops.", { retryAfterMs: 1 });

const poll = { loop: "poll" };
const call = { method: "Renew" };

describe("an outage", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test("is logged when it begins, now and then while it lasts, and when it is over", () => {
    const { outage, lines } = recorded();
    for (let tick = 0; tick < 250; tick++) {
      expect(outage.failed(poll, lost())).toBe(true);
      expect(outage.failed(call, fault(lost()))).toBe(true);
      vi.advanceTimersByTime(100);
    }
    outage.probeFailed(lost());
    outage.probeWorked();
    vi.advanceTimersByTime(2_000);
    outage.probeWorked();
    const cause = "The connection to the database was lost.";
    expect(lines()).toMatchObject([
      { level: "warn", reason: "connection_lost", msg: `the database cannot be used: ${cause}` },
      { level: "warn", forMs: 10_000, callsFailed: 100, msg: `the database still cannot be used: ${cause}` },
      { level: "warn", forMs: 20_000, callsFailed: 200, msg: `the database still cannot be used: ${cause}` },
      { level: "info", forMs: 25_000, callsFailed: 250, msg: "the database can be used again" },
    ]);
    for (const line of lines()) expect(line).not.toHaveProperty("err");
  });

  test("is not over if something fails between two successful probes", () => {
    const { outage, lines } = recorded();
    for (let round = 0; round < 3; round++) {
      outage.failed(call, fault(new StoreError("unavailable", "full", "There is no room.")));
      outage.probeWorked();
    }
    expect(lines()).toHaveLength(1);
    outage.probeWorked();
    expect(lines().at(-1)).toMatchObject({ msg: "the database can be used again", callsFailed: 3 });
    outage.probeWorked();
    expect(lines()).toHaveLength(2);
  });

  test("includes all failures whatever their reason, except bugs and a stopping server", () => {
    const { outage, lines } = recorded();
    outage.failed(poll, lost());
    expect(outage.failed(call, fault(busy("pool_exhausted")))).toBe(true);
    expect(outage.failed(call, overloaded())).toBe(true);
    expect(outage.failed(poll, new Error("a bug"))).toBe(false);
    expect(outage.failed(poll, stopping())).toBe(false);
    expect(lines()).toHaveLength(1);
  });

  test("also begins when the probe fails", () => {
    const { outage, lines } = recorded();
    outage.probeFailed(busy("pool_exhausted"));
    expect(lines()).toMatchObject([{ msg: "the database cannot be used: Somebody was in the way." }]);
  });

  test("shows its stacks at debug", () => {
    const { outage, lines } = recorded("debug");
    outage.failed(poll, lost());
    outage.failed(call, fault(lost()));
    const debug = lines().filter(({ level }) => level === "debug");
    expect(debug).toMatchObject([poll, call]);
    for (const { err } of debug) expect(err?.stack).toContain("outage-log.test.ts");
  });
});

test.each(["deadlock", "lock_wait_timeout", "pool_exhausted", "unexpected"])(
  "%s alone does not begin an outage",
  (reason) => {
    const { outage, lines } = recorded();
    expect(outage.failed(poll, busy(reason))).toBe(false);
    expect(outage.failed(call, overloaded())).toBe(false);
    outage.probeWorked();
    expect(lines()).toEqual([]);
  },
);
