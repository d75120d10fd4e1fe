// `rowlock serve` as a process: the banner, a call, the pages for operators, the end by a signal.

import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fromJsonString } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { AcquireRequestSchema } from "#proto/rowlock/v1/lock_service_pb.js";
import { versionOf } from "../../server/config/version.ts";
import { freshSqlite, testDatabases } from "../support/database.ts";
import { TestCalls } from "../support/test-calls.ts";
import { hang } from "./hanging-call.ts";
import { screenOf, serveArgs } from "./server-process.ts";
import { processStage } from "./stage.ts";

/** Slightly less than in main.ts, because main.ts counts from the signal's arrival. */
const SECOND_WISH_AFTER_MS = 1_000;
const SIGNAL_EVERY_MS = 50;

const { afterwards, database, rowlock: start } = processStage();

function connect(address: string): TestCalls {
  const client = new TestCalls(address);
  afterwards(() => client.close());
  return client;
}

describe.each(testDatabases())("on $label", ({ kind, fresh }) => {
  test("a server prints its address, grants a lock, and shows itself to operators", async () => {
    const url = await database(fresh);
    const server = await screenOf(start(serveArgs(url)));
    // The version is the same everywhere, with the commit if it is known.
    const version = versionOf(join(import.meta.dirname, "../../server"));
    expect(version).toMatch(/^\d+\.\d+\.\d+(\+[0-9a-f]{7})?$/);
    expect(server.screen).toContain(`Rowlock ${version}\n`);
    await server.process.logged(new RegExp(`"version":"${version.replace("+", "\\+")}"`));
    if (kind !== "sqlite")
      expect((await start(["doctor", "--database-url", url]).exited).out).toContain(
        `: version ${version}, level `,
      );
    expect(server.screen).toMatch(kind === "sqlite" ? /database +SQLite/ : /database +(MySQL|MariaDB)/);
    expect(server.screen).toMatch(
      new RegExp(`npx rowlock run demo --addr ${server.grpcAddress} -- echo "my turn"\n[^]*curl -sS -H`),
    );

    // The call that it prints is one of the contract: an unknown field throws.
    const [, printed = ""] = /curl .* -d '(.*)' http/.exec(server.screen) ?? [];
    const client = connect(server.grpcAddress);
    const { leaseId } = await client.lease(fromJsonString(AcquireRequestSchema, printed));
    expect(await client.call("release", { leaseId })).toMatchObject({ released: true });

    const get = async (path: string) => {
      const response = await fetch(`${server.metricsUrl}${path}`);
      return { status: response.status, text: await response.text() };
    };
    expect(await get("/healthz")).toEqual({ status: 200, text: "ok\n" });
    expect(await get("/readyz")).toEqual({ status: 200, text: "ready\n" });
    const { text } = await get("/metrics");
    expect(text).toMatch(/^rowlock_acquires_total\{class="other",mode="permit",outcome="granted"\} 1$/m);
    expect(text).toMatch(/^rowlock_grpc_calls_total\{method="Acquire",via="call",code="OK"\} 1$/m);
    expect(text).toMatch(
      /^rowlock_build_info\{version="[\d.]+(?:\+\w+)?",node="[\d.]+",database="(SQLite|MySQL|MariaDB) .*"\} 1$/m,
    );
    expect(text).toMatch(/^rowlock_transaction_duration_seconds_count\{outcome="committed"\} \d+$/m);
    expect(text).toContain(`rowlock_build_info{version="${version}",`);
    expect(text).not.toContain("demo");

    server.process.kill("SIGTERM");
    const { code, err } = await server.process.exited;
    expect(code).toBe(0);
    expect(err).not.toContain(leaseId);
  });
});

describe("a call that never ends", () => {
  async function serving(...more: string[]) {
    const { url, drop } = await freshSqlite();
    afterwards(drop);
    const server = await screenOf(start(serveArgs(url, ...more)));
    afterwards(await hang(server.grpcAddress));
    return server.process;
  }

  test("is cut off when the time to drain is over", async () => {
    const server = await serving("--drain-timeout", "500ms");
    server.kill("SIGTERM");
    expect(await server.exited).toMatchObject({ code: 0 });
  });

  test("is ended by a second signal that comes a second after the first", async () => {
    const server = await serving("--drain-timeout", "10m");
    const signalledAt = performance.now();
    server.kill("SIGINT");
    await server.logged(/"stopping"/);
    let gone = false;
    void server.exited.then(() => {
      gone = true;
    });
    // Repeats the signal: one that comes too early does not count, and a hang-up never does.
    while (!gone) {
      server.kill("SIGHUP");
      server.kill("SIGTERM");
      await setTimeout(SIGNAL_EVERY_MS);
    }
    expect(await server.exited).toMatchObject({ code: 143 });
    expect(performance.now() - signalledAt).toBeGreaterThan(SECOND_WISH_AFTER_MS);
  });
});
