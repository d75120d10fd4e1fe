// A server that has lost its database sends its sessions to another server that still has it. They find their leases
// and places there.

import { expect, test } from "vitest";
import { freshDatabase, mysqlFamily, reportLeftOut } from "../support/database.ts";
import { startDroppingProxy } from "../support/dropping-proxy.ts";
import { BareSession, comeBack, renew, wait } from "../support/session-client.ts";
import { processStage, readyPage } from "./stage.ts";

const stage = processStage();
const GRACE_MS = 10_000;

test.each(mysqlFamily().map((found) => ({ found, label: `${found.flavour} ${found.version}` })))(
  "on $label, sessions move in time to the server that has the database",
  async ({ found }) => {
    const url = await stage.database(() => freshDatabase(found));
    const other = await stage.serving(url);
    const direct = new URL(url);
    const proxy = await startDroppingProxy(direct.hostname, Number(direct.port || 3_306));
    stage.afterwards(() => proxy.close());
    const proxied = new URL(url);
    proxied.hostname = "127.0.0.1";
    proxied.port = String(proxy.port);
    const server = await stage.serving(proxied.href);

    const { leaseId } = await server.client.lease({ name: "task" });
    const session = new BareSession(server.client);
    session.keepAlive(250);
    const [call] = session.ask(wait({ name: "task", requestId: "next" })) as [bigint];
    const ticketId = await session.until(() => {
      const [first] = session.resultsOf(call);
      return first?.case === "waitInQueue" && first.value.update.case === "position"
        ? first.value.update.value.ticketId
        : undefined;
    });

    proxy.freeze();
    const frozenMs = performance.now();
    await session.until((all) => (all.some(({ goingAway }) => goingAway) ? true : undefined));
    const toldMs = performance.now() - frozenMs;
    expect(toldMs).toBeLessThan(GRACE_MS / 2);
    expect(
      await session.until(() => session.resultsOf(call).find(({ case: kind }) => kind === "error")),
    ).toMatchObject({ value: { code: 14 } });
    await expect(session.ended).rejects.toMatchObject({ reason: "SHUTTING_DOWN" });
    await readyPage(server, 503);

    const next = new BareSession(other.client, {
      open: {},
      commands: [
        { call: 1n, command: renew(leaseId) },
        { call: 2n, command: comeBack(ticketId) },
      ],
    });
    next.keepAlive(250);
    expect(await next.last(1n)).toMatchObject({ case: "renew", value: { lease: { leaseId } } });
    await other.client.call("release", { leaseId });
    expect(await next.last(2n)).toMatchObject({
      case: "waitInQueue",
      value: { update: { case: "granted", value: { leaseId: ticketId } } },
    });
    next.cancel();
  },
);
reportLeftOut(mysqlFamily());
