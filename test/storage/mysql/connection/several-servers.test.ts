// A database with several addresses: to which server the connections lead, and when they move. On a real source and its
// replica, private to each group of tests, which are demoted, promoted, killed, frozen and cut off.

import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { MysqlAddress } from "../../../../server/storage/database-url.ts";
import { parseDatabaseUrl } from "../../../../server/storage/database-url.ts";
import { migrateUp, migrationStatus } from "../../../../server/storage/migrate/migrate.ts";
import { openMysqlStore } from "../../../../server/storage/mysql/mysql-store.ts";
import { openReadyStore } from "../../../../server/storage/open-ready.ts";
import type { ServersEvent, Store, StoreError } from "../../../../server/storage/store.ts";
import { freshDatabase, reportLeftOut } from "../../../support/database.ts";
import { startLateProxy } from "../../../support/late-proxy.ts";
import { ownBinaries } from "../../../support/mysql-family/own-binaries.ts";
import { freePort } from "../../../support/mysql-family/private-server.ts";
import {
  type PairNode,
  type ReplicatedPair,
  startReplicatedPair,
} from "../../../support/mysql-family/replicated-pair.ts";
import { openPlainConnection, refusal, START, UNOBSERVED, until } from "../../../support/mysql-stage.ts";
import { load, lockId, planned } from "../../../support/store-fixture.ts";

/** Two servers start in some seconds; this allows for a machine with other work. */
const START_MS_MAX = 200_000;
const TEST_MS_MAX = 100_000;

const binary = (await ownBinaries()).get("mariadb");
reportLeftOut(binary ? [binary] : []);

interface Opened {
  readonly store: Store;
  readonly events: ServersEvent[];
  /** The events of this kind so far. */
  of<Kind extends ServersEvent["kind"]>(kind: Kind): Extract<ServersEvent, { kind: Kind }>[];
}

