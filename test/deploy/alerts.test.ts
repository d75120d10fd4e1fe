// Each alert of deploy/alerts.yml fires in a real Prometheus when its fault is real, and none fires while servers are
// restarted in turn. The test divides all times of the rules by 60, or by 5 where restarts take their real time; no
// window is shorter than 15 s.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { migrateUp } from "../../server/storage/migrate/migrate.ts";
import { selfSignedCertificate } from "../process/certificate.ts";
import { screenOf, serveArgs } from "../process/server-process.ts";
import { hasSmallDisks, mountSmallDisk, NEEDS_SMALL_DISK, type SmallDisk } from "../process/small-disk.ts";
import { processStage, type ServingServer } from "../process/stage.ts";
import { freshDatabase, reportLeftOut } from "../support/database.ts";
import { startDroppingProxy } from "../support/dropping-proxy.ts";
import { lasting } from "../support/lasting.ts";
import { ownBinaries } from "../support/mysql-family/own-binaries.ts";
import { freePort, type RunningServer, startPrivateServer } from "../support/mysql-family/private-server.ts";
import { openPlainConnection } from "../support/mysql-stage.ts";
import {
  hasPrometheus,
  NEEDS_PROMETHEUS,
  type Prometheus,
  rules,
  startPrometheus,
} from "../support/prometheus.ts";
import { BareSession } from "../support/session-client.ts";
import { type SlowFlushes, slowFlushes } from "../support/slow-flushes.ts";
import { queued, withTtl } from "../support/test-calls.ts";

const DISK_MIB = 400;
const SLOW_MS = 150;
const PACE_MS = 50;
const EXPIRING = 60;
/** Longer than the offset of RowlockSlow at this speed. */
const USUAL_MS = 8_000;
/** Longer than a tenth of the time that RowlockDatabaseServerUnusable takes at this speed. */
const BOTH_USABLE_MS = 5_000;
const POLL_MS = 200;
/** Well below the time after which a silent session ends. */
const KEEP_ALIVE_MS = 200;
const START_MS_MAX = 150_000;
const ALL_MS_MAX = 600_000;
/** Far above the time that any alert takes at this speed. */
const FIRES_MS_MAX = 60_000;
const OVER_MS_MAX = 60_000;

const stage = processStage();
const binaries = [...(await ownBinaries())].filter(([flavour]) => flavour === "mariadb");
reportLeftOut(binaries);

/** Takes and releases locks with new names at a constant pace, whether or not the calls succeed. */
function keepBusy(servers: readonly ServingServer[]): { stop(): Promise<void> } {
  let turn = 0;
  const underWay = new Set<Promise<void>>();
  const timer = setInterval(() => {
    turn += 1;
    // Reads the array each time, because a restart replaces its server.
    for (const server of servers) {
      const ended = takeAndRelease(server.client, `busy/${turn}/${servers.indexOf(server)}`).finally(() =>
        underWay.delete(ended),
      );
      underWay.add(ended);
    }
  }, PACE_MS);
  return {
    async stop() {
      clearInterval(timer);
      await Promise.all(underWay);
    },
  };
}

async function takeAndRelease(client: ServingServer["client"], name: string): Promise<void> {
  try {
    const { leaseId } = await client.lease({ name, terms: withTtl(5) });
    await client.call("release", { leaseId });
  } catch {
    // Failing calls are what the alerts are about.
  }
}

async function fires(prometheus: Prometheus, ...names: string[]): Promise<void> {
  const fromMs = performance.now();
  for (const fired = new Set<string>(); !names.every((name) => fired.has(name)); await sleep(POLL_MS)) {
    for (const name of await prometheus.alerts("firing")) fired.add(name);
    if (performance.now() - fromMs > FIRES_MS_MAX)
      throw new Error(`of ${names}, these have fired: ${[...fired]}`);
  }
}

async function isOver(prometheus: Prometheus, ...names: string[]): Promise<void> {
  const fromMs = performance.now();
  for (; ; await sleep(POLL_MS)) {
    const firing = await prometheus.alerts("firing");
    if (!names.some((name) => firing.includes(name))) return;
    if (performance.now() - fromMs > OVER_MS_MAX) throw new Error(`of ${names}, these still fire: ${firing}`);
  }
}

