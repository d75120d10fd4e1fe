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
