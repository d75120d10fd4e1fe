// A real server that asks who calls: what happens to sessions, waits and leases when its files change while it runs, and
// quotas. That a session ends with its JWT is in test/clients/conformance.

import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { newToken } from "../../server/access/tokens-file.ts";
import { BareSession } from "../support/session-client.ts";
import { TestCalls, withTtl } from "../support/test-calls.ts";
import { processStage } from "./stage.ts";

const stage = processStage();
/** A request for a minute. */
const asks = (name: string) => ({ name, terms: withTtl(60) });
/** From the change of a file to the end of a session. A busy machine may take a little longer than the second promised. */
const SOON_MS = 3_000;

let folder: string;
const path = (name: string) => join(folder, name);
/** Replaces the file at once, as Kubernetes and careful scripts do. */
function put(name: string, text: string): string {
  writeFileSync(path(`${name}.new`), text);
  renameSync(path(`${name}.new`), path(name));
  return path(name);
}

const policyOf = (...rules: string[]) => `rules:\n${rules.map((rule) => `  - ${rule}\n`).join("")}`;
const USE_ALL = '{ who: "*", may: [read, use], on: "*" }';

beforeEach(() => {
  folder = stage.folder();
});

function callsWith(address: string, token: string): TestCalls {
  const client = new TestCalls(address, { headers: { authorization: `Bearer ${token}` } });
  stage.afterwards(() => client.close());
  return client;
}

/** The session shows a lock: it goes on, and has the right. */
async function seen(session: BareSession, name: string): Promise<void> {
  const [call] = session.ask({ case: "getLock", value: { name } });
  expect((await session.last(call as bigint)).case).toBe("getLock");
}

/** The error with which the session ends. */
const failed = (ended: Promise<unknown>) =>
  ended.then(
    () => "It has ended in good order.",
    (error: unknown) => error,
  );

describe("a server with a tokens file and a policy", () => {
  const [nightly, other] = [newToken("nightly"), newToken("other")];

  async function start() {
    const tokens = put("tokens", `${nightly.line}\n${other.line}\n`);
    const policy = put("policy", policyOf(USE_ALL));
    const server = await stage.serving("sqlite::memory:", "--tokens-file", tokens, "--policy-file", policy);
    return {
      ...server,
      nightly: callsWith(server.grpcAddress, nightly.token),
      other: callsWith(server.grpcAddress, other.token),
    };
  }

  test("ends the sessions and waits of a token that is removed, keeps their leases, and leaves others alone", async () => {
    const server = await start();
    const session = new BareSession(server.nightly);
    const kept = new BareSession(server.other);
    const { leaseId } = await server.nightly.lease(asks("held"));
    const value = { ...asks("held"), requestId: "w" };
    const wait = server.nightly.wait({ target: { case: "request", value } });
    await wait.position();
    const fromMs = performance.now();
    put("tokens", `${other.line}\n`);
    expect(await failed(session.ended)).toMatchObject({
      code: "UNAUTHENTICATED",
      reason: "CREDENTIALS_WRONG",
    });
    expect(await wait.failure()).toMatchObject({ reason: "CREDENTIALS_WRONG" });
    expect(performance.now() - fromMs).toBeLessThan(SOON_MS);
    await expect(server.nightly.call("renew", { leaseId })).rejects.toMatchObject({
      reason: "CREDENTIALS_WRONG",
    });
    // Another caller with the id and the right keeps the lease: it is still there.
    await server.other.call("renew", { leaseId });
    await seen(kept, "held");
  });
});

test("a server that others can reach says who may do what, or that it will not start", async () => {
  const started = (...more: string[]) => {
    const where = "--listen 0.0.0.0:0 --metrics-listen off --database-url sqlite::memory:".split(" ");
    return stage.rowlock(["serve", ...where, "--allow-plaintext", ...more]);
  };
  await started().logged(/everybody who reaches this server may do everything/);
  const refused = started("--tokens-file", put("tokens", `${newToken("a").line}\n`));
  expect((await refused.exited).err).toContain("ROWLOCK_ALLOW_PLAINTEXT_TOKENS=true");
});