/** Makes the alerts about files fire, at a server and a Prometheus of their own; returns their names. */
async function certificateAlerts(url: string): Promise<string[]> {
  const folder = stage.folder();
  const file = join(folder, "both.pem");
  // It is valid for a day.
  const { cert, key } = selfSignedCertificate();
  writeFileSync(file, cert + key);
  const tls = { ROWLOCK_TLS_CERT: file, ROWLOCK_TLS_KEY: file };
  const server = await screenOf(stage.rowlock(serveArgs(url), tls));
  const prometheus = await startPrometheus([server.metricsUrl.replace("http://", "")], 60, 250);
  try {
    await fires(prometheus, "RowlockCertificateExpires");
    writeFileSync(file, key);
    await fires(prometheus, "RowlockFilesUnusable");
  } finally {
    await prometheus.stop();
    server.process.kill("SIGTERM");
    await server.process.exited;
  }
  return ["RowlockCertificateExpires", "RowlockFilesUnusable"];
}

/** Makes the alert about one of several database servers fire, at a server and a Prometheus of their own; returns its name. */
async function databaseServerAlert(url: string): Promise<string> {
  const { host, hostname, port } = new URL(url);
  const proxy = await startDroppingProxy(hostname, Number(port));
  // Two ways to one database server are like two nodes of a cluster.
  const several = url.replace(host, `${host},${hostname}:${proxy.port}`);
  const server = await screenOf(stage.rowlock(serveArgs(several)));
  const prometheus = await startPrometheus([server.metricsUrl.replace("http://", "")], 60, 250);
  try {
    // Prometheus records that both can be used.
    await sleep(BOTH_USABLE_MS);
    proxy.leave();
    await fires(prometheus, "RowlockDatabaseServerUnusable");
    await proxy.comeBack();
    await isOver(prometheus, "RowlockDatabaseServerUnusable");
  } finally {
    await prometheus.stop();
    server.process.kill("SIGTERM");
    await server.process.exited;
    await proxy.close();
  }
  return "RowlockDatabaseServerUnusable";
}

const metricsOf = (servers: readonly ServingServer[]) =>
  servers.map(({ metricsUrl }) => metricsUrl.replace("http://", ""));

/** It takes two minutes and disturbs other tests. */
const isWanted = process.env.ROWLOCK_TEST_ALERTS === "true";
const WANTED = isWanted ? "" : " (left out: ROWLOCK_TEST_ALERTS is not true)";

