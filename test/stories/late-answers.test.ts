// A database answers one of two replicas late. That replica's knowledge of the clock is uncertain by as much. Still,
// no lease begins before its request, ends too early, or is revived.

import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Claim } from "../../server/core/claim.ts";
import type { Store } from "../../server/storage/store.ts";
import * as asks from "../support/asks.ts";
import { freshDatabase, mysqlFamily, reportLeftOut } from "../support/database.ts";
import { type LateProxy, startLateProxy } from "../support/late-proxy.ts";
import { clockUs, openPlainConnection, type PlainConnection, until } from "../support/mysql-stage.ts";
import { ask, claimOf, follower, type Replica, type Replicas, startReplicas } from "../support/replicas.ts";
import { wrapped } from "../support/wrapped-store.ts";

const TTL_MS = 1_000;
const LATE_MS = 80;
/** More than the smallest difference that counts as a clock jump. */
const VERY_LATE_MS = 560;
const NAMES = Array.from({ length: 8 }, (_, index) => `late/${index}`);

reportLeftOut(mysqlFamily());

describe.each(mysqlFamily())("on $flavour $version", (server) => {
  let proxy: LateProxy;
  let plain: PlainConnection;
  let replicas: Replicas;
  /** The replica that is answered late. */
  let here: Replica;
  let there: Replica;

  beforeEach(async () => {
    const { hostname, port } = new URL(server.url);
    proxy = await startLateProxy(hostname, Number(port));
  });
  afterEach(async () => {
    plain?.close();
    await replicas?.stop();
    await proxy.close();
  });

  async function start(wrap?: (store: Store) => Store): Promise<void> {
    const fresh = async () => {
      const { url, drop } = await freshDatabase(server);
      const late = Object.assign(new URL(url), { hostname: "127.0.0.1", port: String(proxy.port) });
      return { url, nodes: [late.href, url], drop };
    };
    replicas = await startReplicas({ fresh }, 2, {}, wrap);
    [here, there] = replicas.all as [Replica, Replica];
    plain = await openPlainConnection(replicas.url);
  }

  /** Takes a lease of a lock that only the late replica has written, so that it decides optimistically. */
  async function lease(name: string): Promise<{ claim: Claim; askedUs: number; sentMs: number }> {
    for (let times = 0; times < 3; times++) {
      await here.engine.ask(asks.release(claimOf(await here.engine.acquire(ask(name), null), "held")));
    }
    const askedUs = await clockUs(plain);
    const sentMs = performance.now();
    const claim = claimOf(await here.engine.acquire(ask(name, { ttlUs: TTL_MS * 1_000 }), null), "held");
    return { claim, askedUs, sentMs };
  }

  test("no lease begins before its request", async () => {
    await start();
    proxy.delayAnswers(LATE_MS);
    const leases = await Promise.all(NAMES.map(lease));
    expect(leases.filter(({ claim, askedUs }) => (claim.grantedAtUs as number) < askedUs)).toEqual([]);
  });

  test("the next lease is granted only after the full TTL counted from the request", async () => {
    await start();
    proxy.delayAnswers(LATE_MS);
    const overlaps = await Promise.all(
      NAMES.map(async (name) => {
        const { sentMs, askedUs } = await lease(name);
        const next = follower();
        claimOf(await there.engine.acquire(ask(name), next), "waiting");
        const { claim } = await next.toldClaim;
        const afterMs = performance.now() - sentMs;
        expect(claim.state).toBe("held");
        const betweenMs = ((claim.grantedAtUs as number) - askedUs) / 1_000;
        return Math.max(0, TTL_MS - Math.min(afterMs, betweenMs));
      }),
    );
    expect(overlaps).toEqual(NAMES.map(() => 0));
  });

  test("a lease that the database shows as expired is not renewed", async () => {
    await start();
    proxy.delayAnswers(LATE_MS);
    const revived = await Promise.all(
      NAMES.map(async (name) => {
        const { claim } = await lease(name);
        const check = `SELECT 1 FROM rowlock_lock WHERE id = ? AND holder_ticket_number = ? AND holder_state = 2
          AND holder_deadline > CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED)`;
        const key = [String(claim.lockId), String(claim.ticketNumber)];
        await until(async () => (await plain.run(check, key)).length === 0);
        return (await here.engine.ask(asks.renew(claim, undefined))).outcome.kind;
      }),
    );
    expect(revived).toEqual(NAMES.map(() => "ended"));
  });

  test("a replica that starts while answers come very late sees no jump of the clock", async () => {
    let readings = 0;
    let arrived = () => {};
    /** Waits until the clock has been read this many more times. */
    const read = async (times: number) => {
      const enough = readings + times;
      while (readings < enough) await new Promise<void>((resolve) => (arrived = resolve));
    };
    let isFirst = true;
    await start((store) => {
      if (!isFirst) return store;
      isFirst = false;
      proxy.delayAnswers(VERY_LATE_MS);
      return wrapped(store, {
        async dueLocks(...range) {
          const due = await store.dueLocks(...range);
          readings += 1;
          arrived();
          return due;
        },
      });
    });
    await read(1);
    proxy.delayAnswers(0);
    await read(3);
    expect(here.failures.filter((failure) => (failure as { loop: string }).loop === "clock")).toEqual([]);
  });
});
