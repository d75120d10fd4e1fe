// Two complete servers, the second of which is started on a new SQLite file at the path of the first one's: only one of
// them is ready, and a lock has one holder.

import { mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { until } from "../support/until.ts";
import { readiness, start } from "./whole-server.ts";

test("a server whose SQLite file is moved away is out of service before anybody asks it, and says in one line what to do", async () => {
  const folder = mkdtempSync(join(tmpdir(), "rowlock-replaced-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
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