describe.skipIf(!isWanted || !hasPrometheus || !hasSmallDisks).each(binaries)(
  `over %s, with real faults${WANTED}${NEEDS_PROMETHEUS}${NEEDS_SMALL_DISK}`,
  (flavour, binary) => {
    let disk: SmallDisk;
    let running: RunningServer;
    let flushes: SlowFlushes;

    beforeAll(async () => {
      disk = mountSmallDisk(DISK_MIB);
      flushes = slowFlushes();
      running = await startPrivateServer(binary, flavour, {
        parent: disk.directory,
        // InnoDB sometimes ends by itself when its disk is full.
        isRestarted: true,
        env: flushes.env,
      });
    }, START_MS_MAX);
    afterAll(async () => {
      await running?.stop();
      disk?.remove();
      flushes?.remove();
    });

    test("each alert fires", { timeout: ALL_MS_MAX }, async () => {
      const { url, drop } = await freshDatabase(running.server);
      stage.afterwards(drop);
      await migrateUp(url);
      const direct = new URL(url);
      const proxy = await startDroppingProxy(direct.hostname, Number(direct.port));
      stage.afterwards(() => proxy.close());
      const proxied = new URL(url);
      proxied.port = String(proxy.port);
      const flags =
        "--fail-over-pause 1s --grace 2s --doctor-interval 1s --sessions-max 1 --metrics-jobs cron/nightly=1h".split(
          " ",
        );
      const start = () => stage.serving(proxied.href, ...flags);
      const servers = [await start(), await start()];
      const [first, second] = servers as [ServingServer, ServingServer];
      const prometheus = await startPrometheus(metricsOf(servers), 60, 250);
      stage.afterwards(() => prometheus.stop());
      const firedFrom = new Set<string>();
      const expectFiring = async (...names: string[]) => {
        await fires(prometheus, ...names);
        for (const name of names) firedFrom.add(name);
      };

      for (const name of await certificateAlerts(url)) firedFrom.add(name);
      firedFrom.add(await databaseServerAlert(url));

      const { client } = first;
      for (let index = 0; index < EXPIRING; index++)
        await client.lease({ name: `lost/${index}`, terms: withTtl(1) });
      await client.lease({ name: "kept", terms: lasting() });
      const waiter = client.wait(queued({ name: "kept" }));
      await waiter.position();
      await expectFiring("RowlockLeasesExpire", "RowlockQueueStandsStill");

      const run = async (how: { failed: boolean; status: string }) => {
        const { leaseId } = await client.lease({ name: "cron/nightly", terms: withTtl(30) });
        await client.call("release", { leaseId, ...how });
      };
      await run({ failed: true, status: "failed" });
      await expectFiring("RowlockJobFails", "RowlockJobMissed");
      await run({ failed: false, status: "" });
      await isOver(prometheus, "RowlockJobFails", "RowlockJobMissed");

      const session = new BareSession(client);
      session.keepAlive(KEEP_ALIVE_MS);
      await expectFiring("RowlockBoundNear");
      session.end();

      const foreign = await openPlainConnection(url);
      stage.afterwards(() => foreign.close());
      await foreign.run("UPDATE rowlock_lock SET waiting = waiting + 1 WHERE name = 'lost/0'");
      await expectFiring("RowlockRowsDamaged");
      await foreign.run("UPDATE rowlock_lock SET waiting = waiting - 1 WHERE name = 'lost/0'");

      // Ended eight days ago, a day longer than it is kept. It is locked before the servers delete it, which they try every few seconds.
      await foreign.run("UPDATE rowlock_history SET ended_at = ended_at - 691200000000 LIMIT 1");
      await foreign.run("START TRANSACTION");
      await foreign.run("SELECT * FROM rowlock_history ORDER BY kept_for, ended_at LIMIT 1 FOR UPDATE");
      await expectFiring("RowlockCleaningBehind");
      await foreign.run("COMMIT");
      await isOver(prometheus, "RowlockRowsDamaged", "RowlockBoundNear", "RowlockCleaningBehind");

      let busy = keepBusy(servers);
      // Prometheus records the usual latency.
      await sleep(USUAL_MS);

      if (flushes.library !== null) {
        flushes.set(SLOW_MS);
        await expectFiring("RowlockSlow");
        flushes.set(0);
      } else {
        console.warn("RowlockSlow was left out: there is no compiler (cc) to make flushes slow.");
        firedFrom.add("RowlockSlow");
      }

      await foreign.run("START TRANSACTION");
      await foreign.run("SELECT * FROM rowlock_meta FOR UPDATE");
      await expectFiring("RowlockDatabaseAway", "RowlockCallsFail");
      await foreign.run("COMMIT");
      await isOver(prometheus, "RowlockDatabaseAway", "RowlockCallsFail");

      disk.fill();
      stage.afterwards(() => disk.makeRoom());
      // Locks whose rows still have room on their pages work, those of the servers' probes perhaps among them. Which
      // table needs a page first is chance, so the servers may be ready.
      await expectFiring("RowlockCallsFail");
      disk.makeRoom();
      await isOver(prometheus, "RowlockDatabaseAway", "RowlockCallsFail");

      // No decisions are made, so only the servers' own check of their marks can notice it.
      await busy.stop();
      // The first connection is gone if the full disk ended the database server.
      const afterDisk = await openPlainConnection(url);
      stage.afterwards(() => afterDisk.close());
      await afterDisk.run("DELETE FROM rowlock_witness");
      await expectFiring("RowlockFailedOver");
      busy = keepBusy(servers);

      proxy.leave();
      await expectFiring("RowlockGaugesIncomplete", "RowlockDatabaseAway");
      await proxy.comeBack();
      await isOver(prometheus, "RowlockDatabaseAway");

      second.process.kill("SIGKILL");
      await expectFiring("RowlockReplicaNotReady");
      first.process.kill("SIGKILL");
      await expectFiring("RowlockNoReplica");
      await busy.stop();
      expect([...firedFrom].sort()).toEqual(
        rules()
          .map(({ alert }) => alert)
          .sort(),
      );
    });

    test("none fires while servers are restarted one after the other", { timeout: ALL_MS_MAX }, async () => {
      const { url, drop } = await freshDatabase(running.server);
      stage.afterwards(drop);
      await migrateUp(url);
      const ports = [await freePort(), await freePort()];
      const start = (port: number) =>
        stage.serving(url, "--metrics-listen", `127.0.0.1:${port}`, "--grace", "2s");
      const servers = await Promise.all(ports.map(start));
      const prometheus = await startPrometheus(metricsOf(servers), 5, 500);
      stage.afterwards(() => prometheus.stop());
      const busy = keepBusy(servers);
      await servers[0]?.client.lease({ name: "kept", terms: lasting() });
      for (const [index, port] of ports.entries()) {
        const old = servers[index] as ServingServer;
        const waiter = old.client.wait(queued({ name: "kept" }));
        await waiter.position();
        old.process.kill("SIGTERM");
        await waiter.failure();
        await old.process.exited;
        servers[index] = await start(port);
        await sleep(2_000);
      }
      // Every alert that is pending by then either fires or ends.
      await sleep(1_000);
      for (let pending = await prometheus.alerts("pending"); pending.length > 0; await sleep(POLL_MS))
        pending = await prometheus.alerts("pending");
      expect(await prometheus.haveFired()).toEqual([]);
      await busy.stop();
    });
  },
);
