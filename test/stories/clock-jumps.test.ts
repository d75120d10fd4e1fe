// The clock of the database jumps and is corrected while engines use it: no lease ends early, no lease is granted twice,
// the waiter is granted in the end, and what nobody keeps alive ends in its time. A private MariaDB has a clock that is
// wrong; that needs libfaketime (the Debian package) and mariadbd. SQLite gets a wrong clock from the test.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { migrateUp } from "../../server/storage/migrate/migrate.ts";
import { openStore } from "../../server/storage/open.ts";
import { openSqliteStore } from "../../server/storage/sqlite/sqlite-store.ts";
import type { Store } from "../../server/storage/store.ts";
import * as asks from "../support/asks.ts";
import { freshDatabase } from "../support/database.ts";
import { chosenDatabases } from "../support/mysql-family/chosen-databases.ts";
import type { FoundServer } from "../support/mysql-family/found-server.ts";
import { ownBinaries } from "../support/mysql-family/own-binaries.ts";
import { startPrivateServer } from "../support/mysql-family/private-server.ts";
import { ask, claimOf, follower, type Replica, startReplica, startReplicas } from "../support/replicas.ts";
import { wrapped } from "../support/wrapped-store.ts";
import { hasWrongClocks, wrongClock } from "../support/wrong-clock.ts";

const SECOND_US = 1_000_000;
const TTL_MS = 2_000;
/** For sweeps and polls on a busy machine, beside the time to live. */
const SOON_MS = 6_000;
const POLICY = { graceUs: SECOND_US, attachedForUs: 1.25 * SECOND_US };

const binary = (await ownBinaries()).get("mariadb");
const { sqlite: onSqlite, flavours } = chosenDatabases(process.env.ROWLOCK_TEST_DATABASES);

describe.runIf(hasWrongClocks && flavours.has("mariadb"))("a clock of the database that is set wrong", () => {
  let wrongable: WrongableServer;

  beforeAll(async () => {
    if (!binary) throw new Error("mariadbd is not there.");
    wrongable = await startServer(binary);
  });
  afterAll(() => wrongable?.stop());

  test.each([1, -1, 60, -60, 3_600, -3_600])(
    "by %i s, and right again, costs no client a lease or place",
    async (stepS) => {
      const fresh = () => freshDatabase(wrongable.server);
      const replicas = await startReplicas({ fresh }, 2, POLICY);
      const [here, there] = replicas.all as [Replica, Replica];
      // Each engine has read the clock before the jump.
      await there.engine.ask(asks.release(claimOf(await there.engine.acquire(ask("before"), null), "held")));

      const startedMs = performance.now();
      claimOf(await here.engine.acquire(ask("short", { ttlUs: TTL_MS * 1_000 }), null), "held");
      const waiter = follower();
      claimOf(await there.engine.acquire(ask("short"), waiter), "waiting");
      const granted = waiter.toldClaim.then(({ claim }) => ({
        claim,
        afterMs: performance.now() - startedMs,
      }));
      const long = claimOf(await here.engine.acquire(ask("long"), null), "held");
      const longIsTaken = async ({ engine }: Replica) =>
        expect((await engine.acquire(ask("long", { mayWait: false }), null)).outcome.kind).toBe("refused");

      wrongable.setClock(stepS);
      await longIsTaken(there);
      claimOf(await there.engine.ask(asks.renew(long, undefined)), "held");
      // An idle engine also reads the clock now and then.
      while (![here, there].every(hasSeenJump)) await sleep(20);
      await longIsTaken(there);
      wrongable.setClock(0);
      await longIsTaken(here);

      const { claim, afterMs } = await granted;
      expect(claim.state).toBe("held");
      expect(afterMs).toBeGreaterThanOrEqual(TTL_MS);
      expect(await here.store.checkInvariants(5)).toEqual([]);
      expect([...here.failures, ...there.failures].filter(isNoClockJump)).toEqual([]);
      await replicas.stop();
    },
  );

  test.each([60, 3_600])(
    "by %i s ahead, and set back, keeps nothing for those who are gone",
    async (aheadS) => {
      const fresh = () => freshDatabase(wrongable.server);
      const replicas = await startReplicas({ fresh }, 2, POLICY);
      await leavesNothing(replicas.all, wrongable.setClock, aheadS);
      await replicas.stop();
    },
  );

  test("by an hour ahead, and set back while no server runs, keeps nothing for those who are gone", async () => {
    const fresh = await freshDatabase(wrongable.server);
    await migrateUp(fresh.url);
    wrongable.setClock(3_600);
    const before = await startReplica(await openStore(fresh.url), POLICY, null);
    claimOf(await before.engine.acquire(ask("left", { ttlUs: TTL_MS * 1_000 }), null), "held");
    await before.engine.stop();
    await before.store.close();
    wrongable.setClock(0);
    const after = await startReplica(await openStore(fresh.url), POLICY, null);
    const startedMs = performance.now();
    const waiter = follower();
    claimOf(await after.engine.acquire(ask("left"), waiter), "waiting");
    expect((await waiter.toldClaim).claim.state).toBe("held");
    expect(performance.now() - startedMs).toBeLessThan(TTL_MS + SOON_MS);
    await after.engine.stop();
    await after.store.close();
    await fresh.drop();
  });

  test("by an hour ahead does not shorten how long request ids are remembered", async () => {
    let purges = 0;
    let purged = () => {};
    const wrap = (store: Store) =>
      wrapped(store, {
        // Each round purges the locks after the claims.
        purgeLocks: async (idleUs, max) => {
          const count = await store.purgeLocks(idleUs, max);
          purges += 1;
          purged();
          return count;
        },
      });
    const replicas = await startReplicas({ fresh: () => freshDatabase(wrongable.server) }, 1, {}, wrap);
    const [{ engine }] = replicas.all as [Replica];
    const once = ask("once", { requestId: "asked once" });
    const lease = claimOf(await engine.acquire(once, null), "held");
    await engine.ask(asks.release(lease));
    wrongable.setClock(3_600);
    // A round that began before the jump may still be running.
    const enough = purges + 2;
    while (purges < enough) await new Promise<void>((resolve) => (purged = resolve));
    const again = claimOf(await engine.acquire(once, null), "ended");
    expect(again.ticketNumber).toBe(lease.ticketNumber);
    wrongable.setClock(0);
    await replicas.stop();
  });
});

