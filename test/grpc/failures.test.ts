// Calls that fail: bad requests, engine faults, bugs.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RowlockError } from "../../clients/typescript/src/bare/index.ts";
import type { LockEngine } from "../../server/engine/engine.ts";
import { Fault } from "../../server/engine/faults.ts";
import type { TestServer } from "../support/harness.ts";
import { replacing, startServer } from "../support/harness.ts";
import { violationsIn } from "../support/test-calls.ts";

let server: TestServer;
/** While set, the engine runs this instead of its work. */
let injected: (() => never) | undefined;
const VERBS: readonly (keyof LockEngine)[] = [
  "acquire",
  "attach",
  "ask",
  "setLimitRule",
  "view",
  "views",
  "limits",
];

beforeAll(async () => {
  server = await startServer({ wrapEngine: failing });
});
afterAll(() => server.stop());

function failing(engine: LockEngine): LockEngine {
  const verbs = VERBS.map((verb) => [
    verb,
    (...args: unknown[]) => {
      injected?.();
      return (engine as unknown as Record<string, (...args: unknown[]) => unknown>)[verb]?.(...args);
    },
  ]);
  return replacing(engine, Object.fromEntries(verbs));
}

/** How each method fails, by method name. */
async function failures(): Promise<Record<string, RowlockError>> {
  const leaseId = "1.1.abcdefghijklmnopqrstuv";
  const target = { case: "name" as const, value: "x" };
  const calls = {
    acquire: server.client.call("acquire", { name: "x" }),
    renew: server.client.call("renew", { leaseId }),
    release: server.client.call("release", { leaseId }),
    setLimit: server.client.call("setLimit", { target, newLimit: { case: "limit", value: 1 } }),
    setLimitRule: server.client.call("setLimit", {
      target: { case: "pattern", value: "x*" },
      newLimit: { case: "limit", value: 1 },
    }),
    getLock: server.client.call("getLock", { name: "x" }),
    listLocks: server.client.call("listLocks", {}),
    listLimits: server.client.call("listLimits", {}),
    forceRelease: server.client.call("forceRelease", { target, reason: "r" }),
  };
  const failed = Object.entries(calls).map(async ([name, call]) => [
    name,
    await call.then(
      () => undefined,
      (error: unknown) => error,
    ),
  ]);
  const stream = server.client.wait({ target: { case: "request", value: { name: "x" } } });
  return { ...Object.fromEntries(await Promise.all(failed)), waitInQueue: await stream.failure() };
}

function errorOf(call: Promise<unknown>): Promise<RowlockError> {
  return call.then(
    () => Promise.reject(new Error("expected a failure")),
    (error: RowlockError) => error,
  );
}

async function withInjected<Result>(thrower: () => never, run: () => Promise<Result>): Promise<Result> {
  injected = thrower;
  try {
    return await run();
  } finally {
    injected = undefined;
  }
}

describe("an invalid request", () => {
  test("gets all its violations at once, and changes nothing", async () => {
    const failure = server.client.call("acquire", {
      name: "",
      mode: 9 as never,
      permits: 2_000_000,
      requestId: "\0mine",
      terms: { lasting: { case: "ttl", value: { seconds: 0n, nanos: 0 } }, owner: "o".repeat(256) },
    });
    const failed = await errorOf(failure);
    expect(failed).toMatchObject({
      code: "INVALID_ARGUMENT",
      reason: "BAD_REQUEST",
      message: expect.stringMatching(/^mode: .* \(and 5 more in the details\)$/),
    });
    expect(violationsIn(failed)).toEqual({
      name: expect.stringContaining("is required"),
      mode: expect.stringContaining("is 9"),
      permits: "is 2000000; take at most 1000000",
      request_id: expect.stringContaining("NUL"),
      "terms.ttl": "is 0 s; use 1 s to 24 days",
      "terms.owner": "is 256 bytes long; use at most 255 bytes of UTF-8",
    });
    expect(server.events).toEqual([]);
  });

  test("may have every possible violation, and they still fit into the trailer", async () => {
    const long = "ü".repeat(200);
    const labels = Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`${index}${long}`, long]));
    const terms = { owner: long, labels };
    const request = { name: long, requestId: long, terms, permits: 2_000_000 };
    const failed = await errorOf(server.client.call("acquire", request));
    expect(failed.reason).toBe("BAD_REQUEST");
    expect(failed.violations.length).toBeGreaterThan(20);
  });
});

describe("a fault of the engine", () => {
  const throwing = (kind: Fault["kind"], reason: string) => () => {
    throw new Fault(kind, reason, "It cannot be done now.", { retryAfterMs: 1_500 });
  };

  test("reports on every method that the database is unavailable, and when to retry", async () => {
    const failed = await withInjected(throwing("unavailable", "connection_lost"), failures);
    expect(Object.keys(failed)).toHaveLength(10);
    for (const [method, failure] of Object.entries(failed)) {
      expect(failure, method).toMatchObject({
        code: "UNAVAILABLE",
        reason: "DATABASE_UNAVAILABLE",
        retryAfterMs: 1_500,
      });
    }
    const lines = server.logLines.filter(({ fields }) => fields.reason === "DATABASE_UNAVAILABLE");
    expect(lines).toMatchObject([{ level: "warn", fields: { suppressed: 0, err: expect.any(Fault) } }]);
  });
});

describe("a bug", () => {
  const CAUSE = "SELECT secret FROM rowlock_claim";

  test("in any method is reported as an incident, with its cause only in the log", async () => {
    const failed = await withInjected(() => {
      throw new Error(CAUSE);
    }, failures);
    const incidents = new Set<string>();
    for (const [method, failure] of Object.entries(failed)) {
      expect(failure, method).toMatchObject({
        code: "INTERNAL",
        reason: "INTERNAL",
        retryAfterMs: undefined,
      });
      const incident = failure.metadata.incident as string;
      expect(incident).toMatch(/^[0-9a-f]{16}$/);
      expect(failure.message).toContain(incident);
      expect(JSON.stringify({ ...failure, message: failure.message })).not.toContain(CAUSE);
      const lines = server.logLines.filter(({ fields }) => fields.incident === incident);
      expect(lines).toMatchObject([{ level: "error", fields: { err: { message: CAUSE } } }]);
      incidents.add(incident);
    }
    expect(incidents.size).toBe(10);
  });

  test("leaves a server that goes on serving", async () => {
    expect((await server.client.lease({ name: "alive" })).fencingToken).toBe(1n);
    const counted = server.calls.filter(({ code }) => code === "INTERNAL").length;
    expect(counted).toBe(10);
    expect(server.openStreams()).toBe(0);
  });
});
