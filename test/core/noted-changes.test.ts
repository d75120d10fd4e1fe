// What decisions note for the history: each change that somebody made, by whom, from what, to what and why.

import { expect, test } from "vitest";
import type { NotedChange } from "../../server/core/noted-change.ts";
import { NAME, OneLock } from "./one-lock.ts";

const caller = { getPeer: () => "192.0.2.1:5", principal: "" };
const COMMON = { target: NAME, isPattern: false, by: "192.0.2.1:5", reason: "" };

/** What the last transaction noted. */
const notedBy = (lock: OneLock): readonly NotedChange[] => lock.noted;

test("a change of a record is noted, with what is set in it", () => {
  const lock = new OneLock();
  const update = { verb: "update_record", name: NAME, expectedVersion: undefined, caller } as const;
  lock.do({ ...update, notBefore: { atUs: lock.nowUs + 7 }, attemptsLeft: 2, status: "new" });
  const record = { ...COMMON, kind: "record" };
  const first = '{"status":"new","attempts_left":2,"not_before":"1970-01-12T13:46:40.000007Z","version":"1"}';
  expect(notedBy(lock)).toEqual([{ ...record, from: "", to: first }]);
  lock.do({ ...update, notBefore: null, attemptsLeft: null, status: "", reason: "begins anew" });
  expect(notedBy(lock)).toEqual([{ ...record, from: first, to: '{"version":"2"}', reason: "begins anew" }]);
  lock.do({ verb: "delete_record", name: NAME, expectedVersion: undefined, reason: "is done", caller });
  expect(notedBy(lock)).toEqual([{ ...record, from: '{"version":"2"}', to: "", reason: "is done" }]);
  lock.do({ verb: "delete_record", name: NAME, expectedVersion: undefined, caller });
  expect(notedBy(lock)).toEqual([]);
});
