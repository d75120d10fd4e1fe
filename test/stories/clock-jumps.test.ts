// The clock of a private MariaDB jumps and is corrected while engines use it: no lease ends early, no lease is
// granted twice, and the waiter is granted in the end. Needs libfaketime (the Debian package) and mariadbd.

import { existsSync, globSync, renameSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Store } from "../../server/storage/store.ts";
import * as asks from "../support/asks.ts";
import { freshDatabase } from "../support/database.ts";
import { chosenDatabases } from "../support/mysql-family/chosen-databases.ts";
import type { FoundServer } from "../support/mysql-family/found-server.ts";
import { ownBinaries } from "../support/mysql-family/own-binaries.ts";
import { startPrivateServer } from "../support/mysql-family/private-server.ts";
import { openStage } from "../support/mysql-stage.ts";
import { ask, claimOf, follower, type Replica, startReplicas } from "../support/replicas.ts";
import { lockId, NO_CHANGES, NO_PLAN, planned, raised } from "../support/store-fixture.ts";

const SECOND_US = 1_000_000;
const TTL_MS = 2_000;

const [library] = globSync("/usr/lib/*/faketime/libfaketimeMT.so.1").filter((path) => existsSync(path));
const binary = (await ownBinaries()).get("mariadb");
const { flavours } = chosenDatabases(process.env.ROWLOCK_TEST_DATABASES);

describe.runIf(library && flavours.has("mariadb"))("a clock of the database that is set wrong", () => {
  let wrongable: WrongableServer;

  beforeAll(async () => {
    if (!binary) throw new Error("mariadbd is not there.");
    wrongable = await startServer(binary, library as string);
  });
  afterAll(() => wrongable?.stop());

  test.each([1, -1, 60, -60, 3_600, -3_600])(
    "by %i s, and right again, costs no client a lease or place",
    async (stepS) => {
      const fresh = () => freshDatabase(wrongable.server);
      const policy = { graceUs: SECOND_US, attachedForUs: 1.25 * SECOND_US };
      const replicas = await startReplicas({ fresh }, 2, policy);
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

  test.each([-0.05, 0.05])(
    "by %d s costs optimistic decisions one failed attempt, and no more",
    async (stepS) => {
      const stage = await openStage(wrongable.server);
      const trips: string[] = [];
      const statement = (name: string) => void trips.push(name);
      const store = await stage.store({ observer: { statement, transaction() {}, connection() {} } });
      const plan = { ...NO_PLAN, locks: planned(await lockId(store, "known")) };
      const look = () => store.transact(plan, (loaded) => ({ ...NO_CHANGES, locks: raised(loaded) }));
      while (trips.at(-1) !== "decide_commit") await look();
      wrongable.setClock(stepS);
      let inVain = 0;
      trips.length = 0;
      while (!trips.slice(-10).every((trip) => trip === "decide_commit") || trips.length < 10) {
        await look().catch(() => {
          inVain += 1;
        });
      }
      // One failed try, and perhaps a second one if the machine delays a decision.
      expect(inVain).toBeLessThanOrEqual(2);
      wrongable.setClock(0);
      await stage.close();
    },
  );
});

function wrapped(store: Store, own: Partial<Store>): Store {
  return new Proxy(store, {
    get(target, name) {
      const value = own[name as keyof Store] ?? Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

const hasSeenJump = ({ failures }: Replica) => !failures.every(isNoClockJump);
const isNoClockJump = (failure: unknown) => (failure as { loop: string }).loop !== "clock";

interface WrongableServer {
  readonly server: FoundServer;
  /** Makes the clock wrong by this many seconds. */
  setClock(seconds: number): void;
  stop(): Promise<void>;
}

async function startServer(binary: string, preload: string): Promise<WrongableServer> {
  const directory = await mkdtemp(join(tmpdir(), "rowlock-clock-"));
  const clockFile = join(directory, "clock");
  const setClock = (seconds: number) => {
    writeFileSync(`${clockFile}.new`, `${seconds < 0 ? "" : "+"}${seconds}`);
    renameSync(`${clockFile}.new`, clockFile);
  };
  setClock(0);
  const env = {
    LD_PRELOAD: preload,
    FAKETIME_TIMESTAMP_FILE: clockFile,
    FAKETIME_NO_CACHE: "1",
    FAKETIME_DONT_FAKE_MONOTONIC: "1",
  };
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
