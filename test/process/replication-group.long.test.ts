// A member that has left its replication group still accepts writes and still has the group's name. Servers must not
// take it for the group, neither when it comes back alone at a known address nor when it drops out while servers use
// it.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { migrateUp } from "../../server/storage/migrate/migrate.ts";
import { openStore } from "../../server/storage/open.ts";
import type { Store } from "../../server/storage/store.ts";
import { freshDatabase, reportLeftOut } from "../support/database.ts";
import { ownBinaries } from "../support/mysql-family/own-binaries.ts";
import type { GroupNode, ReplicationGroup } from "../support/mysql-family/replication-group.ts";
import { startReplicationGroup } from "../support/mysql-family/replication-group.ts";
import { refusal, until } from "../support/mysql-stage.ts";
import { lockId } from "../support/store-fixture.ts";
import { serveArgs } from "./server-process.ts";
import { processStage, readyPage, refused } from "./stage.ts";

/** It takes 15 s; this allows for a machine with other work. */
const START_MS_MAX = 150_000;
/** The remaining members take 20 s to have a primary again, and two servers start. */
const TEST_MS_MAX = 90_000;
const NOT_READY = { kind: "unavailable", reason: "cluster_not_ready" };

const binary = (await ownBinaries()).get("mysql");
reportLeftOut(binary ? [binary] : []);

describe.runIf(binary)("a replication group of MySQL", () => {
  const stage = processStage();
  const stores: Store[] = [];
  let group: ReplicationGroup;
  let database: string;

  beforeAll(async () => {
    group = await startReplicationGroup(binary as string);
    const [primary] = group.nodes as [GroupNode];
    const { url } = await freshDatabase(primary);
    database = new URL(url).pathname;
    await migrateUp(url);
  }, START_MS_MAX);
  afterAll(async () => {
    for (const store of stores) await store.close();
    await group?.stop();
  }, START_MS_MAX);

  const urlOf = (node: GroupNode) => Object.assign(new URL(node.url), { pathname: database }).href;
  async function open(node: GroupNode, user?: string): Promise<Store> {
    const url = new URL(urlOf(node));
    if (user) url.username = url.password = user;
    const store = await openStore(url.href);
    stores.push(store);
    return store;
  }
  /** The node among these that the group has chosen for writes, as soon as it has. */
  async function primaryOf(nodes: readonly GroupNode[]): Promise<[GroupNode, Store]> {
    for (let turn = 0; ; turn++) {
      const node = nodes[turn % nodes.length] as GroupNode;
      const store = await open(node).catch(() => null);
      if (store) return [node, store];
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  test("is served to a user who may see its members; another user learns which privilege is missing", async () => {
    const [primary] = group.nodes as [GroupNode];
    await primary.run(
      "CREATE USER 'small'@'%' IDENTIFIED BY 'small'",
      `GRANT SELECT, INSERT, UPDATE, DELETE ON ${database.slice(1)}.* TO 'small'@'%'`,
    );
    const denied = await refusal(open(primary, "small"));
    expect(denied).toMatchObject({ kind: "unavailable", reason: "access_denied" });
    expect(denied.message).toContain("GRANT SELECT ON performance_schema.replication_group_members");
    await primary.run("GRANT SELECT ON performance_schema.replication_group_members TO 'small'@'%'");
    const store = await open(primary, "small");
    await store.register({ id: 1n, address: "here", version: "1", secret: "" }, 1_000_000, 0n);
    await lockId(store, "of the group");
  });

  test(
    "goes on without its killed primary, which is refused when it comes back alone at its address",
    async () => {
      const [lost, ...others] = group.nodes as [GroupNode, ...GroupNode[]];
      const server = await stage.serving(urlOf(lost));
      const lease = await server.client.lease({ name: "a" });
      await lost.kill();
      await lost.startAlone();

      const said = await refused(() => server.client.call("acquire", { name: "b" }));
      expect(said.message).toContain("(cluster_not_ready)");
      // The health check asks by itself, and may have found nobody there before.
      await until(async () =>
        (await readyPage(server, 503)).includes("cannot be written: cluster_not_ready"),
      );
      expect(await refusal(open(lost))).toMatchObject(NOT_READY);
      const late = stage.rowlock(serveArgs(urlOf(lost)));
      await late.logged(/its state there is OFFLINE.*START GROUP_REPLICATION.*Trying again/);
      const doctor = await stage.rowlock(["doctor", "--database-url", urlOf(lost)]).exited;
      expect(doctor).toMatchObject({
        code: 1,
        out: expect.stringMatching(/^error {4}cluster: .*START GROUP/m),
      });
      await lost.run("CREATE DATABASE another");
      const another = Object.assign(new URL(lost.url), { pathname: "/another" }).href;
      await expect(migrateUp(another)).rejects.toMatchObject(NOT_READY);

      const [, store] = await primaryOf(others);
      expect((await store.view("a", 1))?.holders).toMatchObject([{ fencingToken: lease.fencingToken }]);
    },
    TEST_MS_MAX,
  );

  test(
    "is given up when its member drops out under open connections, however writable it is",
    async () => {
      const [node, store] = await primaryOf(group.nodes.slice(1));
      const beat = () => store.register({ id: 2n, address: "here", version: "1", secret: "" }, 1_000_000, 0n);
      await beat();
      await node.run(
        "STOP GROUP_REPLICATION",
        "SET GLOBAL super_read_only = OFF",
        "SET GLOBAL read_only = OFF",
      );
      expect(store.pool().idle).toBeGreaterThan(0);
      expect(await refusal(beat())).toMatchObject(NOT_READY);
      await until(() => store.pool().open === 0);
      expect(await refusal(store.find(["a"]))).toMatchObject(NOT_READY);
    },
    TEST_MS_MAX,
  );
});
