// A server whose database has several addresses, as its operator sees it: the log, /readyz, the metrics and `rowlock doctor`
// say which database server is in use, while the source dies and its replica is promoted.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freshDatabase, reportLeftOut } from "../support/database.ts";
import { ownBinaries } from "../support/mysql-family/own-binaries.ts";
import {
  type PairNode,
  type ReplicatedPair,
  startReplicatedPair,
} from "../support/mysql-family/replicated-pair.ts";
import { until } from "../support/mysql-stage.ts";
import { withTtl } from "../support/test-calls.ts";
import { answered, metric, processStage, readyPage } from "./stage.ts";

const START_MS_MAX = 200_000;
const TEST_MS_MAX = 150_000;

const binary = (await ownBinaries()).get("mariadb");
reportLeftOut(binary ? [binary] : []);

describe.runIf(binary)("a server on a source and its replica", () => {
  const stage = processStage();
  let pair: ReplicatedPair;
  let url: string;

  beforeAll(async () => {
    pair = await startReplicatedPair(binary as string, "mariadb", { isSemiSync: true });
    const fresh = new URL((await freshDatabase(pair.source.server)).url);
    url = fresh.href.replace(fresh.host, `${placeOf(pair.replica)},${placeOf(pair.source)}`);
  }, START_MS_MAX);
  afterAll(async () => await pair?.stop(), START_MS_MAX);

  const placeOf = (node: PairNode) => new URL(node.url).host;
  const doctor = async () => await stage.rowlock(["doctor", "--database-url", url]).ended();

  test(
    "says which database server is in use before, during and after a fail-over",
    async () => {
      const [source, replica] = [placeOf(pair.source), placeOf(pair.replica)];
      const server = await stage.serving(url, "--fail-over-pause", "0s");
      expect(server.screen).toContain(`@${replica},${source}/`);
      expect(await readyPage(server, 200)).toBe("ready\n");
      expect(server.process.err).toContain(`the database server ${source} is used.`);
      expect(await metric(server, `rowlock_database_server_chosen{address="${source}"}`)).toBe(1);
      expect(await metric(server, `rowlock_database_server_usable{address="${replica}"}`)).toBe(0);
      const before = await doctor();
      expect(before.out).toMatch(new RegExp(`^server   ${source}: in use, MariaDB [0-9.]+$`, "m"));
      expect(before.out).toMatch(
        new RegExp(
          `^server   ${replica}: not in use, MariaDB [0-9.]+, its rows are up to date\n +.*read-only`,
          "m",
        ),
      );
      const held = await server.client.lease({ name: "held", terms: withTtl(600) });

      await pair.caughtUp();
      await pair.source.kill();
      expect(await readyPage(server, 503)).toBe(
        "not ready: the database cannot be written: no_usable_server\n",
      );
      const during = await doctor();
      expect(during).toMatchObject({
        code: 1,
        out: expect.stringMatching(/^error {4}cluster: .*None of the 2/m),
      });

      await pair.promote(pair.replica);
      await readyPage(server, 200);
      const line = await server.process.logged(/.*moved from the database server.*/);
      expect(JSON.parse(line[0])).toMatchObject({ from: source, to: replica, afterMs: expect.any(Number) });
      expect(await metric(server, `rowlock_database_server_chosen{address="${replica}"}`)).toBe(1);
      expect(await metric(server, `rowlock_database_server_chosen{address="${source}"}`)).toBe(0);
      expect(await metric(server, "rowlock_database_moves_total")).toBe(1);
      const next = await answered(() => server.client.lease({ name: "next" }));
      expect(next.fencingToken).toBeGreaterThan(held.fencingToken);
      const renewed = await answered(() => server.client.call("renew", { leaseId: held.leaseId }));
      expect(renewed.lease?.fencingToken).toBe(held.fencingToken);

      // Without read_only in its settings, the old source comes back writable.
      await pair.source.startAgain();
      await server.process.logged(/no nodes of one cluster can be written at once/);
      const after = await doctor();
      expect(after.out).toMatch(new RegExp(`^server   ${source}: can be written, not in use`, "m"));
      expect(after.out).toMatch(new RegExp(`^warning  servers: ${source}: It can be written`, "m"));
      await until(
        async () => (await metric(server, `rowlock_database_server_usable{address="${source}"}`)) === 1,
      );
      expect(await metric(server, "rowlock_database_moves_total")).toBe(1);
    },
    TEST_MS_MAX,
  );
});