describe.runIf(binary)("of two servers", () => {
  let pair: ReplicatedPair;
  let database: string;
  const cleanups: (() => unknown)[] = [];

  /** A fresh pair for each group, because its tests change who is the source. */
  const onFreshPair = () => {
    beforeAll(async () => {
      pair = await startReplicatedPair(binary as string, "mariadb");
      const { url } = await freshDatabase(pair.source.server);
      database = new URL(url).pathname.slice(1);
      await migrateUp(url);
      await pair.follow(pair.replica, pair.source);
    }, START_MS_MAX);
    afterAll(async () => await pair?.stop(), START_MS_MAX);
  };
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  });

  const placeOf = ({ url }: PairNode) => new URL(url).host;
  /** The URL of the database with these addresses, in this order. */
  const urlOf = (...places: string[]) =>
    `${pair.source.url.replace(/@.*/, "@")}${places.join(",")}/${database}`;
  const addressOf = (...places: string[]) => parseDatabaseUrl(urlOf(...places)) as MysqlAddress;
  async function open(...places: string[]): Promise<Opened> {
    const events: ServersEvent[] = [];
    const observer = { ...UNOBSERVED, servers: (event: ServersEvent) => void events.push(event) };
    const store = await openMysqlStore({ ...addressOf(...places), poolSize: 4, observer });
    cleanups.push(() => store.close());
    return { store, events, of: (kind) => events.filter((event) => event.kind === kind) as never };
  }
  const usedBy = (store: Store) => store.servers().find(({ isChosen }) => isChosen)?.address;
  /** Repeats `work` until it works. */
  async function inTheEnd<Value>(work: () => Promise<Value>): Promise<Value> {
    for (;;) {
      try {
        return await work();
      } catch (error) {
        expect((error as StoreError).name).toBe("StoreError");
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  }
  let names = 0;
  /** Writes through the store, and returns the nodes that have the row: replication is not awaited. */
  async function writtenAt(store: Store): Promise<PairNode[]> {
    names += 1;
    const name = `row-${names}`;
    await inTheEnd(() => lockId(store, name));
    const found: PairNode[] = [];
    for (const node of [pair.source, pair.replica]) {
      const rows = await node
        .run(`SELECT 1 FROM ${database}.rowlock_lock WHERE name = '${name}'`)
        .catch(() => []);
      if (rows.length > 0) found.push(node);
    }
    return found;
  }

  describe("while the source serves", () => {
    onFreshPair();

    test("the source is used wherever it stands, and the replica is known", async () => {
      const [source, replica] = [placeOf(pair.source), placeOf(pair.replica)];
      for (const places of [
        [source, replica],
        [replica, source],
      ]) {
        const { store, of } = await open(...places);
        expect(await writtenAt(store)).toContain(pair.source);
        expect(of("moved")).toMatchObject([{ from: null, to: source }]);
        expect(of("fault")).toEqual([]);
        expect(store.servers().map(({ address }) => address)).toEqual(places);
        expect(store.servers().find(({ address }) => address === replica)).toMatchObject({
          isChosen: false,
          isUsable: false,
          why: expect.stringContaining("read_only is on"),
          product: expect.stringContaining("MariaDB"),
        });
        expect(store.servers().find(({ address }) => address === source)).toMatchObject({
          isChosen: true,
          isUsable: true,
          why: null,
        });
      }
    });

    test("the schema is read and migrated at the source", async () => {
      const url = urlOf(placeOf(pair.replica), placeOf(pair.source));
      expect((await migrationStatus(url)).pending).toEqual([]);
      expect(await migrateUp(url)).toEqual([]);
    });

    test("an address that is wrong for ever, and a server with another password, are reported once", async () => {
      const nobody = `127.0.0.1:${await freePort()}`;
      const { username, password } = new URL(pair.source.url);
      const set = (to: string) =>
        pair.replica.run("SET sql_log_bin = 0", `ALTER USER '${username}'@'%' IDENTIFIED BY '${to}'`);
      await set("another");
      try {
        const { store, of } = await open(nobody, placeOf(pair.replica), placeOf(pair.source), "no.invalid");
        await until(() => store.servers().every(({ isUsable, why }) => isUsable || why !== null));
        expect(usedBy(store)).toBe(placeOf(pair.source));
        expect(of("fault").map(({ address, reason }) => [address, reason])).toEqual([
          [nobody, "unreachable"],
          [placeOf(pair.replica), "access_denied"],
          ["no.invalid:3306", "unreachable"],
        ]);
        await writtenAt(store);
        expect(of("fault").length).toBe(3);
      } finally {
        const again = Object.assign(new URL(pair.replica.url), { password: "another" }).href;
        const plain = await openPlainConnection(again);
        await plain.run(`SET sql_log_bin = 0; ALTER USER '${username}'@'%' IDENTIFIED BY '${password}'`);
        plain.close();
      }
    });

    test("a server starts although an address is wrong for ever, and logs which server it uses", async () => {
      const nobody = `127.0.0.1:${await freePort()}`;
      const lines: string[] = [];
      const log = {
        debug() {},
        info: (_: object, message: string) => void lines.push(message),
        warn: (_: object, message: string) => void lines.push(message),
      };
      const databaseUrl = urlOf(nobody, placeOf(pair.source));
      const store = await openReadyStore({ ...START, databaseUrl }, UNOBSERVED, log);
      await store.close();
      expect(lines.join("\n")).toContain(`the database server ${placeOf(pair.source)} is used.`);
      expect(lines.join("\n")).toMatch(
        new RegExp(`${nobody} could not be used if it were needed: .*ECONNREFUSED`),
      );
    });

    test("if none can be used, the error says why for each; the reason is theirs if it is the same", async () => {
      const nobody = `127.0.0.1:${await freePort()}`;
      const mixed = await refusal(open(nobody, placeOf(pair.replica)));
      expect(mixed).toMatchObject({ kind: "unavailable", reason: "no_usable_server" });
      expect(mixed.message).toMatch(/None of the 2 .*ECONNREFUSED.*read_only is on/);
      expect(mixed.message).not.toContain(new URL(pair.source.url).password);
      const none = await refusal(open(nobody, `127.0.0.1:${await freePort()}`));
      expect(none).toMatchObject({ reason: "unreachable" });
    });

    test("a source that is demoted for a moment is waited for", async () => {
      const { store, of } = await open(placeOf(pair.source), placeOf(pair.replica));
      await lockId(store, "before");
      await pair.source.run("SET GLOBAL read_only = ON");
      await until(() => store.servers()[0]?.isUsable === false);
      // The user of this store could write all the same.
      expect(await refusal(store.find(["before"]))).toMatchObject({ reason: "read_only" });
      await pair.source.run("SET GLOBAL read_only = OFF");
      await writtenAt(store);
      expect(of("moved").length).toBe(1);
    });
  });

  describe("after a switch-over", () => {
    onFreshPair();

    test(
      "all connections move, transactions that are under way fail, and rows tell of the other server",
      async () => {
        const { store, of } = await open(placeOf(pair.source), placeOf(pair.replica));
        const id = await lockId(store, "held");
        expect((await load(store, { locks: planned(id) })).isSuccessor).toBe(false);
        await pair.source.run("SET GLOBAL read_only = ON");
        // Otherwise the replica may lack even the identity of the server that wrote the rows.
        await pair.caughtUp();
        await pair.promote(pair.replica);
        // This user has the privilege to write at the source all the same, until a look has found it read-only.
        await until(() => usedBy(store) === placeOf(pair.replica));
        expect(await inTheEnd(() => load(store, { locks: planned(id) }))).toMatchObject({
          isSuccessor: true,
        });
        expect(of("moved")[1]).toMatchObject({
          from: placeOf(pair.source),
          to: placeOf(pair.replica),
          why: expect.stringContaining("read_only is on"),
        });
        expect(await writtenAt(store)).toEqual([pair.replica]);
      },
      TEST_MS_MAX,
    );

    test(
      "the server that was left is never used again, however writable, once the epoch has risen",
      async () => {
        const { store, of } = await open(placeOf(pair.source), placeOf(pair.replica));
        await store.failOver({ seenEpoch: 0n, epochMin: 1n, pauseUsMin: 0, pauseUsMax: 0 });
        await until(() => store.servers()[0]?.why?.includes("read_only") === true);
        await pair.source.run("SET GLOBAL read_only = OFF");
        await until(() => of("separate").length > 0);
        expect(of("separate")).toMatchObject([
          { chosen: placeOf(pair.replica), others: [placeOf(pair.source)] },
        ]);
        expect(store.servers()[0]).toMatchObject({
          isUsable: true,
          isChosen: false,
          why: expect.stringContaining("from before a fail-over"),
        });
        // Also a store that has just been opened finds the later rows, by the epoch.
        const other = await open(placeOf(pair.source), placeOf(pair.replica));
        expect(usedBy(other.store)).toBe(placeOf(pair.replica));
        await pair.replica.freeze();
        try {
          const left = await refusal(lockId(store, "never"));
          expect(left).toMatchObject({ kind: "unavailable" });
          await until(() => store.servers()[1]?.isUsable === false);
          expect(await refusal(lockId(store, "never"))).toMatchObject({ reason: "no_usable_server" });
        } finally {
          pair.replica.thaw();
        }
        expect(await writtenAt(store)).toEqual([pair.replica]);
      },
      TEST_MS_MAX,
    );

    test(
      "a store that still works at the server that was left moves when another store has decided",
      async () => {
        // As it was before anybody had noticed: the same epoch at both.
        for (const node of [pair.source, pair.replica])
          await node.run(`UPDATE ${database}.rowlock_meta SET epoch = 7`);
        const behind = await open(placeOf(pair.source), "127.0.0.1:1");
        const { store, of } = await open(placeOf(pair.source), placeOf(pair.replica));
        expect([usedBy(behind.store), usedBy(store)]).toEqual(
          Array.from({ length: 2 }, () => placeOf(pair.source)),
        );
        const promoted = await open(placeOf(pair.replica), "127.0.0.1:1");
        await promoted.store.failOver({ seenEpoch: 7n, epochMin: 8n, pauseUsMin: 0, pauseUsMax: 0 });
        await until(() => usedBy(store) === placeOf(pair.replica));
        expect(of("moved")[1]).toMatchObject({ why: expect.stringContaining("left behind") });
        expect(await writtenAt(store)).toEqual([pair.replica]);
      },
      TEST_MS_MAX,
    );
  });

  describe("after the source was", () => {
    describe("killed", () => {
      onFreshPair();

      test(
        "the promoted replica is used, and not the old source when it comes back writable",
        async () => {
          const { store, of } = await open(placeOf(pair.source), placeOf(pair.replica));
          const id = await lockId(store, "held");
          // The replica need not have it yet: nobody waits for it to acknowledge a commit.
          await pair.caughtUp();
          await pair.source.kill();
          expect(await refusal(load(store, { locks: planned(id) }))).toMatchObject({ kind: "unavailable" });
          await pair.promote(pair.replica);
          expect(await inTheEnd(() => load(store, { locks: planned(id) }))).toMatchObject({
            isSuccessor: true,
          });
          await pair.source.startAgain();
          await until(() => of("separate").length > 0);
          expect(usedBy(store)).toBe(placeOf(pair.replica));
          expect(of("moved").length).toBe(2);
        },
        TEST_MS_MAX,
      );
    });

    describe("frozen", () => {
      onFreshPair();

      test(
        "the promoted replica is used, and what hangs at the old source fails",
        async () => {
          const { store, of } = await open(placeOf(pair.source), placeOf(pair.replica));
          const id = await lockId(store, "held");
          await Promise.all([1, 2, 3].map(() => store.find(["held"])));
          await pair.caughtUp();
          await pair.source.freeze();
          try {
            const hanging = Promise.allSettled([1, 2, 3].map(() => load(store, { locks: planned(id) })));
            await pair.promote(pair.replica);
            await hanging;
            expect(await inTheEnd(() => load(store, { locks: planned(id) }))).toMatchObject({
              isSuccessor: true,
            });
            expect(of("moved")[1]).toMatchObject({ to: placeOf(pair.replica) });
          } finally {
            pair.source.thaw();
          }
          expect(await writtenAt(store)).toEqual([pair.replica]);
          expect(of("moved").length).toBe(2);
        },
        TEST_MS_MAX,
      );
    });

    describe("cut off", () => {
      onFreshPair();

      test(
        "the promoted replica is used; while there is none, the source is used again when it is back",
        async () => {
          const proxy = await startLateProxy("127.0.0.1", Number(new URL(pair.source.url).port));
          cleanups.push(() => proxy.close());
          const { store, of } = await open(`127.0.0.1:${proxy.port}`, placeOf(pair.replica));
          await lockId(store, "held");
          proxy.freeze();
          await until(() => store.servers()[0]?.isUsable === false);
          expect(await refusal(store.find(["held"]))).toMatchObject({ kind: "unavailable" });
          proxy.thaw();
          expect(await writtenAt(store)).toContain(pair.source);
          expect(of("moved").length).toBe(1);
          proxy.freeze();
          await pair.promote(pair.replica);
          expect(await writtenAt(store)).toEqual([pair.replica]);
          expect(of("moved")[1]).toMatchObject({ to: placeOf(pair.replica) });
        },
        TEST_MS_MAX,
      );
    });
  });
});
