// What a lock remembers beyond its claims, in cases that random histories reach seldom.

import { describe, expect, test } from "vitest";
import type { Claim } from "../../server/core/claim.ts";
import type { Outcome, UpdateRecord } from "../../server/core/command.ts";
import type { RunResult } from "../../server/core/lock.ts";
import { TERMS } from "../support/claims.ts";
import { NAME, OneLock, SECOND_US } from "./one-lock.ts";

const HOUR_US = 3_600 * SECOND_US;

class RememberingLock extends OneLock {
  update(update: Partial<UpdateRecord>): Outcome {
    const nothing = { notBefore: undefined, attemptsLeft: undefined, status: undefined };
    const command = { expectedVersion: undefined, ...nothing, ...update };
    return this.do({ ...command, verb: "update_record", name: NAME });
  }

  delete(): Outcome {
    return this.do({ verb: "delete_record", name: NAME, expectedVersion: undefined });
  }

  /** Releases with a result and returns the outcome. */
  finish(claim: Claim, result: RunResult): Outcome {
    return this.do({ verb: "release", ref: claim, result, repeated: false });
  }

  get record() {
    return this.lock.record;
  }
}

describe("the principal of a record", () => {
  const by = (principal: string) => ({ caller: { getPeer: () => "", principal } });
  const ofNew = (lock: RememberingLock) =>
    lock.events.flatMap((event) =>
      (event.kind === "ended" || event.kind === "record_changed") && event.isNewRecord
        ? [event.record?.principal]
        : [],
    );

  test("is whoever made it by an UpdateRecord, until it is deleted", () => {
    const lock = new RememberingLock();
    lock.update({ status: "new", ...by("alice") });
    expect(ofNew(lock)).toEqual(["alice"]);
    lock.update({ status: "changed", ...by("bob") });
    expect(ofNew(lock)).toEqual([]);
    lock.finish(lock.lease(by("carol")), { status: "done" });
    expect(ofNew(lock)).toEqual([]);
    expect(lock.record).toMatchObject({ status: "done", principal: "alice" });
    lock.delete();
    expect(lock.events).toMatchObject([{ change: "deleted", record: { principal: "alice" } }]);
    lock.update({ status: "again", ...by("bob") });
    expect(lock.record?.principal).toBe("bob");
    expect(ofNew(lock)).toEqual(["bob"]);
  });

  test.each(["released", "expired", "force_released"])("is that of the claim that was %s", (end) => {
    const lock = new RememberingLock();
    const ask = { ttlUs: SECOND_US, ...by("alice") };
    const lease = lock.lease({ ...ask, ...(end !== "released" && { terms: TERMS }) });
    if (end === "released") lock.do({ verb: "release", ref: lease, result: { status: "x" }, ...by("bob") });
    else if (end === "expired") lock.pass(SECOND_US).advance();
    else lock.forceRelease(lease);
    expect(lock.record).toMatchObject({ principal: "alice", lastRun: { end } });
    expect(ofNew(lock)).toEqual(["alice"]);
  });
});

