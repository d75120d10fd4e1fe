// What decisions note for the history: each change that somebody made, by whom, from what, to what and why.

import { describe, expect, test } from "vitest";
import type { NotedChange } from "../../server/core/noted-change.ts";
import { NAME, OneLock } from "./one-lock.ts";

const caller = { getPeer: () => "192.0.2.1:5", principal: "" };
const COMMON = { target: NAME, isPattern: false, by: "192.0.2.1:5", reason: "" };

/** What the last transaction noted. */
const notedBy = (lock: OneLock): readonly NotedChange[] => lock.noted;

describe("a change is noted", () => {
  test("of a limit, with its reason, although it sets what was set already", () => {
    const lock = new OneLock();
    const set = (limit: number | null) =>
      lock.do({ verb: "set_limit", name: NAME, limit, expectedVersion: undefined, reason: "why", caller });
    set(3);
    const limit = { ...COMMON, kind: "limit", reason: "why" };
    expect(notedBy(lock)).toEqual([{ ...limit, from: "", to: "3" }]);
    set(3);
    expect(notedBy(lock)).toEqual([{ ...limit, from: "3", to: "3" }]);
    set(null);
    expect(notedBy(lock)).toEqual([{ ...limit, from: "3", to: "" }]);
    lock.do({ verb: "set_limit", name: NAME, limit: 1, expectedVersion: 9n, reason: "", caller });
    expect(notedBy(lock)).toEqual([]);
  });

  test("of a record, with what is set in it", () => {
    const lock = new OneLock();
    const update = { verb: "update_record", name: NAME, expectedVersion: undefined, caller } as const;
    lock.do({ ...update, notBefore: { atUs: lock.nowUs + 7 }, attemptsLeft: 2, status: "new" });
    const record = { ...COMMON, kind: "record" };
    const first =
      '{"status":"new","attempts_left":2,"not_before":"1970-01-12T13:46:40.000007Z","version":"1"}';
    expect(notedBy(lock)).toEqual([{ ...record, from: "", to: first }]);
    lock.do({ ...update, notBefore: null, attemptsLeft: null, status: "", reason: "begins anew" });
    expect(notedBy(lock)).toEqual([{ ...record, from: first, to: '{"version":"2"}', reason: "begins anew" }]);
    lock.do({ verb: "delete_record", name: NAME, expectedVersion: undefined, reason: "is done", caller });
    expect(notedBy(lock)).toEqual([{ ...record, from: '{"version":"2"}', to: "", reason: "is done" }]);
    lock.do({ verb: "delete_record", name: NAME, expectedVersion: undefined, caller });
    expect(notedBy(lock)).toEqual([]);
  });

  test("of each claim that was force-released, and the claim knows by whom", () => {
    const lock = new OneLock({ limit: 2 });
    const leases = [
      lock.lease({ owner: 'job "7"' }),
      lock.lease({ caller: { ...caller, principal: "alice" } }),
    ];
    const waiter = lock.ticket();
    const force = { verb: "force_release", name: NAME, reason: "stuck" } as const;
    lock.do({ ...force, ticketNumber: waiter.ticketNumber, caller: { ...caller, principal: "ops" } });
    expect(notedBy(lock)).toEqual([
      {
        ...{ ...COMMON, kind: "forced_release", by: "ops", reason: "stuck", to: "" },
        from: '{"ticket_number":"3","state":"waiting","owner":"","principal":""}',
      },
    ]);
    expect(lock.now(waiter).endedBy).toBe("ops");
    lock.do({ ...force, ticketNumber: null, caller });
    expect(notedBy(lock).map(({ from }) => JSON.parse(from))).toEqual([
      { ticket_number: "1", state: "held", owner: 'job "7"', principal: "" },
      { ticket_number: "2", state: "held", owner: "", principal: "alice" },
    ]);
    expect(leases.map((lease) => lock.now(lease).endedBy)).toEqual([COMMON.by, COMMON.by]);
  });

  test("of nothing else", () => {
    const lock = new OneLock();
    const lease = lock.lease({ caller });
    expect(notedBy(lock)).toEqual([]);
    lock.release(lease);
    expect(notedBy(lock)).toEqual([]);
    expect(lock.now(lease).endedBy).toBe("");
  });
});
