// `rowlock watch`, with and without a terminal.

import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { describe, expect, test } from "vitest";
import { freshSqlite, reportLeftOut, testServers } from "../support/database.ts";
import { startRefusingProxy } from "../support/refusing-proxy.ts";
import { CTRL_C, HAS_PTY, Pty } from "./pty.ts";
import { processStage } from "./stage.ts";
import { Terminal } from "./terminal.ts";

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
    await server.client.call("setLimit", {
      target: { case: "name", value: "etl/load" },
      newLimit: { case: "limit", value: 0 },
    });
    await watching.said(/limit 0, held by ben, drains, 0 waiting\n/);
    watching.kill("SIGINT");
    const { code, out, err } = await watching.exited;
    expect([code, err]).toEqual([0, ""]);
    expect(out.trim().split("\n")).toHaveLength(4);
  });

  test("with --busy prints a lock while it is used, and once when it is free again", async () => {
    const { server, watch } = await watched();
    await server.client.call("updateRecord", { name: "task/0", status: "new" });
    await server.client.lease({ name: "task/1", terms: { owner: "anna" } });
    await server.client.lease({ name: "task/2", terms: { owner: "anna" } });
    await server.client.ticket({ name: "task/2" });
    const watching = watch("task/*", "--busy", "--order", "most-waiters");
    await watching.said(/^\S+ \S+ task\/2: .*1 waiting\n\S+ \S+ task\/1: .*0 waiting\n/);
    await server.client.call("forceRelease", { target: { case: "name", value: "task/1" }, reason: "test" });
    await watching.said(/task\/1: .*free/);
    await server.client.call("updateRecord", { name: "task/1", status: "x" });
    await server.client.call("forceRelease", { target: { case: "name", value: "task/2" }, reason: "test" });
    await watching.said(/task\/2: .*held.*0 waiting/);
    watching.kill("SIGINT");
    const { out } = await watching.exited;
    expect(out).not.toMatch(/task\/0|status x/);
    const refused = await watch("task", "--busy").exited;
    expect(refused).toMatchObject({ code: 64, err: expect.stringContaining("choose from several locks") });
  });

  test("shows one lock before its first use; --json prints one object a line", async () => {
    const { server, watch } = await watched();
    const watching = watch("later", "--json");
    await watching.said(/\n/);
    await server.client.lease({ name: "later", terms: { owner: "anna" } });
    await watching.said(/\n.*\n/);
    watching.kill("SIGTERM");
    const { code, out } = await watching.exited;
    const [before, after] = out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect([code, before, after]).toMatchObject([
      0,
      { name: "later", heldPermits: 0, limit: { source: "default" } },
      { name: "later", heldPermits: 1, holders: [{ owner: "anna", token: 1 }] },
    ]);
    expect(Date.parse(after.at)).toBeGreaterThan(Date.parse(before.at));
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
    await again.client.call("forceRelease", { target: { case: "name", value: "job" }, reason: "test" });
    await watching.said(/job: limit 1, free, 0 waiting/);
    watching.kill("SIGINT");
    const { code, err } = await watching.exited;
    expect(code).toBe(0);
    expect(err.match(/No Rowlock server/g)).toHaveLength(1);
  });

  test("reports in one line that a proxy lets no watch through", async () => {
    const { server, watch } = await watched();
    const proxy = await startRefusingProxy(server.grpcAddress, "UNIMPLEMENTED", ["Session", "WatchLocks"]);
    stage.afterwards(() => proxy.close());
    const { code, out, err } = await watch("job", "--addr", proxy.address).exited;
    expect([code, out]).toEqual([69, ""]);
    expect(err).toMatch(
      /^rowlock: The server, or a proxy in front of it, does not let watches through .*`rowlock show`.*\n$/,
    );
  });

  test("ends when nobody reads it any more", async () => {
    const { server, env } = await watched();
    await server.client.lease({ name: "piped" });
    const terminal = new Terminal(env);
    stage.afterwards(() => terminal.close());
    const line = `node server/main.ts watch piped | head -1; echo "codes \${PIPESTATUS[*]}"`;
    const { done } = terminal.start(line);
    await terminal.shows(/held by/);
    // The command notices the closed pipe only when it writes something.
    await server.client.ticket({ name: "piped" });
    await done;
    await terminal.shows(/codes 0 0/);
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
describe.each(testServers().slice(0, 1))("rowlock watch with two servers over $label", ({ fresh }) => {
  test("goes on through another server, and shows what has changed meanwhile", async () => {
    const database = await stage.database(fresh);
    const [first, second] = [await stage.serving(database), await stage.serving(database)];
    await first.client.call("updateRecord", {
      name: "task/1",
      status: "new",
      newAttemptsLeft: { case: "attemptsLeft", value: 3 },
    });
    await first.client.lease({ name: "task/2" });
    const addresses = `${first.grpcAddress},${second.grpcAddress}`;
    const watching = stage.rowlock(["watch", "task/", "--addr", addresses], {});
    await watching.said(/task\/1: limit 1, free, 0 waiting, status new, 3 attempts left\n.* task\/2: .*held/);
    first.process.kill("SIGKILL");
    await second.client.call("updateRecord", { name: "task/1", status: "done" });
    await watching.said(/task\/1: .* status done, 3 attempts left\n/);
    await watching.logged(/began anew/);
    await second.client.call("updateRecord", {
      name: "task/2",
      newNotBefore: { case: "notBeforeIn", value: { seconds: 18_000n } },
    });
    await watching.said(/task\/2: limit 1, held by .*, 0 waiting, due in 5 h\n/);
    watching.kill("SIGINT");
    const { code, out, err } = await watching.exited;
    expect([code, err.split("\n").length]).toEqual([0, 2]);
    expect(out.trim().split("\n").length, out).toBe(4);
  });
});

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

  test("marks what has just changed, and says at once that it reconnects", async () => {
    const database = await stage.database(freshSqlite);
    const server = await stage.serving(database);
    for (const name of ["job/a", "job/b"]) await server.client.lease({ name, terms: { owner: "anna" } });
    const line = `stty cols 80 rows 30; exec ${process.execPath} server/main.ts watch job/ --addr ${server.grpcAddress}`;
    const pty = new Pty(line);
    stage.afterwards(() => pty.destroy());
    await pty.shows(/2 locks, 2 held, 0 waiting(?!.*change)[\s\S]*\n {2}job\/a[\s\S]*\n {2}job\/b/);
    await server.client.ticket({ name: "job/b", terms: { owner: "ben" } });
    await pty.shows(/2 held, 1 waiting; last change[^\n]*\n[\s\S]*\n {2}job\/a[\s\S]*\n(?:␛\[1m)?\* job\/b/);
    server.process.kill("SIGKILL");
    await pty.shows(/reconnecting for \d+ m?s/);
    await stage.serving(database, "--listen", server.grpcAddress);
    const from = pty.screen.length;
    await pty.shows(/2 held, \d waiting; last change \d+ m?s ago␛/, from);
    pty.press("q");
    expect(await pty.ended()).toBe(0);
  });

  test("scrolls a page that is too long, and escapes names", async () => {
    const { server, env } = await watched();
    for (let index = 0; index < 12; index++)
      await server.client.lease({ name: `many/${String(index).padStart(2, "0")}\x1b[31m` });
    const line = `stty cols 80 rows 8; exec ${process.execPath} server/main.ts watch many/`;
    const pty = new Pty(line, env);
    stage.afterwards(() => pty.destroy());
    await pty.shows(/12 locks, 12 held, 0 waiting[\s\S]*NAME[\s\S]*lines 1 to 4 of 12: arrows/);
    expect(pty.screen).toContain("many/00\\u001b[31m");
    expect(pty.screen).not.toContain("many/11");
    const from = pty.screen.length;
    pty.press("␛[B".replace("␛", "\x1b"));
    await pty.shows(/NAME[\s\S]*many\/01[\s\S]*lines 2 to 5 of 12/, from);
    pty.press("G");
    await pty.shows(/NAME[\s\S]*many\/11[\s\S]*lines 9 to 12 of 12/, from);
    pty.press("\x1b[5~");
    await pty.shows(/lines 5 to 8 of 12/, from);
    pty.press("q");
    expect(await pty.ended()).toBe(0);
  });
});
