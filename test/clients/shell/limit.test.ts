// A limit for a pattern that some server may not apply yet: the shell says so, and what to do.

import { afterEach, expect, test } from "vitest";
import type { LockEngine } from "../../../server/engine/engine.ts";
import { ranInProcess } from "../../cli/in-process.ts";
import { startServer, type TestServer } from "../../support/harness.ts";

let server: TestServer;
afterEach(() => server.stop());

/** A server whose answer to a limit by pattern says that this many other servers have not confirmed it yet. */
async function start(serversBehind: number): Promise<void> {
  const wrapEngine = (engine: LockEngine) =>
    new Proxy(engine, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (name === "setLimitRule")
          return async (...asked: Parameters<LockEngine["setLimitRule"]>) => ({
            ...(await target.setLimitRule(...asked)),
            serversBehind,
          });
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  server = await startServer({ wrapEngine });
}

const limit = (...words: string[]) =>
  ranInProcess(["limit", "--pattern", "etl/*", "0", ...words], { ROWLOCK_ADDR: server.address });

test.each([
  [1, "1 server has"],
  [3, "3 servers have"],
])("%d lagging servers are counted, with advice", async (serversBehind, counted) => {
  await start(serversBehind);
  const { code, out, err } = await limit();
  expect([code, out]).toEqual([0, expect.stringMatching(/^etl\/\*: limit 0 /)]);
  expect(err).toMatch(new RegExp(`^rowlock: The limit is set, but ${counted} not confirmed it, .*\n$`));
  expect(err).toContain("run this command again");
  const inJson = await limit("--json");
  expect(JSON.parse(inJson.out)).toMatchObject({ pattern: "etl/*", serversBehind });
});

test("nothing is printed if all servers use the limit", async () => {
  await start(0);
  expect(await limit()).toMatchObject({ code: 0, err: "" });
  expect(JSON.parse((await limit("--json")).out)).toMatchObject({ serversBehind: 0 });
});
