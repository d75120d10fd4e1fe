// A server whose database goes away and comes back: calls fail as UNAVAILABLE and say when to retry, streams stay
// open, waiters are granted afterwards, and the log reports it without repetition. Also schemas that the server must
// not touch.

import { describe, expect, test } from "vitest";
import { type FoundServer, freshDatabase, mysqlFamily } from "../support/database.ts";
import { startDroppingProxy } from "../support/dropping-proxy.ts";
import { leaseIn } from "../support/test-calls.ts";
import { until } from "../support/until.ts";
import { AWAY, answered, metric, processStage, readyPage } from "./stage.ts";

/** Excludes lines that report again now and then that the outage lasts. */
const isNews = (line: string) => !line.includes("the database still cannot be used");

const STOPS_WITHIN_MS = 10_000;

const { afterwards, serving } = processStage();

const linesOf = (log: string, level: string) =>
  log.split("\n").filter((line) => line.startsWith(`{"level":"${level}"`));

describe.each(mysqlFamily())("on $flavour $version, a database", (database) => {
  test("that goes away and comes back costs no client its place, and needs no repair", async () => {
    const { url, proxy } = await proxied(database);
    const server = await serving(url.href);
    const { client, process } = server;

    const lease = await client.lease({ name: "etl" });
    const stream = client.wait({
      target: { case: "request", value: { name: "etl", requestId: "streamed" } },
    });
    await stream.position();
    const blocked = client.call("acquire", {
      name: "etl",
      requestId: "blocked",
      whenBusy: { case: "wait", value: {} },
    });
    // The server knows that both have their places: a call whose COMMIT is not answered yet would fail with the outage.
    await until(async () => (await metric(server, 'rowlock_enqueued_total{class="other"}')) === 2);

    proxy.leave();
    const calls = [
      client.call("renew", { leaseId: lease.leaseId }),
      client.call("acquire", { name: "other" }),
      client.call("getLock", { name: "etl" }),
      client.call("release", { leaseId: lease.leaseId }),
    ];
    const failed = { status: "rejected", reason: AWAY };
    expect(await Promise.allSettled(calls)).toMatchObject([failed, failed, failed, failed]);
    await readyPage(server, 503);
    // The poll alone has failed a dozen times by now.
    expect(linesOf(process.err, "warn").filter(isNews)).toEqual([
      expect.stringMatching(/"the database cannot be used: The (connection|database) .*\."/),
    ]);
    expect(linesOf(process.err, "error")).toEqual([]);
    await proxy.comeBack();

    const [, callsFailed] = await process.logged(
      /"callsFailed":(\d+),"msg":"the database can be used again"/,
    );
    expect(Number(callsFailed)).toBeGreaterThanOrEqual(calls.length);
    expect(linesOf(process.err, "warn").filter(isNews)).toHaveLength(1);
    expect(process.err).not.toContain("    at ");
    expect(process.err).not.toContain('"stack"');
    await readyPage(server, 200);
    expect(await answered(() => client.call("release", { leaseId: lease.leaseId }))).toBeTruthy();
    const granted = await stream.granted();
    expect(granted.fencingToken).toBe(lease.fencingToken + 1n);
    await answered(() => client.call("release", { leaseId: granted.leaseId }));
    expect(leaseIn(await blocked).fencingToken).toBe(lease.fencingToken + 2n);
  });

  test("that is frozen prevents neither the server's stop nor the notice to its waiters", async () => {
    const { url, proxy } = await proxied(database);
    const { client, process } = await serving(url.href, "--drain-timeout", "3s");
    await client.lease({ name: "etl" });
    const stream = client.wait({ target: { case: "request", value: { name: "etl" } } });
    await stream.position();
    proxy.freeze();
    const hanging = client.call("acquire", { name: "other" }).catch((error: unknown) => error);
    const signalledAt = performance.now();
    process.kill("SIGTERM");
    expect(await stream.failure()).toMatchObject({ code: "UNAVAILABLE", reason: "SHUTTING_DOWN" });
    // Cut off at the drain timeout: the call is reset, or its connection is closed.
    expect(await hanging).toMatchObject({ code: expect.stringMatching(/^(UNAVAILABLE|CANCELLED)$/) });
    const { code, err } = await process.exited;
    expect(code, err).toBe(0);
    expect(performance.now() - signalledAt).toBeLessThan(STOPS_WITHIN_MS);
    expect(err.match(/shutdown did not finish at the database/g)).toHaveLength(1);
    expect(err).not.toContain('"fatal"');
  });
});

/** An empty database behind a proxy. */
async function proxied(server: FoundServer) {
  const fresh = await freshDatabase(server);
  afterwards(() => fresh.drop());
  const url = new URL(fresh.url);
  const proxy = await startDroppingProxy(url.hostname, Number(url.port));
  afterwards(() => proxy.close());
  url.hostname = "127.0.0.1";
  url.port = String(proxy.port);
  return { url, proxy };
}
