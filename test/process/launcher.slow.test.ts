// bin/rowlock.mjs on a Node that is too old for the server: the packaged Node takes over, and nobody who started the
// launcher notices. The old Node is this one, which says that it is old.

import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { freshSqlite } from "../support/database.ts";
import { RowlockProcess, screenOf, serveArgs } from "./server-process.ts";
import { processStage, readyPage } from "./stage.ts";

const stage = processStage();
const OLD = 'Object.defineProperty(process, "versions", { value: { ...process.versions, node: "20.0.0" } });';

describe.each([
  { way: "in place", code: OLD },
  // Before Node 22.15, and on Windows.
  { way: "beside itself", code: `${OLD} process.execve = undefined;` },
])("an old Node that hands over $way", ({ way, code }) => {
  function launched(...args: string[]): RowlockProcess {
    const preload = `data:text/javascript,${encodeURIComponent(code)}`;
    const program = ["--import", preload, "bin/rowlock.mjs"];
    const launcher = new RowlockProcess([...program, ...args], {}, process.execPath);
    stage.afterwards(() => launcher.destroy());
    return launcher;
  }

  async function serving() {
    return screenOf(launched(...serveArgs(await stage.database(freshSqlite))));
  }

  test.each(["SIGTERM", "SIGINT"] as const)("ends in good order by %s", async (signal) => {
    const server = await serving();
    server.process.kill(signal);
    expect(await server.process.ended()).toMatchObject({ code: 0, signal: null });
    expect(server.process.err).toMatch(/"msg":"stopped"/);
  });

  test("SIGUSR1 and SIGUSR2 do nothing, SIGHUP reads files again, and what a server does not handle ends it", async () => {
    const server = await serving();
    for (const signal of ["SIGUSR1", "SIGUSR2", "SIGHUP"] as const) server.process.kill(signal);
    await server.process.logged(/files are read again/);
    expect(await readyPage(server, 200)).toBe("ready\n");
    expect(server.process.err).not.toContain("Debugger");
    server.process.kill("SIGQUIT");
    expect(await server.process.ended()).toMatchObject({ code: null, signal: "SIGQUIT" });
  });

  test("leaves no server behind if it is killed", async () => {
    const server = await serving();
    server.process.kill("SIGKILL");
    await server.process.ended();
    while (await answers(server.metricsUrl)) await sleep(20);
    // A server beside its launcher notices, and stops in good order.
    expect(server.process.err.includes('"msg":"stopped"')).toBe(way === "beside itself");
  });
});

const answers = (url: string) =>
  fetch(`${url}/healthz`).then(
    () => true,
    () => false,
  );
