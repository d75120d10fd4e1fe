// What docs/shell.md says of processes that a command leaves running: they go on after the release.

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { freshSqlite } from "../support/database.ts";
import { until } from "../support/until.ts";
import { processStage } from "./stage.ts";

const stage = processStage();

test("a process that the command leaves running goes on after the release, beside the next holder", async () => {
  const { grpcAddress: ROWLOCK_ADDR } = await stage.serving(await stage.database(freshSqlite));
  const folder = stage.folder();
  const [gate, late] = [join(folder, "gate"), join(folder, "late")];
  execFileSync("mkfifo", [gate]);
  const leaves = `(read -r line <'${gate}'; echo "$line" >'${late}') >/dev/null 2>&1 &`;
  const run = (script: string) =>
    stage.rowlock(["run", "job", "--no-wait", "sh", "-c", script], { ROWLOCK_ADDR }).ended();
  expect(await run(leaves)).toMatchObject({ code: 0 });
  // The next holder lets it go on, and sees it at work.
  expect(await run(`echo "beside $ROWLOCK_TOKEN" >'${gate}'`)).toMatchObject({ code: 0 });
  await until(async () => existsSync(late) && readFileSync(late, "utf8") !== "");
  expect(readFileSync(late, "utf8")).toBe("beside 2\n");

  // As the document says: with a wait, the command ends when all has ended.
  writeFileSync(late, "");
  const waiting = run(`${leaves} wait`);
  execFileSync("sh", ["-c", `echo own >'${gate}'`]);
  expect(await waiting).toMatchObject({ code: 0 });
  expect(readFileSync(late, "utf8")).toBe("own\n");
});
