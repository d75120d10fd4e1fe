// What a lock remembers beyond its claims: what sets it, which requests it refuses, and which it lets wait.

import { describe, expect, test } from "vitest";
import { RETRY_AFTER_US_MIN } from "../../server/core/bounds.ts";
import type { Claim, Terms } from "../../server/core/claim.ts";
import type { Outcome, UpdateRecord } from "../../server/core/command.ts";
import type { RunResult } from "../../server/core/record.ts";
import { TERMS } from "../support/claims.ts";
import { claimOf, NAME, OneLock, SECOND_US } from "./one-lock.ts";

const HOUR_US = 3_600 * SECOND_US;

class RememberingLock extends OneLock {
  update(update: Partial<UpdateRecord>): Outcome {
    const nothing = { notBefore: undefined, attemptsLeft: undefined, status: undefined };
    const command = { expectedVersion: undefined, ...nothing, ...update };
    return this.do({ ...command, verb: "update_record", name: NAME });
  }

  delete(expectedVersion?: bigint): Outcome {
    return this.do({ verb: "delete_record", name: NAME, expectedVersion });
  }

  /** Releases with a result and returns the outcome. */
  finish(claim: Claim, result: RunResult): Outcome {
    return this.do({ verb: "release", ref: claim, result, repeated: false });
  }

  tries(terms: Partial<Terms> = {}): Outcome {
    return this.acquire({ mayWait: false, terms: termsOf(terms) });
  }

  get record() {
    return this.lock.record;
  }
}

function termsOf(terms: Partial<Terms>): Terms {
  return { ...TERMS, ...terms };
}

describe("a lock without a policy to remember", () => {
  test("has no record, however its leases end", () => {
    const lock = new RememberingLock();
    lock.release(lock.lease());
    lock.forceRelease(lock.lease());
    lock.lease({ ttlUs: SECOND_US });
    lock.pass(SECOND_US).advance();
    expect(lock.record).toBeNull();
  });
});

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
    const lease = lock.lease({ ...ask, ...(end !== "released" && { terms: termsOf({}) }) });
    if (end === "released") lock.do({ verb: "release", ref: lease, result: { status: "x" }, ...by("bob") });
    else if (end === "expired") lock.pass(SECOND_US).advance();
    else lock.forceRelease(lease);
    expect(lock.record).toMatchObject({ principal: "alice", lastRun: { end } });
    expect(ofNew(lock)).toEqual(["alice"]);
  });

  test("is nobody if the server asks no name", () => {
    const lock = new RememberingLock();
    lock.update({ status: "new" });
    expect(lock.record?.principal).toBe("");
  });
});