describe.runIf(onSqlite)("a clock of the server on SQLite that is set wrong", () => {
  test.each([60, 3_600])(
    "by %i s ahead, and set back, keeps nothing for those who are gone",
    async (aheadS) => {
      let aheadUs = 0;
      const clock = () => Date.now() * 1_000 + aheadUs;
      const store = await openSqliteStore({ path: ":memory:", clock });
      const replica = await startReplica(store, POLICY, null);
      const setClock = (seconds: number) => {
        aheadUs = seconds * SECOND_US;
      };
      await leavesNothing([replica], setClock, aheadS);
      await replica.engine.stop();
      await store.close();
    },
  );
});

/** Clients come while the clock is ahead, and are gone; after it is set back, others must get what they held. */
async function leavesNothing(
  replicas: readonly Replica[],
  setClock: (seconds: number) => void,
  aheadS: number,
): Promise<void> {
  const [here, there] = [replicas[0], replicas.at(-1)] as [Replica, Replica];
  const short = { ttlUs: TTL_MS * 1_000 };
  const kept = claimOf(await here.engine.acquire(ask("kept", short), null), "held");
  await there.engine.ask(asks.release(claimOf(await there.engine.acquire(ask("before"), null), "held")));
  setClock(aheadS);
  while (!replicas.every(hasSeenJump)) await sleep(20);

  claimOf(await here.engine.ask(asks.renew(kept, undefined)), "held");
  claimOf(await here.engine.acquire(ask("one", short), null), "held");
  for (let holders = 0; holders < 3; holders++)
    claimOf(await here.engine.acquire(ask("many", { ...short, mode: "shared" }), null), "held");
  claimOf(await here.engine.acquire(ask("endless", { ttlUs: null }), null), "held");
  claimOf(await here.engine.acquire(ask("one", short), null), "waiting");
  const impatient = follower();
  const maxWaitUs = TTL_MS * 1_000;
  claimOf(await there.engine.acquire(ask("endless", { maxWaitUs }), impatient), "waiting");
  setClock(0);
  const setBackMs = performance.now();

  const next = await Promise.all(
    ["kept", "one", "many"].map(async (name) => {
      const waiter = follower();
      const answer = await there.engine.acquire(ask(name, { mode: "exclusive" }), waiter);
      const isHeld = answer.outcome.kind === "held";
      return isHeld ? claimOf(answer, "held") : (await waiter.toldClaim).claim;
    }),
  );
  expect(next.map(({ state }) => state)).toEqual(["held", "held", "held"]);
  expect((await impatient.toldClaim).claim.endReason).toBe("timed_out");
  expect(performance.now() - setBackMs).toBeLessThan(2 * TTL_MS + SOON_MS);
  const endless = await here.engine.acquire(ask("endless", { mayWait: false }), null);
  expect(endless.outcome.kind).toBe("refused");
  expect(await here.store.checkInvariants(5)).toEqual([]);
  const failures = replicas.flatMap((replica) => replica.failures);
  expect(failures.filter(isNoClockJump)).toEqual([]);
}

const hasSeenJump = ({ failures }: Replica) => !failures.every(isNoClockJump);
const isNoClockJump = (failure: unknown) => (failure as { loop: string }).loop !== "clock";

interface WrongableServer {
  readonly server: FoundServer;
  /** Makes the clock wrong by this many seconds. */
  setClock(seconds: number): void;
  stop(): Promise<void>;
}

async function startServer(binary: string): Promise<WrongableServer> {
  const directory = await mkdtemp(join(tmpdir(), "rowlock-clock-"));
  const { env, set: setClock } = wrongClock(join(directory, "clock"));
  const { server, stop } = await startPrivateServer(binary, "mariadb", { env });
  return {
    server,
    setClock,
    async stop() {
      await stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
