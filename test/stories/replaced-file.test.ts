// Two complete servers, the second of which is started on a new SQLite file at the path of the first one's: only one of
// them is ready, and a lock has one holder.

import { mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { type App, startApp } from "../../server/app.ts";
import { loadConfig } from "../../server/config/config.ts";
import { createLog } from "../../server/log/log.ts";
import { parseDatabaseUrl } from "../../server/storage/database-url.ts";
import { TestCalls } from "../support/test-calls.ts";
import { until } from "../support/until.ts";

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each();
});

async function start(databaseUrl: string) {
  const loaded = loadConfig({
    argvFlags: {},
    env: {
      ROWLOCK_DATABASE_URL: databaseUrl,
      ROWLOCK_LISTEN: "127.0.0.1:0",
      ROWLOCK_METRICS_LISTEN: "127.0.0.1:0",
      ROWLOCK_DRAIN_TIMEOUT: "200ms",
    },
    readFile: (path) => {
      throw new Error(`no ${path} here`);
    },
    parseDatabaseUrl,
  });
  if (!("config" in loaded)) throw new Error(loaded.faults.join("; "));
  const lines: string[] = [];
  const app = await startApp(loaded.config, {
    log: createLog({ level: "warn", write: (line) => void lines.push(line) }),
    version: "1.2.3",
    nodeVersion: "26.0.0",
    memoryMax: Number.POSITIVE_INFINITY,
  });
  undo.push(() => app.stop());
  const client = new TestCalls(app.grpcAddress);
  undo.push(() => client.close());
  return { app, client, lines };
}

const readiness = ({ metricsAddress }: App) => fetch(`http://${metricsAddress}/readyz`);

test("a server whose SQLite file is moved away is out of service before anybody asks it, and says in one line what to do", async () => {
  const folder = mkdtempSync(join(tmpdir(), "rowlock-replaced-"));
  undo.push(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "rowlock.db");
  const first = await start(`sqlite:${path}`);
  const { leaseId } = await first.client.lease({ name: "task" });
  expect((await readiness(first.app)).status).toBe(200);

  renameSync(path, `${path}.old`);
  await until(async () => !(await readiness(first.app)).ok);
  expect(await (await readiness(first.app)).text()).toContain("file_changed");
  const said = first.lines.filter((line) => line.includes("rowlock restored"));
  expect(said).toHaveLength(1);
  expect(said[0]).toContain("removed, moved or replaced");

  const second = await start(`sqlite:${path}`);
  expect((await readiness(second.app)).status).toBe(200);
  await second.client.lease({ name: "task" });
  const refused = { code: "UNAVAILABLE" };
  await expect(first.client.call("renew", { leaseId })).rejects.toMatchObject(refused);
  await expect(first.client.lease({ name: "other" })).rejects.toMatchObject(refused);
  await expect(first.client.call("getLock", { name: "task" })).rejects.toMatchObject(refused);
});
