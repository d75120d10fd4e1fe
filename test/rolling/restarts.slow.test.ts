// Rolling restarts as an operator does them: three servers on one database, and clients in four languages that hold leases
// and stand in queues meanwhile, directly and through HAProxy. Prints how long nothing was granted.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type FoundServer, freshDatabase, mysqlFamily, reportLeftOut } from "../support/database.ts";
import { Crowd, type CrowdReport, type CrowdSize } from "./crowd.ts";
import { type Drivers, startDrivers } from "./drivers.ts";
import { Fleet } from "./fleet.ts";
import { HAS_HAPROXY, startHaproxy } from "./haproxy.ts";

/** Each of the ways has so many. The whole size is for a machine that does nothing else: see docs/operations.md. */
const WAITS = Number(process.env.ROWLOCK_TEST_ROLLING_WAITS ?? 100);
const SIZE: CrowdSize = { waits: WAITS, leases: Math.ceil(WAITS * 0.4), queues: Math.ceil(WAITS / 50) };
/** The default grace period. */
const GRACE_MS = 10_000;
const SERVERS = 3;
const PATIENCE_MS = 500_000;
const WAYS = HAS_HAPROXY || process.env.CI ? ["direct", "haproxy"] : ["direct"];

const [server] = mysqlFamily().filter(({ flavour }) => flavour === "mariadb");
reportLeftOut(server ? [server] : []);

describe.runIf(server)("while three servers on MariaDB restart one after the other", () => {
  const cleanups: (() => unknown)[] = [];
  const reports = new Map<string, CrowdReport>();
  let drivers: Drivers;

  // One roll for all ways, since it takes most of a minute.
  beforeAll(async () => {
    const { url, drop } = await freshDatabase(server as FoundServer);
    cleanups.push(drop);
    drivers = await startDrivers();
    cleanups.push(() => Promise.all(drivers.running.map((driver) => driver.destroy())));
    const fleet = await Fleet.start(url, SERVERS, GRACE_MS);
    cleanups.push(() => fleet.destroy());
    const addresses = new Map([["direct", fleet.addresses]]);
    if (WAYS.includes("haproxy")) {
      const haproxy = await startHaproxy(fleet);
      cleanups.push(() => haproxy.stop());
      addresses.set("haproxy", [haproxy.address]);
    }
    const crowds = await Promise.all(
      [...addresses].map(async ([way, to]) => {
        const crowd = await Crowd.start(way, drivers.running, SIZE, { addresses: to, url });
        cleanups.push(() => crowd.close());
        return [way, crowd] as const;
      }),
    );
    for (let index = 0; index < SERVERS; index++) {
      await Promise.all(crowds.map(([, crowd]) => crowd.stops()));
      await fleet.restart(index);
    }
    for (const [way, crowd] of crowds) reports.set(way, await crowd.report());
    for (const [way, { breaches: _, ...figures }] of reports)
      console.log(`rolling restarts, ${way}:`, figures);
  }, PATIENCE_MS);
  afterAll(async () => {
    for (const cleanup of cleanups.reverse()) await cleanup();
  });

  test.each(WAYS)("%s: nobody loses a place or a lease, the order is kept, and tokens rise", (way) => {
    const { breaches, placesAtStops, grants } = reports.get(way) as CrowdReport;
    expect(breaches).toEqual([]);
    // At each stop nearly all had places, and they moved up in between.
    expect(placesAtStops).toBeGreaterThan(2 * (SIZE.waits - 2 * SIZE.queues));
    expect(grants).toBeGreaterThan(SIZE.waits);
  });

  test.each(WAYS)("%s: grants go on", (way) => {
    const { longestGapMs, longestGapOfAQueueMs } = reports.get(way) as CrowdReport;
    expect(longestGapMs).toBeLessThan(GRACE_MS);
    // A holder that comes back late confirms in time; else its turn ends after a grace period.
    expect(longestGapOfAQueueMs).toBeLessThan(2 * GRACE_MS);
  });

  test.runIf(!HAS_HAPROXY && !process.env.CI)("haproxy: nobody loses a place", (context) => {
    context.skip("there is no HAProxy: install the package haproxy");
  });

  test.for(["typescript", "python", "go", "java"])(
    "the client for %s was among them",
    (language, context) => {
      const why = drivers.missing.get(language);
      if (!process.env.CI) context.skip(why !== undefined, why);
      expect(why).toBeUndefined();
    },
  );
});
