// A server that is stopped while its database does not answer.

import { describe, expect, test } from "vitest";
import { type FoundServer, freshDatabase, mysqlFamily, reportLeftOut } from "../support/database.ts";
import { startDroppingProxy } from "../support/dropping-proxy.ts";
import { queued } from "../support/test-calls.ts";
import { processStage } from "./stage.ts";

const STOPS_WITHIN_MS = 10_000;

const { afterwards, serving } = processStage();
reportLeftOut(mysqlFamily());

describe.each(mysqlFamily())("on $flavour $version, a database", (database) => {
  test("that is frozen prevents neither the server's stop nor the notice to its waiters", async () => {
    const { url, proxy } = await proxied(database);
    const { client, process } = await serving(url.href, "--drain-timeout", "3s");
    await client.lease({ name: "etl" });
    const stream = client.wait(queued({ name: "etl" }));
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