test("a caller beyond its quota sees which, keeps what it has, and others are served", async () => {
  const [greedy, other] = [newToken("greedy"), newToken("other")];
  const quota = "{ who: token:greedy, claims: 3, waiters: 1, sessions: 1, new_names_per_minute: 5 }";
  const tokens = put("tokens", `${greedy.line}\n${other.line}\n`);
  const policy = put("policy", `${policyOf(USE_ALL)}quotas:\n  - ${quota}\n`);
  const server = await stage.serving("sqlite::memory:", "--tokens-file", tokens, "--policy-file", policy);
  const calls = callsWith(server.grpcAddress, greedy.token);
  const others = callsWith(server.grpcAddress, other.token);
  const overloaded = (bound: string) => ({
    code: "RESOURCE_EXHAUSTED",
    reason: "OVERLOADED",
    metadata: { bound },
  });

  const leases = [await calls.lease(asks("a")), await calls.lease(asks("b"))];
  await calls.ticket(asks("a"));
  await expect(calls.lease(asks("c"))).rejects.toMatchObject(overloaded("quota_claims"));
  await others.lease(asks("c"));
  for (const { leaseId } of leases) await calls.call("renew", { leaseId });
  await calls.call("release", { leaseId: leases[1]?.leaseId ?? "" });
  await expect(calls.ticket(asks("c"))).rejects.toMatchObject(overloaded("quota_waiters"));

  const session = new BareSession(calls);
  await seen(session, "a");
  await expect(failed(new BareSession(calls).ended)).resolves.toMatchObject(overloaded("quota_sessions"));
  await seen(session, "a");
  session.end();
  await session.ended;

  const outcomes: string[] = [];
  for (let name = 0; name < 8; name++) {
    const { leaseId } = await calls.lease(asks(`new ${name}`)).catch((error) => {
      outcomes.push(error.metadata.bound);
      return { leaseId: "" };
    });
    if (leaseId !== "") await calls.call("release", { leaseId });
  }
  expect(new Set(outcomes)).toEqual(new Set(["quota_names"]));
  await others.lease(asks("new for others"));
});

test("a caller with as many records as its quota allows makes no more, and changes, releases and deletes what it has", async () => {
  const [maker, other] = [newToken("maker"), newToken("other")];
  const rights = '{ who: "*", may: [read, use, operate, admin], on: "*" }';
  const tokens = put("tokens", `${maker.line}\n${other.line}\n`);
  const policy = put("policy", `${policyOf(rights)}quotas:\n  - who: token:maker\n    records: 2\n`);
  const start = async () => {
    const args = ["--tokens-file", tokens, "--policy-file", policy];
    const server = await stage.serving(`sqlite:${path("locks.db")}`, ...args);
    const [calls, others] = [maker, other].map(({ token }) => callsWith(server.grpcAddress, token));
    return { server, calls: calls as TestCalls, others: others as TestCalls };
  };
  const full = {
    code: "RESOURCE_EXHAUSTED",
    reason: "OVERLOADED",
    metadata: { bound: "quota_records" },
    retryAfterMs: expect.any(Number),
  };
  const { server, calls, others } = await start();
  const makes = (name: string, status = "new") => calls.call("updateRecord", { name, status });

  await makes("a");
  await others.put("of others");
  const results = await Promise.allSettled([makes("b"), makes("c")]);
  expect(results.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
  const [b, c] = results[0]?.status === "fulfilled" ? ["b", "c"] : ["c", "b"];
  await expect(makes(c as string)).rejects.toMatchObject(full);
  await others.put(c as string);
  for (const name of ["a", b as string, c as string, "of others"]) await makes(name, "changed");

  // The end of a lease may make one more, for its holder.
  const { leaseId } = await calls.lease(asks("d"));
  await calls.call("renew", { leaseId });
  await calls.call("release", { leaseId, status: "done" });
  await calls.call("deleteRecord", { name: "a" });
  await expect(makes("e")).rejects.toMatchObject(full);
  await others.call("deleteRecord", { name: "d" });
  await makes("e");
  await expect(makes("f")).rejects.toMatchObject(full);

  // The records from before count as soon as a server takes calls.
  server.process.kill("SIGTERM");
  await server.process.exited;
  const again = await start();
  const makesAgain = (name: string) => again.calls.put(name);
  await expect(makesAgain("f")).rejects.toMatchObject(full);
  await makesAgain("e");
  await again.calls.call("deleteRecord", { name: "e" });
  await makesAgain("f");
});
