// `rowlock watch`, with and without a terminal, and `rowlock top`, which look again and again.

import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { describe, expect, test } from "vitest";
import { freshSqlite, reportLeftOut, testServers } from "../support/database.ts";
import { CTRL_C, HAS_PTY, Pty } from "./pty.ts";
import { processStage } from "./stage.ts";

const stage = processStage();
async function watched() {
  const server = await stage.serving(await stage.database(freshSqlite));
  const env = { ROWLOCK_ADDR: server.grpcAddress };
  return { server, env, watch: (...args: string[]) => stage.rowlock(["watch", ...args], env) };
}

describe("rowlock watch without a terminal", () => {
  test("prints a line for each change, and none for a renewal", async () => {
    const { server, watch } = await watched();
    const lease = await server.client.lease({ name: "etl/load", terms: { owner: "anna" } });
    const watching = watch("etl/*");
    await watching.said(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d etl\/load: limit 1, held by anna, 0 waiting\n/);
    await server.client.call("renew", { leaseId: lease.leaseId });
    await server.client.ticket({ name: "etl/load", terms: { owner: "ben" } });
    await watching.said(/held by anna, 1 waiting\n/);
    await server.client.call("release", { leaseId: lease.leaseId });
    await watching.said(/held by ben, 0 waiting\n/);
    await server.client.limit("etl/load", 0);
    await watching.said(/limit 0, held by ben, drains, 0 waiting\n/);
    watching.kill("SIGINT");
    const { code, out, err } = await watching.exited;
    expect([code, err]).toEqual([0, ""]);
    expect(out.trim().split("\n")).toHaveLength(4);
  });

  test("goes on through an absence of the server, and says so once", async () => {
    const database = await stage.database(freshSqlite);
    const server = await stage.serving(database);
    await server.client.lease({ name: "job", terms: { owner: "anna" } });
    const watching = stage.rowlock(
      ["watch", "job", "--give-up-after", "3s", "--addr", server.grpcAddress],
      {},
    );
    await watching.said(/held by anna/);
    server.process.kill("SIGTERM");
    await server.process.exited;
    const goneMs = performance.now();
    await watching.logged(
      new RegExp(`^rowlock: The connection to ${server.grpcAddress} was lost: reconnecting.\n`),
    );
    // Long before it gives up. On a busy machine a second takes longer.
    expect(performance.now() - goneMs).toBeLessThan(3_000);
    await watching.logged(/No Rowlock server answered within 3 s: .*nobody listens there/);
    const again = await stage.serving(database, "--listen", server.grpcAddress);
    await again.client.force("job", "test");
    await watching.said(/job: limit 1, free, 0 waiting/);
    watching.kill("SIGINT");
    const { code, err } = await watching.exited;
    expect(code).toBe(0);
    expect(err.match(/No Rowlock server/g)).toHaveLength(1);
  });

  test("ends at once while no server answers, with the fault if it has never reached one", async () => {
    const { watch } = await watched();
    const silent = createServer().listen(0, "127.0.0.1");
    stage.afterwards(() => silent.close());
    await once(silent, "listening");
    const { port } = silent.address() as AddressInfo;
    const early = watch("x", "--addr", `127.0.0.1:${port}`, "--give-up-after", "10m");
    await once(silent, "connection");
    early.kill("SIGINT");
    expect(await early.exited).toMatchObject({ code: 0, out: "" });
    const never = watch("x", "--addr", "127.0.0.1:9", "--give-up-after", "100ms");
    expect(await never.exited).toMatchObject({ code: 69, err: expect.stringContaining("nobody listens") });
  });
});

reportLeftOut(testServers());

describe.skipIf(!HAS_PTY)("rowlock watch on a terminal", () => {
  test("draws the page again and again until Ctrl-C, and then restores the screen", async () => {
    const { server, env } = await watched();
    const lease = await server.client.lease({ name: "page", terms: { owner: "anna" } });
    const line = `stty cols 80 rows 30; exec ${process.execPath} server/main.ts watch page`;
    const pty = new Pty(line, env);
    stage.afterwards(() => pty.destroy());
    await pty.shows(/␛\[\?1049h[\s\S]*anna[\s\S]*anna/);
    const from = pty.screen.length;
    await server.client.ticket({ name: "page", terms: { owner: "ben" } });
    await server.client.call("release", { leaseId: lease.leaseId });
    // Drawn over the old page, not below it.
    await pty.shows(/␛\[H[^H]*ben/, from);
    await pty.shows(/last change \d+ m?s ago/, from);
    pty.press(CTRL_C);
    expect(await pty.ended()).toBe(0);
    expect(pty.screen).toMatch(/␛\[\?25h␛\[\?1049l$/);
  });
});

describe("rowlock top", () => {
  test("prints again and again until a signal, and survives the absence of the server", async () => {
    const database = await stage.database(freshSqlite);
    const server = await stage.serving(database);
    await server.client.lease({
      name: "etl/load",
      terms: { owner: "nightly", lasting: { case: "noExpiry", value: {} } },
    });
    const flags = ["--every", "1s", "--json", "--give-up-after", "2s", "--addr", server.grpcAddress];
    const watching = stage.rowlock(["top", "--by", "owner", ...flags], {});
    await watching.said(/"group":"nightly"[\s\S]*"group":"nightly"/);
    server.process.kill("SIGTERM");
    await server.process.exited;
    await watching.logged(/No Rowlock server answered within 2 s/);
    const again = await stage.serving(database, "--listen", server.grpcAddress);
    await again.client.lease({ name: "etl/orders", terms: { owner: "hourly" } });
    await watching.said(/"group":"hourly","held":1/);
    watching.kill("SIGINT");
    const { code, err } = await watching.exited;
    expect([code, err.match(/No Rowlock server/g)?.length]).toEqual([0, 1]);
  });
});
