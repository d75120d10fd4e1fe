// Changes of limits and records, and forced releases, whose transaction has an unknown outcome while another server
// changes the same thing: no change is made twice, none overwrites a later one, and none is taken for another
// caller's.

import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { testDatabases } from "../support/database.ts";
import { ask, claimOf, follower, type Replica, type Replicas, startReplicas } from "../support/replicas.ts";
import { committed, rolledBack, TransactionScript } from "../support/transaction-script.ts";

const ANY = { notBefore: undefined, attemptsLeft: undefined, status: undefined, expectedVersion: undefined };
const IN_DOUBT = { kind: "outcome_unknown", outcomeUnknown: true };

/** A verb that changes something, and how to check the result. */
interface Verb {
  readonly verb: string;
  /** Creates what the verb changes. */
  readonly prepare: (replica: Replica, name: string) => Promise<void>;
  /** The current version; 0 if there is nothing. */
  readonly version: (replica: Replica, name: string) => Promise<bigint>;
  readonly change: (
    replica: Replica,
    name: string,
    to: number,
    expectedVersion?: bigint,
  ) => Promise<{ readonly kind: string } | undefined>;
  readonly value: (replica: Replica, name: string) => Promise<number | null>;
}

const recordOf = async ({ engine }: Replica, name: string) => (await engine.view(name)).lock.record;

const SET_LIMIT: Verb = {
  verb: "a limit",
  prepare: async ({ engine }, name) => void (await engine.setLimit(name, 1, undefined, "")),
  version: async ({ engine }, name) => (await engine.view(name)).lock.limitVersion,
  change: async ({ engine }, name, to, expected) =>
    (await engine.setLimit(name, to, expected, "same")).outcome,
  value: async ({ engine }, name) => (await engine.view(name)).lock.limit,
};
const SET_RULE: Verb = {
  verb: "a limit for a pattern",
  prepare: async ({ engine }, name) => void (await engine.setLimitRule(`${name}/`, 1, undefined, "")),
  version: async ({ engine }, name) => (await engine.limit(`${name}/x`)).version,
  change: ({ engine }, name, to, expected) => engine.setLimitRule(`${name}/`, to, expected, "same"),
  value: async ({ engine }, name) => (await engine.limit(`${name}/x`)).limit,
};
const UPDATE: Verb = {
  verb: "a record",
  prepare: async ({ engine }, name) => void (await engine.updateLock({ ...ANY, name, attemptsLeft: 1 })),
  version: async (replica, name) => (await recordOf(replica, name))?.version ?? 0n,
  change: async ({ engine }, name, to, expectedVersion) =>
    (await engine.updateLock({ ...ANY, name, attemptsLeft: to, expectedVersion })).outcome,
  value: async (replica, name) => (await recordOf(replica, name))?.attemptsLeft ?? null,
};
const VERBS = [SET_LIMIT, SET_RULE, UPDATE];