describe("an UpdateRecord that may not make a record", () => {
  test("is refused if there is none, and changes one that there is", () => {
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
});

describe("not_before", () => {
  test("is the interval from the grant, once the lease is released", () => {
    const lock = new RememberingLock();
    const lease = lock.lease({ terms: termsOf({ minIntervalUs: HOUR_US }) });
    const dueUs = lock.nowUs + HOUR_US;
    lock.pass(10 * SECOND_US).release(lease);
    expect(lock.record).toMatchObject({ notBeforeUs: dueUs, lastRun: { end: "released", status: "" } });
    const refused = { kind: "refused", reason: "not_before", forUs: HOUR_US - 10 * SECOND_US };
    expect(lock.tries()).toMatchObject(refused);
    lock.nowUs = dueUs - 1;
    const ticket = lock.ticket();
    expect(lock.record?.wakesAtUs).toBe(dueUs);
    expect(lock.advance().states(ticket)).toEqual(["waiting"]);
    lock.pass(1).advance();
    expect(lock.states(ticket)).toEqual(["held"]);
    expect(lock.record?.wakesAtUs).toBeNull();
  });

  test("is never shown as later than requested, however little is known of the clock", () => {
    const lock = new RememberingLock();
    lock.unsureUs = 200_000;
    lock.release(lock.lease({ terms: termsOf({ minIntervalUs: HOUR_US }) }));
    expect(lock.tries()).toMatchObject({ kind: "refused", reason: "not_before", forUs: HOUR_US });
    lock.pass(HOUR_US);
    expect(lock.tries()).toMatchObject({ kind: "refused", reason: "not_before", forUs: RETRY_AFTER_US_MIN });
  });

  test("is not set by a holder that dies: the next one takes over at once", () => {
    const lock = new RememberingLock();
    lock.lease({ ttlUs: 30 * SECOND_US, terms: termsOf({ minIntervalUs: HOUR_US }) });
    const next = lock.ticket();
    lock.pass(10 * SECOND_US).attach(next);
    lock.pass(10 * SECOND_US).attach(next);
    lock.pass(10 * SECOND_US).advance();
    expect(lock.states(next)).toEqual(["held"]);
    expect(lock.record).toMatchObject({ notBeforeUs: null, lastRun: { end: "expired" } });
  });

  test.each(["expired", "force_released"])("is the delay after a lease that was lost as %s", (end) => {
    const lock = new RememberingLock();
    const terms = termsOf({ lockDelayUs: 60 * SECOND_US, statusIfLost: "failed" });
    const lease = lock.lease({ ttlUs: 30 * SECOND_US, terms });
    lock.pass(30 * SECOND_US);
    if (end === "expired") lock.advance();
    else lock.pass(-SECOND_US).forceRelease(lease);
    expect(lock.record).toMatchObject({
      notBeforeUs: lock.nowUs + 60 * SECOND_US,
      status: "failed",
      lastRun: { end, status: "failed", fencingToken: lease.fencingToken },
    });
  });

  test.each([
    [0, null],
    [5 * SECOND_US, 5 * SECOND_US],
  ])("is what a release requests instead of the interval: %d", (coolDownUs, expectedUs) => {
    const lock = new RememberingLock();
    const lease = lock.lease({ terms: termsOf({ minIntervalUs: HOUR_US }) });
    lock.finish(lease, { coolDownUs });
    expect(lock.record?.notBeforeUs).toBe(expectedUs === null ? null : lock.nowUs + expectedUs);
  });

  test("that an operator has set later is not brought forward by a release", () => {
    const lock = new RememberingLock();
    const lease = lock.lease();
    const atUs = lock.nowUs + 2 * HOUR_US;
    lock.update({ notBefore: { atUs } });
    lock.finish(lease, { coolDownUs: SECOND_US });
    expect(lock.record?.notBeforeUs).toBe(atUs);
    lock.update({ notBefore: null });
    claimOf(lock.tries(), "held");
  });

  test("does not prevent the renewal and release of a lease before it", () => {
    const lock = new RememberingLock();
    const lease = lock.lease();
    lock.update({ notBefore: { inUs: HOUR_US } });
    claimOf(lock.renew(lease), "held");
    expect(lock.release(lease)).toMatchObject({ byThisCall: true });
  });

  test("counts as passed only when that is certain", () => {
    const lock = new RememberingLock();
    lock.update({ notBefore: { inUs: SECOND_US } });
    lock.unsureUs = 1_000;
    lock.pass(SECOND_US + 999);
    expect(lock.tries()).toMatchObject({ reason: "not_before", forUs: RETRY_AFTER_US_MIN });
    lock.pass(1);
    claimOf(lock.tries(), "held");
  });
});

describe("attempts", () => {
  test("are used up by each grant, and without one nothing is granted, not even after a wait", () => {
    const lock = new RememberingLock();
    lock.update({ attemptsLeft: 2 });
    const first = lock.lease();
    const [second, third] = [lock.ticket(), lock.ticket()];
    lock.release(first);
    expect(lock.record?.attemptsLeft).toBe(0);
    expect(lock.acquire()).toMatchObject({ kind: "refused", reason: "exhausted" });
    // The holder may still set the attempts again, so the waiter keeps its place.
    expect(lock.states(second, third)).toEqual(["held", "waiting"]);
    lock.release(second);
    expect(lock.states(third)).toEqual(["exhausted"]);
  });

  test("are reset by a release, for the waiters", () => {
    const lock = new RememberingLock();
    lock.update({ attemptsLeft: 1 });
    const lease = lock.lease();
    expect(lock.acquire()).toMatchObject({ reason: "exhausted" });
    lock.finish(lease, { attemptsLeft: 3 });
    claimOf(lock.tries(), "held");
    expect(lock.record?.attemptsLeft).toBe(2);
  });

  test("are used up by a grant that no client fetches, though it is not a run", () => {
    const lock = new RememberingLock();
    lock.update({ attemptsLeft: 2, status: "todo" });
    const first = lock.lease();
    const second = lock.ticket({ terms: termsOf({ statusIfLost: "failed", lockDelayUs: HOUR_US }) });
    lock.release(first);
    lock.pass(10 * SECOND_US).advance();
    expect(lock.states(second)).toEqual(["lapsed"]);
    expect(lock.record).toMatchObject({ attemptsLeft: 0, status: "todo", notBeforeUs: null });
    expect(lock.record?.lastRun?.fencingToken).toBe(first.fencingToken);
  });

  test.each(["lapsed", "force_released"])(
    "are used up by a short lease that no client fetches and that ends as %s, though it is not a run",
    (end) => {
      const lock = new RememberingLock();
      lock.update({ attemptsLeft: 2, status: "todo" });
      const first = lock.lease();
      const terms = termsOf({ statusIfLost: "failed", lockDelayUs: HOUR_US });
      const second = lock.ticket({ terms, ttlUs: 2 * SECOND_US });
      lock.release(first);
      if (end === "lapsed") lock.pass(2 * SECOND_US).advance();
      else lock.forceRelease(second);
      expect(lock.states(second)).toEqual([end]);
      expect(lock.record).toMatchObject({ attemptsLeft: 0, status: "todo", notBeforeUs: null });
      expect(lock.record?.lastRun?.fencingToken).toBe(first.fencingToken);
    },
  );

  test.each([false, true])(
    "are given back once if the caller of a grant is gone (after a wait: %s)",
    (afterWait) => {
      const lock = new RememberingLock();
      lock.update({ attemptsLeft: 2, status: "todo" });
      const terms = termsOf({ statusIfLost: "failed", lockDelayUs: HOUR_US, minIntervalUs: HOUR_US });
      const { requestId, secret } = lock.lease({ terms, afterWait });
      const taken = lock.record;
      for (let repeat = 0; repeat < 2; repeat++) lock.do({ verb: "withdraw", requestId, secret });
      const version = (taken?.version ?? 0n) + 1n;
      expect(lock.record).toEqual({ ...taken, attemptsLeft: 2, version });
      claimOf(lock.tries(), "held");
    },
  );

  test("that an operator set after the grant are not increased when a grant is given back", () => {
    const lock = new RememberingLock({ limit: 2 });
    const unheard = (requestId: string) => {
      const lease = lock.lease({ requestId });
      return { lease, withdraw: () => lock.do({ verb: "withdraw", requestId, secret: lease.secret }) };
    };
    lock.update({ attemptsLeft: 3 });
    const updated = unheard("updated");
    lock.update({ attemptsLeft: 0 });
    updated.withdraw();
    expect(lock.record?.attemptsLeft).toBe(0);
    lock.update({ attemptsLeft: 3 });
    const [released, other] = [unheard("released"), lock.lease()];
    lock.finish(other, { attemptsLeft: 1 });
    released.withdraw();
    expect(lock.record?.attemptsLeft).toBe(1);
    lock.update({ attemptsLeft: null });
    unheard("unlimited").withdraw();
    expect(lock.record?.attemptsLeft).toBeNull();
    lock.update({ attemptsLeft: 4 });
    const kept = unheard("kept");
    lock.update({ status: "todo" });
    kept.withdraw();
    expect(lock.record?.attemptsLeft).toBe(4);
  });
});

describe("a status", () => {
  test('is "" where there is no record', () => {
    const lock = new RememberingLock();
    expect(lock.tries({ ifStatus: ["failed"] })).toMatchObject({ reason: "status_mismatch", status: "" });
    claimOf(lock.tries({ ifStatus: ["failed", ""] }), "held");
  });

  test("is checked at the grant: a waiter whose turn comes ends with the status that was found", () => {
    const lock = new RememberingLock();
    const lease = lock.lease();
    const [todo, any] = [lock.ticket({ terms: termsOf({ ifStatus: [""] }) }), lock.ticket()];
    lock.finish(lease, { status: "done" });
    expect(lock.states(todo, any)).toEqual(["status_mismatch", "held"]);
    expect(lock.now(todo).endNote).toBe("done");
  });

  test("is not checked before the lock is due", () => {
    const lock = new RememberingLock();
    lock.update({ status: "failed", notBefore: { inUs: SECOND_US } });
    expect(lock.tries({ ifStatus: ["todo"] })).toMatchObject({ reason: "not_before" });
    const ticket = lock.ticket({ terms: termsOf({ ifStatus: ["todo"] }) });
    lock.update({ status: "todo" });
    lock.pass(SECOND_US).advance();
    expect(lock.states(ticket)).toEqual(["held"]);
  });

  test("after several leases were lost at once is that of the last one granted", () => {
    const lock = new RememberingLock({ limit: 2 });
    for (const statusIfLost of ["first", "second"]) lock.lease({ terms: termsOf({ statusIfLost }) });
    lock.pass(30 * SECOND_US).advance();
    expect(lock.record).toMatchObject({ status: "second", lastRun: { status: "second" } });
  });
});

describe("a release of a ticket that waits", () => {
  test("gives up its place, and is refused if it describes a run", () => {
    const lock = new RememberingLock();
    lock.lease();
    const ticket = lock.ticket();
    expect(lock.finish(ticket, { status: "done" })).toMatchObject({ kind: "waiting" });
    expect(lock.states(ticket)).toEqual(["waiting"]);
    expect(lock.record).toBeNull();
    lock.release(ticket);
    expect(lock.states(ticket)).toEqual(["cancelled"]);
  });
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

  test("has no version again that it had before a fail-over, which may have lost changes", () => {
    const lock = new RememberingLock();
    lock.update({ status: "a" });
    const lost = (lock.record?.version as bigint) + 1n;
    lock.failOver = { epoch: 3n, atUs: lock.nowUs, grantsFromUs: lock.nowUs };
    lock.update({ status: "another change" });
    const version = lock.record?.version as bigint;
    expect(version).toBeGreaterThan(lost);
    expect(lock.update({ status: "b", expectedVersion: lost })).toEqual({
      kind: "version_mismatch",
      version,
    });
    lock.update({ status: "c", expectedVersion: version });
    expect(lock.record?.version).toBe(version + 1n);
  });

  test("compares the version, which rises with every change, even over a deletion", () => {
    const lock = new RememberingLock();
    expect(lock.update({ status: "a", expectedVersion: 7n })).toEqual({
      kind: "version_mismatch",
      version: 0n,
    });
    lock.update({ status: "a", expectedVersion: 0n });
    const version = lock.record?.version as bigint;
    expect(version).toBeGreaterThan(0n);
    expect(lock.update({ status: "b", expectedVersion: 0n })).toEqual({ kind: "version_mismatch", version });
    lock.update({ status: "b", expectedVersion: version });
    expect(lock.record?.version).toBe(version + 1n);
    expect(lock.delete(version)).toEqual({ kind: "version_mismatch", version: version + 1n });
    expect(lock.delete(version + 1n)).toMatchObject({ kind: "deleted", byThisCall: true });
    lock.pass(10).update({ status: "c" });
    expect(lock.record?.version).toBeGreaterThan(version + 1n);
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

describe("DeleteRecord", () => {
  test("is refused while the lock is held or waited for, and deletes the whole record", () => {
    const lock = new RememberingLock();
    lock.update({ attemptsLeft: 1, status: "todo" });
    const lease = lock.lease();
    expect(lock.delete()).toEqual({ kind: "in_use" });
    lock.finish(lease, { coolDownUs: HOUR_US, attemptsLeft: 1 });
    const ticket = lock.ticket();
    expect(lock.delete()).toEqual({ kind: "in_use" });
    lock.release(ticket);
    expect(lock.delete()).toMatchObject({ kind: "deleted", byThisCall: true });
    expect(lock.delete()).toMatchObject({ kind: "deleted", byThisCall: false });
    expect(lock.lease().fencingToken).toBeGreaterThan(lease.fencingToken);
  });
});
