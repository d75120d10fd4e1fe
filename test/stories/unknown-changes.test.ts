// Transactions whose outcome the store does not know, committed or not. Changes of limits and records, and forced
// releases, while another server changes the same thing: no change is made twice, none overwrites a later one, and none
// is taken for another caller's. Each test names its fault; faults/ injects the same faults at random.

import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import * as asks from "../support/asks.ts";
import { testDatabases } from "../support/database.ts";
import { ask, claimOf, follower, type Replica, type Replicas, startReplicas } from "../support/replicas.ts";
import { committed, rolledBack, TransactionScript } from "./transaction-script.ts";

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
  /** What the history names as the target of the change. */
  readonly target: (name: string) => string;
}

const recordOf = async ({ engine }: Replica, name: string) => (await engine.view(name)).lock.record;

const SET_LIMIT: Verb = {
  verb: "a limit",
  prepare: async ({ engine }, name) => void (await engine.ask(asks.setLimit(name, 1, undefined, ""))),
  version: async ({ engine }, name) => (await engine.view(name)).lock.limitVersion,
  change: async ({ engine }, name, to, expected) =>
    (await engine.ask(asks.setLimit(name, to, expected, "same"))).outcome,
  value: async ({ engine }, name) => (await engine.view(name)).lock.limit,
  target: (name) => name,
};
const SET_RULE: Verb = {
  verb: "a limit for a pattern",
  prepare: async ({ engine }, name) =>
    void (await engine.setLimitRule(`${name}/`, { limit: 1 }, undefined, "")),
  version: async ({ engine }, name) => (await engine.limit(`${name}/x`)).version,
  change: ({ engine }, name, to, expected) =>
    engine.setLimitRule(`${name}/`, { limit: to }, expected, "same"),
  value: async ({ engine }, name) => (await engine.limit(`${name}/x`)).limit,
  target: (name) => `${name}/*`,
};
const UPDATE: Verb = {
  verb: "a record",
  prepare: async ({ engine }, name) => void (await engine.ask(asks.updateRecord({ name, attemptsLeft: 1 }))),
  version: async (replica, name) => (await recordOf(replica, name))?.version ?? 0n,
  change: async ({ engine }, name, to, expectedVersion) =>
    (await engine.ask(asks.updateRecord({ name, attemptsLeft: to, expectedVersion }))).outcome,
  value: async (replica, name) => (await recordOf(replica, name))?.attemptsLeft ?? null,
  target: (name) => name,
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

  /** Changes of a target that the history has. */
  const noted = (target: string) => there.store.changes([target], null, 100);

  describe.each(VERBS)("of $verb", ({ prepare, version, change, value, target }) => {
    // Each version has one maker, whether that one heard of it or not.
    afterEach(async () => {
      await Promise.all(answersThere);
      const name = `changed ${made}`;
      expect(BigInt((await noted(target(name))).length)).toBe(await version(there, name));
    });

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

    test("only one of two compare-and-sets with the same version succeeds", async () => {
      const name = newName();
      await prepare(there, name);
      const before = await version(there, name);
      script.push(rolledBack(() => changeThere(name, 7, before)));
      await expect(change(here, name, 7, before)).rejects.toMatchObject(IN_DOUBT);
      expect((await answersThere.at(-1))?.kind).not.toBe("version_mismatch");
      expect(await version(there, name)).toBe(before + 1n);
    });

    test("a later change by another server stays", async () => {
      const name = newName();
      await prepare(there, name);
      script.push(committed(() => changeThere(name, 0)));
      await expect(change(here, name, 3)).rejects.toMatchObject(IN_DOUBT);
      expect(await value(there, name)).toBe(0);
    });

    test("the change is made once, however often it was committed without an answer", async () => {
      const name = newName();
      await prepare(there, name);
      const before = await version(there, name);
      script.push(rolledBack(), committed(), committed(), rolledBack());
      const outcome = await change(here, name, 3, before);
      expect(outcome?.kind).not.toBe("version_mismatch");
      expect(await value(there, name)).toBe(3);
      expect(await version(there, name)).toBe(before + 1n);
    });

    test("the first change of a name is made once", async () => {
      const name = newName();
      script.push(rolledBack(), committed());
      await change(here, name, 3, 0n);
      expect(await value(there, name)).toBe(3);
      const [first, second] = [await version(there, name), await change(there, name, 3, 0n)];
      expect(second).toEqual({ kind: "version_mismatch", version: first });
    });

    test("the caller does not hear that nothing was done, if the database never answers", async () => {
      const name = newName();
      script.push(...Array.from({ length: 7 }, () => committed()));
      await expect(change(here, name, 3)).rejects.toMatchObject(IN_DOUBT);
      expect(await value(there, name)).toBe(3);
    });
  });

  test("a refused change is refused again, whatever another server has changed", async () => {
    const name = newName();
    await here.engine.ask(asks.setLimit(name, 1, undefined, ""));
    script.push(rolledBack(() => there.engine.ask(asks.setLimit(name, 2, undefined, ""))));
    expect((await here.engine.ask(asks.setLimit(name, 3, 7n, ""))).outcome).toEqual({
      kind: "version_mismatch",
      version: 2n,
    });
  });

  test("only one of two deletions reports that it deleted the record", async () => {
    const name = newName();
    await UPDATE.prepare(there, name);
    const there_: unknown[] = [];
    script.push(
      rolledBack(async () =>
        there_.push((await there.engine.ask(asks.deleteRecord(name, undefined))).outcome),
      ),
    );
    await expect(here.engine.ask(asks.deleteRecord(name, undefined))).rejects.toMatchObject(IN_DOUBT);
    expect(there_).toMatchObject([{ kind: "deleted", byThisCall: true }]);
  });

  test("a record that was created again after a deletion stays", async () => {
    const name = newName();
    await UPDATE.prepare(there, name);
    script.push(committed(() => there.engine.ask(asks.updateRecord({ name, status: "anew" }))));
    await expect(here.engine.ask(asks.deleteRecord(name, undefined))).rejects.toMatchObject(IN_DOUBT);
    expect(await recordOf(there, name)).toMatchObject({ status: "anew" });
  });

  test("a commit without an answer is logged once", async () => {
    const name = newName();
    const lease = claimOf(await here.engine.acquire(ask(name), null), "held");
    const seen = here.events.length;
    script.push(rolledBack(), committed(), committed());
    await Promise.all([
      here.engine.ask(asks.setLimit(name, 3, undefined, "logged")),
      here.engine.ask(asks.updateRecord({ name, status: "logged" })),
      here.engine.ask(asks.release(lease)),
    ]);
    script.push(committed());
    const held = claimOf(await there.engine.acquire(ask(name), null), "held");
    await here.engine.ask(asks.forceRelease(name, null, "logged"));
    const kinds = here.events.slice(seen).map(({ kind }) => kind);
    expect(kinds.toSorted()).toEqual(["ended", "ended", "limit_set", "record_changed"]);
    expect(here.events.at(-1)).toMatchObject({ claim: { ticketNumber: held.ticketNumber } });
  });

  describe("a forced release of all holders", () => {
    test("that was committed lists the holders that it ended, and leaves the waiters that it granted to", async () => {
      const name = newName();
      const ended = claimOf(await there.engine.acquire(ask(name), null), "held");
      const next = follower();
      claimOf(await there.engine.acquire(ask(name), next), "waiting");
      script.push(committed(), committed());
      const answer = await here.engine.ask(asks.forceRelease(name, null, "stuck"));
      expect(answer?.outcome).toMatchObject({
        ended: [{ ticketNumber: ended.ticketNumber }],
        holdersLeft: 0,
      });
      const notes = await noted(name);
      expect(notes).toMatchObject([{ kind: "forced_release", reason: "stuck" }]);
      expect(JSON.parse(notes[0]?.from ?? "")).toMatchObject({ ticket_number: `${ended.ticketNumber}` });
      const { claim } = await next.toldClaim;
      const { lock } = await there.engine.view(name);
      expect({ state: claim.state, holders: lock.holders }).toEqual({ state: "held", holders: 1 });
    });

    test("that was rolled back ends only the holders that it meant, and no later ones", async () => {
      const name = newName();
      const first = claimOf(await there.engine.acquire(ask(name), null), "held");
      const handOn = async () => {
        await there.engine.ask(asks.release(first));
        claimOf(await there.engine.acquire(ask(name), null), "held");
      };
      script.push(rolledBack(handOn));
      const answer = await here.engine.ask(asks.forceRelease(name, null, "stuck"));
      expect(answer?.outcome).toMatchObject({ ended: [], holdersLeft: 0 });
      expect((await there.engine.view(name)).lock.holders).toBe(1);
      expect(await noted(name)).toEqual([]);
    });

    test("does not list holders that another server has ended meanwhile", async () => {
      const name = newName();
      claimOf(await there.engine.acquire(ask(name), null), "held");
      script.push(rolledBack(() => there.engine.ask(asks.forceRelease(name, null, "there"))));
      await expect(here.engine.ask(asks.forceRelease(name, null, "here"))).rejects.toMatchObject(IN_DOUBT);
    });
  });

  describe("the versions of records", () => {
    test("are never the same, even if a record is deleted and created in one transaction", async () => {
      const { engine } = here;
      const names = Array.from({ length: 50 }, newName);
      await Promise.all(names.map((name) => engine.ask(asks.setLimit(name, 1, undefined, ""))));
      await Promise.all(
        names.map(async (name) => {
          const updating = engine.ask(asks.updateRecord({ name, status: "first" }));
          const deleting = engine.ask(asks.deleteRecord(name, undefined));
          // A deletion looks up the name first; on SQLite the lookup takes no longer than this.
          for (let turn = 0; turn < 10; turn++) await Promise.resolve();
          const updatingAgain = engine.ask(asks.updateRecord({ name, status: "second" }));
          const [first, , second] = await Promise.all([updating, deleting, updatingAgain]);
          const stale = first.outcome.kind === "record" ? first.outcome.setVersion : undefined;
          expect(second.outcome.kind).toBe("record");
          const set = { name, status: "stale", expectedVersion: stale };
          expect((await engine.ask(asks.updateRecord(set))).outcome.kind).toBe("version_mismatch");
        }),
      );
    });

    test("go on after the lock's row was deleted", async () => {
      const name = newName();
      for (const status of ["a", "b", "c"]) await there.engine.ask(asks.updateRecord({ name, status }));
      const before = await UPDATE.version(there, name);
      await there.engine.ask(asks.deleteRecord(name, undefined));
      while ((await there.store.purgeLocks(-60_000_000, 1_000)) > 0);
      expect((await there.store.find([name])).size).toBe(0);
      // One server still knows the row; the other has to look it up.
      for (const { engine } of [there, here]) {
        await engine.ask(asks.updateRecord({ name, status: "anew" }));
        expect(await UPDATE.version(there, name)).toBeGreaterThan(before);
      }
    });
  });

  // One test for each thing that a repetition could do twice, or wrongly claim as its own.
  describe("of other calls", () => {
    test("of two releases in one committed transaction: one ended the lease", async () => {
      const lease = claimOf(await here.engine.acquire(ask("released twice"), null), "held");
      script.push(committed());
      const answers = await Promise.all([
        here.engine.ask(asks.release(lease)),
        here.engine.ask(asks.release(lease)),
      ]);
      expect(answers.map(({ outcome }) => outcome)).toEqual([
        { kind: "released", byThisCall: true },
        { kind: "released", byThisCall: false },
      ]);
    });

    test("of a release that was rolled back: it does not claim another server's release as its own", async () => {
      const lease = claimOf(await here.engine.acquire(ask("released elsewhere"), null), "held");
      const elsewhere: unknown[] = [];
      script.push(
        rolledBack(async () => elsewhere.push((await there.engine.ask(asks.release(lease))).outcome)),
      );
      expect((await here.engine.ask(asks.release(lease))).outcome).toEqual({
        kind: "released",
        byThisCall: false,
      });
      expect(elsewhere).toEqual([{ kind: "released", byThisCall: true }]);
    });

    test("of two compare-and-sets in one committed transaction: one has set the limit", async () => {
      script.push(committed());
      const answers = await Promise.all([
        here.engine.ask(asks.setLimit("set twice", 3, 0n, "test")),
        here.engine.ask(asks.setLimit("set twice", 3, 0n, "test")),
      ]);
      expect(answers.map(({ outcome }) => outcome.kind)).toEqual(["limit", "version_mismatch"]);
    });

    test("of a grant: one attempt is used up", async () => {
      await here.engine.ask(asks.updateRecord({ name: "attempted", attemptsLeft: 3 }));
      script.push(committed(), committed());
      claimOf(await here.engine.acquire(ask("attempted"), null), "held");
      expect((await here.engine.view("attempted")).lock.record?.attemptsLeft).toBe(2);
    });
  });
});