describe.each(testDatabases())("changes with unknown outcomes on $label", (database) => {
  let replicas: Replicas;
  let here: Replica;
  let there: Replica;
  const script = new TransactionScript();
  const answersThere: ReturnType<Verb["change"]>[] = [];
  let made = 0;
  const newName = () => `changed ${++made}`;

  beforeAll(async () => {
    replicas = await startReplicas(database, 2, {}, script.ofFirst());
    [here, there] = replicas.all as [Replica, Replica];
  });
  afterEach(async () => {
    expect(script.isOver).toBe(true);
    await Promise.all(answersThere.splice(0));
  });
  afterAll(async () => {
    await replicas?.stop();
    expect(replicas.all.flatMap((replica) => replica.failures)).toEqual([]);
  });

  describe.each(VERBS)("of $verb", ({ prepare, version, change, value }) => {
    /**
     * Makes a change at `there` and waits until it is written, not until it is answered: the answer to a rule waits
     * for all transactions of `here` too.
     */
    const changeThere = async (name: string, to: number, expected?: bigint) => {
      const before = await version(there, name);
      const changing = change(there, name, to, expected);
      answersThere.push(changing);
      while ((await version(there, name)) === before) await new Promise((resolve) => setTimeout(resolve, 1));
    };

    test("of two compare-and-sets with the same version, only one hears that it was made", async () => {
      const name = newName();
      await prepare(there, name);
      const before = await version(there, name);
      script.push(rolledBack(() => changeThere(name, 7, before)));
      await expect(change(here, name, 7, before)).rejects.toMatchObject(IN_DOUBT);
      expect((await answersThere.at(-1))?.kind).not.toBe("version_mismatch");
      expect(await version(there, name)).toBe(before + 1n);
    });

    test("what another server has set after it stays", async () => {
      const name = newName();
      await prepare(there, name);
      script.push(committed(() => changeThere(name, 0)));
      await expect(change(here, name, 3)).rejects.toMatchObject(IN_DOUBT);
      expect(await value(there, name)).toBe(0);
    });

    test("what another server has set before the repetition stays, also where the first attempt was rolled back", async () => {
      const name = newName();
      await prepare(there, name);
      script.push(rolledBack(() => changeThere(name, 0)));
      await expect(change(here, name, 3)).rejects.toMatchObject(IN_DOUBT);
      expect(await value(there, name)).toBe(0);
    });

    test("it is made once, however often it was committed without an answer", async () => {
      const name = newName();
      await prepare(there, name);
      const before = await version(there, name);
      script.push(rolledBack(), committed(), committed(), rolledBack());
      const outcome = await change(here, name, 3, before);
      expect(outcome?.kind).not.toBe("version_mismatch");
      expect(await value(there, name)).toBe(3);
      expect(await version(there, name)).toBe(before + 1n);
    });

    test("the first one of a name is made once", async () => {
      const name = newName();
      script.push(rolledBack(), committed());
      await change(here, name, 3, 0n);
      expect(await value(there, name)).toBe(3);
      const [first, second] = [await version(there, name), await change(there, name, 3, 0n)];
      expect(second).toEqual({ kind: "version_mismatch", version: first });
    });

    test("where the database never answers, the caller does not hear that nothing was done", async () => {
      const name = newName();
      script.push(...Array.from({ length: 7 }, () => committed()));
      await expect(change(here, name, 3)).rejects.toMatchObject(IN_DOUBT);
      expect(await value(there, name)).toBe(3);
    });
  });

  test("a change that was refused is refused again, whatever another server has changed", async () => {
    const name = newName();
    await here.engine.setLimit(name, 1, undefined, "");
    script.push(rolledBack(() => there.engine.setLimit(name, 2, undefined, "")));
    expect((await here.engine.setLimit(name, 3, 7n, "")).outcome).toEqual({
      kind: "version_mismatch",
      version: 2n,
    });
  });

  test("a change is made although others have taken and released the lock meanwhile", async () => {
    const name = newName();
    const use = async () => {
      const lease = claimOf(await there.engine.acquire(ask(name), null), "held");
      await there.engine.release(lease, { status: "used" });
    };
    script.push(rolledBack(use), committed(use));
    const { outcome } = await here.engine.updateLock({ ...ANY, name, status: "new" });
    expect(outcome).toMatchObject({ kind: "record" });
    expect(await recordOf(there, name)).toMatchObject({ status: "used", lastRun: { status: "used" } });
  });

  test("of two deletions, only one hears that it has deleted", async () => {
    const name = newName();
    await UPDATE.prepare(there, name);
    const there_: unknown[] = [];
    script.push(
      rolledBack(async () => there_.push((await there.engine.deleteLock(name, undefined))?.outcome)),
    );
    await expect(here.engine.deleteLock(name, undefined)).rejects.toMatchObject(IN_DOUBT);
    expect(there_).toMatchObject([{ kind: "deleted", byThisCall: true }]);
  });

  test("a record that was made anew after a deletion stays", async () => {
    const name = newName();
    await UPDATE.prepare(there, name);
    script.push(committed(() => there.engine.updateLock({ ...ANY, name, status: "anew" })));
    await expect(here.engine.deleteLock(name, undefined)).rejects.toMatchObject(IN_DOUBT);
    expect(await recordOf(there, name)).toMatchObject({ status: "anew" });
  });

  test("a deletion returns its own version where it was committed without an answer", async () => {
    const name = newName();
    await UPDATE.prepare(there, name);
    const version = await UPDATE.version(there, name);
    script.push(committed(), committed());
    const answer = await here.engine.deleteLock(name, version);
    expect(answer?.outcome).toMatchObject({ kind: "deleted", byThisCall: true, version });
  });

  test("what was committed without an answer is logged once", async () => {
    const name = newName();
    const lease = claimOf(await here.engine.acquire(ask(name), null), "held");
    const seen = here.events.length;
    script.push(rolledBack(), committed(), committed());
    await Promise.all([
      here.engine.setLimit(name, 3, undefined, "logged"),
      here.engine.updateLock({ ...ANY, name, status: "logged" }),
      here.engine.release(lease),
    ]);
    script.push(committed());
    const held = claimOf(await there.engine.acquire(ask(name), null), "held");
    await here.engine.forceRelease(name, null, "logged");
    const kinds = here.events.slice(seen).map(({ kind }) => kind);
    expect(kinds.toSorted()).toEqual(["ended", "ended", "limit_set", "record_set"]);
    expect(here.events.at(-1)).toMatchObject({ claim: { ticketNumber: held.ticketNumber } });
  });

  describe("a forced release of all holders", () => {
    test("that was committed lists whom it has ended, and leaves those who were granted by that", async () => {
      const name = newName();
      const ended = claimOf(await there.engine.acquire(ask(name), null), "held");
      const next = follower();
      claimOf(await there.engine.acquire(ask(name), next), "waiting");
      script.push(committed(), committed());
      const answer = await here.engine.forceRelease(name, null, "stuck");
      expect(answer?.outcome).toMatchObject({
        ended: [{ ticketNumber: ended.ticketNumber }],
        holdersLeft: 0,
      });
      const { claim } = await next.toldClaim;
      const { lock } = await there.engine.view(name);
      expect({ state: claim.state, holders: lock.holders }).toEqual({ state: "held", holders: 1 });
    });

    test("that was rolled back ends only whom it meant, and not who has come since", async () => {
      const name = newName();
      const first = claimOf(await there.engine.acquire(ask(name), null), "held");
      const handOn = async () => {
        await there.engine.release(first);
        claimOf(await there.engine.acquire(ask(name), null), "held");
      };
      script.push(rolledBack(handOn));
      const answer = await here.engine.forceRelease(name, null, "stuck");
      expect(answer?.outcome).toMatchObject({ ended: [], holdersLeft: 0 });
      expect((await there.engine.view(name)).lock.holders).toBe(1);
    });

    test("that has found nobody ends nobody when it is repeated", async () => {
      const name = newName();
      await there.engine.setLimit(name, 1, undefined, "");
      script.push(committed(() => there.engine.acquire(ask(name), null)));
      const answer = await here.engine.forceRelease(name, null, "stuck");
      expect(answer?.outcome).toMatchObject({ ended: [], holdersLeft: 0 });
      expect((await there.engine.view(name)).lock.holders).toBe(1);
    });

    test("whose holders another server has ended meanwhile does not list them", async () => {
      const name = newName();
      claimOf(await there.engine.acquire(ask(name), null), "held");
      script.push(rolledBack(() => there.engine.forceRelease(name, null, "there")));
      await expect(here.engine.forceRelease(name, null, "here")).rejects.toMatchObject(IN_DOUBT);
    });
  });

  describe("the versions of records", () => {
    test("are never the same, also where a record is deleted and made anew in one transaction", async () => {
      const { engine } = here;
      const names = Array.from({ length: 50 }, newName);
      await Promise.all(names.map((name) => engine.setLimit(name, 1, undefined, "")));
      await Promise.all(
        names.map(async (name) => {
          const updating = engine.updateLock({ ...ANY, name, status: "first" });
          const deleting = engine.deleteLock(name, undefined);
          // A deletion looks up the name first; on SQLite the lookup takes no longer than this.
          for (let turn = 0; turn < 10; turn++) await Promise.resolve();
          const updatingAgain = engine.updateLock({ ...ANY, name, status: "second" });
          const [first, , second] = await Promise.all([updating, deleting, updatingAgain]);
          const stale = first.outcome.kind === "record" ? first.outcome.setVersion : undefined;
          expect(second.outcome.kind).toBe("record");
          const set = { ...ANY, name, status: "stale", expectedVersion: stale };
          expect((await engine.updateLock(set)).outcome.kind).toBe("version_mismatch");
        }),
      );
    });

    test("go on when the lock's row was cleaned away after the deletion", async () => {
      const name = newName();
      for (const status of ["a", "b", "c"]) await there.engine.updateLock({ ...ANY, name, status });
      const before = await UPDATE.version(there, name);
      await there.engine.deleteLock(name, undefined);
      while ((await there.store.purgeLocks(-60_000_000, 1_000)) > 0);
      expect((await there.store.find([name])).size).toBe(0);
      // One server still knows the row; the other has to look it up.
      for (const { engine } of [there, here]) {
        await engine.updateLock({ ...ANY, name, status: "anew" });
        expect(await UPDATE.version(there, name)).toBeGreaterThan(before);
      }
    });
  });
});
