// The page of a real server: who has signed in, what the log and the metrics say of it, and files that change.

import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { newToken } from "../../server/access/tokens-file.ts";
import { EventReader } from "../page/event-reader.ts";
import { type Answered, answered, posted, sent } from "../page/requests.ts";
import { freshSqlite } from "../support/database.ts";
import { TestCalls } from "../support/test-calls.ts";
import { type RunningServer, screenOf, serveArgs } from "./server-process.ts";
import { metric, processStage } from "./stage.ts";

const stage = processStage();
const TTL = { seconds: 600n, nanos: 0 };
const POLICY = `
rules:
  - { who: token:ops, may: [read, use, operate], on: "*" }
  - { who: token:reader, may: read, on: etl/* }
`;

let folder: string;
/** Replaces the file at once, as careful scripts do. */
function put(name: string, text: string): string {
  writeFileSync(join(folder, `${name}.new`), text);
  renameSync(join(folder, `${name}.new`), join(folder, name));
  return join(folder, name);
}

beforeEach(() => {
  folder = stage.folder();
});

const portOf = ({ metricsUrl }: RunningServer) => Number(new URL(metricsUrl).port);

async function call(server: RunningServer, verb: string, body: object, token?: string): Promise<Answered> {
  return answered(await sent(portOf(server), `/rowlock.v1.LockService/${verb}`, posted(body, token)));
}

async function watch(server: RunningServer, token?: string): Promise<EventReader> {
  const reader = new EventReader(
    await sent(portOf(server), "/rowlock.v1.LockService/WatchLocks", posted({}, token)),
  );
  stage.afterwards(() => reader.leave());
  await reader.until(({ events }) => events.length > 0);
  return reader;
}

test("operators act under their names, everybody sees what the policy lets them, and files that change count", async () => {
  const [ops, reader] = [newToken("ops"), newToken("reader")];
  const url = await stage.database(freshSqlite);
  const tokens = put("tokens", `${ops.line}\n${reader.line}\n`);
  const args = serveArgs(url, "--tokens-file", tokens, "--policy-file", put("policy.yaml", POLICY));
  const server = await screenOf(stage.rowlock(args));
  const client = new TestCalls(server.grpcAddress, { headers: { authorization: `Bearer ${ops.token}` } });
  stage.afterwards(() => client.close());
  expect(server.screen).toContain(`  page      ${server.metricsUrl}/\n`);
  for (const name of ["etl/a", "web/a"])
    await client.lease({ name, terms: { lasting: { case: "ttl", value: TTL }, owner: "anna" } });

  expect((await call(server, "ListLocks", {})).status).toBe(401);
  const { json } = await call(server, "ListLocks", {}, reader.token);
  expect(json.locks.map(({ name }: { name: string }) => name)).toEqual(["etl/a"]);
  const refused = await call(server, "ForceRelease", { name: "etl/a", reason: "it hangs" }, reader.token);
  expect([refused.status, refused.json.reason]).toEqual([403, "RIGHT_MISSING"]);

  const byOps = await watch(server, ops.token);
  const byReader = await watch(server, reader.token);
  const released = await call(server, "ForceRelease", { name: "etl/a", reason: "it hangs" }, ops.token);
  expect(released.json.ended).toMatchObject([{ owner: "anna" }]);
  await byReader.until(({ locks }) => locks.get("etl/a")?.holders === undefined);
  const [line] = await server.process.logged(/^.*it hangs.*$/m);
  expect(JSON.parse(line)).toMatchObject({
    lock: "etl/a",
    peer: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
  });
  const { json: history } = await call(server, "ListChanges", { lockName: "etl/a" }, ops.token);
  expect(history.changes).toMatchObject([{ changedBy: "token:ops", reason: "it hangs" }]);
  const calls = (method: string, code: string) =>
    metric(server, `rowlock_grpc_calls_total{method="${method}",via="http",code="${code}"}`);
  expect([await calls("ForceRelease", "OK"), await calls("ForceRelease", "PERMISSION_DENIED")]).toEqual([
    1, 1,
  ]);
  expect(await metric(server, 'rowlock_bound_used{bound="page_watches",kind="room"}')).toBe(2);

  put("tokens", `${ops.line}\n`);
  expect(await byReader.end()).toMatchObject({ code: "unauthenticated", reason: "CREDENTIALS_WRONG" });
  expect((await call(server, "ListLocks", {}, reader.token)).status).toBe(401);
  put("policy.yaml", POLICY.replace("read, use, operate", "read"));
  expect(await byOps.end()).toMatchObject({ code: "permission_denied", reason: "RIGHT_MISSING" });
});

test("ROWLOCK_PAGE=false leaves only the pages for programs", async () => {
  const server = await stage.serving(await stage.database(freshSqlite), "--page", "false");
  expect(server.screen).toContain("  page      off\n");
  for (const path of ["/", "/page/page.js", "/api/about"]) {
    const answer = await answered(await sent(portOf(server), path, {}));
    expect(answer).toMatchObject({
      status: 404,
      text: "Not found. There are /metrics, /healthz, /readyz.\n",
    });
  }
});