describe("a run that fails", () => {
  const backoff = { firstUs: SECOND_US, maxUs: 5 * SECOND_US };
  const failing = { verb: "release", failed: true, repeated: false } as const;
  /** How long the lock rests after the run, in seconds. */
  function restAfter(
    lock: RememberingLock,
    end: (claim: Claim) => void,
    terms = { ...TERMS, backoff },
  ): number {
    const { notBeforeUs } = lock.record ?? {};
    if (notBeforeUs) lock.pass(Math.max(0, notBeforeUs - lock.nowUs));
    end(lock.lease({ ttlUs: SECOND_US, terms }));
    return Math.max(0, (lock.record?.notBeforeUs ?? 0) - lock.nowUs) / SECOND_US;
  }
  const fails = (lock: RememberingLock) => (ref: Claim) => void lock.do({ ...failing, ref });

  test("lets the lock rest for twice as long each time, up to the longest, until one succeeds", () => {
    const lock = new RememberingLock();
    const rests = Array.from({ length: 5 }, () => restAfter(lock, fails(lock)));
    expect(rests).toEqual([1, 2, 4, 5, 5]);
    expect(lock.record).toMatchObject({ failures: 5, lastSuccess: null, lastRun: { end: "failed" } });
    expect(restAfter(lock, (ref) => lock.finish(ref, {}))).toBe(0);
    expect(lock.record).toMatchObject({ failures: 0, lastSuccess: { end: "released", fencingToken: 6n } });
    expect(restAfter(lock, fails(lock))).toBe(1);
    expect(lock.record).toMatchObject({
      failures: 1,
      lastSuccess: { fencingToken: 6n },
      lastRun: { fencingToken: 7n },
    });
  });

  test("backs off however it ends, so that a crash does, too", () => {
    const lock = new RememberingLock();
    const crash = () => void lock.pass(SECOND_US).advance();
    expect(
      [crash, crash, (claim: Claim) => void lock.forceRelease(claim)].map((end) => restAfter(lock, end)),
    ).toEqual([1, 2, 4]);
    expect(lock.record?.failures).toBe(3);
  });

  test("rests as its Release says instead, and a lost one for its lock_delay if that is longer", () => {
    const lock = new RememberingLock();
    const result = { coolDownUs: 0, status: "again" };
    expect(restAfter(lock, (ref) => lock.do({ ...failing, ref, result }))).toBe(0);
    expect(lock.record).toMatchObject({ status: "again", failures: 1 });
    const terms = { ...TERMS, backoff, lockDelayUs: 3 * SECOND_US };
    expect(restAfter(lock, () => void lock.pass(SECOND_US).advance(), terms)).toBe(3);
    // Instead of the interval, which is of those that went well.
    expect(restAfter(lock, fails(lock), { ...TERMS, backoff, minIntervalUs: HOUR_US })).toBe(4);
  });

  test("makes no record by itself, and its end shows the status that it leaves", () => {
    const lock = new RememberingLock();
    lock.do({ ...failing, ref: lock.lease() });
    expect([lock.record, lock.events]).toMatchObject([
      null,
      [{ claim: { endReason: "failed", endNote: "" } }],
    ]);
    lock.do({ ...failing, ref: lock.lease(), result: { status: "bad" } });
    expect(lock.events).toMatchObject([{ claim: { endReason: "failed", endNote: "bad" } }]);
  });

  test("is answered as its own to a repeat, and as another's to a release that says otherwise", () => {
    const lock = new RememberingLock();
    const ref = lock.lease();
    expect(lock.do({ ...failing, ref })).toEqual({ kind: "released", byThisCall: true });
    expect(lock.do({ ...failing, ref, repeated: true })).toEqual({ kind: "released", byThisCall: true });
    expect(lock.release(ref, true)).toEqual({ kind: "released", byThisCall: false });
  });

  test("is no run of a waiter", () => {
    const lock = new RememberingLock();
    lock.lease();
    const ticket = lock.ticket();
    expect(lock.do({ ...failing, ref: ticket })).toMatchObject({ kind: "waiting" });
  });
});

test("an UpdateRecord that may not make a record is refused if there is none, and changes one that there is", () => {
  const lock = new RememberingLock();
  expect(lock.update({ status: "new", mayMakeRecord: false })).toEqual({ kind: "no_record" });
  expect(lock.record).toBeNull();
  expect(lock.update({ expectedVersion: 3n, mayMakeRecord: false })).toMatchObject({
    kind: "version_mismatch",
  });
  lock.update({ status: "made", mayMakeRecord: true });
  expect(lock.update({ status: "changed", mayMakeRecord: false })).toMatchObject({ kind: "record" });
  expect(lock.record?.status).toBe("changed");
  lock.delete();
  expect(lock.update({ status: "again", mayMakeRecord: false })).toEqual({ kind: "no_record" });
});

describe("UpdateRecord", () => {
  test("grants what it makes room for, and returns the lock as it is after that", () => {
    const lock = new RememberingLock();
    lock.update({ notBefore: { inUs: HOUR_US }, attemptsLeft: 3 });
    const ticket = lock.ticket();
    const before = lock.record?.version as bigint;
    const answer = lock.update({ notBefore: { inUs: 0 } });
    expect(lock.states(ticket)).toEqual(["held"]);
    expect(answer).toMatchObject({ kind: "record", record: { attemptsLeft: 2, notBeforeUs: lock.nowUs } });
    expect(lock.record?.version).toBe(before + 2n);
  });

  test("rises over a deletion in the same transaction, and while the clock is set back", () => {
    const lock = new RememberingLock();
    const update = { notBefore: undefined, attemptsLeft: undefined, expectedVersion: undefined };
    const set = (status: string) => ({ ...update, verb: "update_record", name: NAME, status }) as const;
    const remove = { verb: "delete_record", name: NAME, expectedVersion: undefined } as const;
    const versionsOf = (outcomes: readonly Outcome[]) =>
      outcomes.flatMap((outcome) => (outcome.kind === "record" ? [outcome.setVersion] : []));
    const versions = versionsOf(lock.transact(set("a"), remove, set("b"), remove));
    lock.pass(-HOUR_US);
    versions.push(...versionsOf(lock.transact(set("c"), set("d"))));
    expect(versions).toEqual([1n, 2n, 3n, 4n]);
  });
});
