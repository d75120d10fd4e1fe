// Two complete servers. When one loses its database, it sends its sessions to the other one in good time. When both
// lose it, all sessions stay.

import { describe, expect, onTestFinished, test } from "vitest";
import type { App } from "../../server/app.ts";
import { freshDatabase, mysqlFamily, reportLeftOut } from "../support/database.ts";
import { startLateProxy } from "../support/late-proxy.ts";
import { BareSession, renew } from "../support/session-client.ts";
import { until } from "../support/until.ts";
import { readiness, start } from "./whole-server.ts";

/** So long that a busy machine also takes less than half of it. */
const GRACE_MS = 20_000;

const GRACE = { ROWLOCK_GRACE: `${GRACE_MS}ms` };

/** A proxied connection to the database that can be frozen. */
async function proxied(url: string) {
  const direct = new URL(url);
  const proxy = await startLateProxy(direct.hostname, Number(direct.port || 3_306));
  onTestFinished(() => proxy.close());
  direct.hostname = "127.0.0.1";
  direct.port = String(proxy.port);
  return { proxy, url: direct.href };
}

const isReady = async (app: App) => (await readiness(app)).ok;

const isGoingAway = (session: BareSession) => session.responses.some(({ goingAway }) => goingAway);

const servers = mysqlFamily();
reportLeftOut(servers);

describe.each(servers)("on $flavour $version, the sessions of a server", (found) => {
  test.each(["rests", "decides all the time"])(
    "that alone loses its database, and %s, renew at another server before half of the grace period is over",
    async (load) => {
      const { url, drop } = await freshDatabase(found);
      onTestFinished(drop);
      const other = await start(url, GRACE);
      const way = await proxied(url);
      const server = await start(way.url, GRACE);
      const { leaseId } = await server.client.lease({ name: "task" });
      const session = new BareSession(server.client);
      session.keepAlive(GRACE_MS / 40);
      let isOver = false;
      const busy = (async () => {
        while (load !== "rests" && !isOver) {
          const { leaseId: passing } = await server.client.lease({ name: "passing" });
          await server.client.call("release", { leaseId: passing });
        }
      })().catch(() => {});

      // The server learns of the other one once a second.
      await until(async () => (await server.client.call("listLocks", {})) && (await isReady(server.app)));
      way.proxy.freeze();
      const frozenMs = performance.now();
      await session.until(() => (isGoingAway(session) ? true : undefined));
      isOver = true;
      const next = new BareSession(other.client, {
        open: {},
        commands: [{ call: 1n, command: renew(leaseId) }],
      });
      expect(await next.last(1n)).toMatchObject({ case: "renew", value: { lease: { leaseId } } });
      expect(performance.now() - frozenMs).toBeLessThan(GRACE_MS / 2);
      expect(await isReady(server.app)).toBe(false);
      expect(await isReady(other.app)).toBe(true);
      next.cancel();
      way.proxy.thaw();
      await busy;
    },
  );

  test("stay if the other server has lost the database, too", async () => {
    const { url, drop } = await freshDatabase(found);
    onTestFinished(drop);
    const way = await proxied(url);
    const [one, two] = [await start(way.url, GRACE), await start(way.url, GRACE)];
    const sessions = [one, two].map(({ client }) => {
      const session = new BareSession(client);
      session.keepAlive(GRACE_MS / 40);
      return session;
    });
    way.proxy.freeze();
    const both = async () => await Promise.all([one, two].map(({ app }) => isReady(app)));
    await until(async () => (await both()).every((ready) => !ready));
    expect(sessions.map(isGoingAway)).toEqual([false, false]);
    way.proxy.thaw();
    for (const session of sessions) session.cancel();
  });
});
