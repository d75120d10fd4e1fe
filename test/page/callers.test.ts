// Who may read what on the page, and who may change something.

import { describe, expect, test } from "vitest";
import { isLoopback } from "../../server/config/addresses.ts";
import { lasting } from "../support/lasting.ts";
import { knownCallers, knownPolicy, type PageServer, startPageServer } from "./page-stage.ts";
import { posted } from "./requests.ts";

const POLICY = `
rules:
  - { who: token:all, may: [read, use, operate], on: "*" }
  - { who: token:reader, may: read, on: etl/* }
  - { who: token:operator, may: [read, operate], on: etl/* }
  - { who: token:turner, may: [read, SetLimit], on: etl/* }
  - { who: token:user, may: use, on: etl/* }
`;
const NAMES = ["all", "reader", "operator", "turner", "user", "stranger"];

/** Verbs, with a request for the lock. */
const READS: readonly [string, (name: string) => object][] = [
  ["GetLock", (name) => ({ name })],
  ["ListLocks", (prefix) => ({ prefix })],
  ["ListLimits", (prefix) => ({ prefix })],
  ["ListClaims", (lockName) => ({ lockName })],
  ["ListChanges", (lockName) => ({ lockName })],
  ["ExplainWait", (name) => ({ name })],
  ["WatchLocks", (prefix) => ({ prefix })],
];
const ACTS: readonly [string, (name: string) => object][] = [
  ["SetLimit", (name) => ({ name, limit: 2, reason: "more" })],
  ["UpdateRecord", (name) => ({ name, status: "new" })],
  ["ForceRelease", (name) => ({ name, reason: "it hangs" })],
];

async function withPolicy(policy: string | null = POLICY) {
  const { access, tokens } = knownCallers(NAMES, policy);
  const server = await startPageServer({ gate: access });
  return { server, access, tokens: tokens as Record<string, string> };
}

/** The status and the reason of the answer. */
async function outcome(server: PageServer, verb: string, body: object, token?: string): Promise<string> {
  if (verb === "WatchLocks") {
    const watch = await server.watch("prefix" in body ? String(body.prefix) : "", token);
    if (watch.status !== 200) return `${watch.status} ${(await watch.refusal()).reason}`;
    await watch.until(({ events }) => events.length > 0);
    watch.leave();
    return "200";
  }
  const { status, json } = await server.ask(`/rowlock.v1.LockService/${verb}`, posted(body, token));
  return status === 200 ? "200" : `${status} ${json.reason}`;
}

describe("a server that knows its callers", () => {
  test.each([...READS, ...ACTS])("answers %s only with a token that it knows", async (verb, body) => {
    const { server, tokens } = await withPolicy(null);
    await server.call("UpdateRecord", { name: "etl/a", status: "new" }, tokens.all);
    expect(await outcome(server, verb, body("etl/a"))).toBe("401 CREDENTIALS_MISSING");
    expect(await outcome(server, verb, body("etl/a"), "nobody-has-this-token")).toBe("401 CREDENTIALS_WRONG");
    expect(await outcome(server, verb, body("etl/a"), tokens.stranger)).toBe("200");
    const refused = await server.ask("/rowlock.v1.LockService/GetLock", posted({ name: "etl/a" }));
    expect(refused.headers["www-authenticate"]).toBe('Bearer realm="rowlock"');
  });

  test.each(READS)("answers %s only with the right to read", async (verb, body) => {
    const { server, tokens } = await withPolicy();
    for (const name of ["reader", "operator", "turner"])
      expect(await outcome(server, verb, body("etl/a"), tokens[name]), name).toBe("200");
    for (const name of ["user", "stranger"])
      expect(await outcome(server, verb, body("etl/a"), tokens[name]), name).toBe("403 RIGHT_MISSING");
    expect(await outcome(server, verb, body("web/a"), tokens.reader)).toBe("403 RIGHT_MISSING");
  });

  test.each(ACTS)("answers %s only with the right to it", async (verb, body) => {
    const { server, tokens } = await withPolicy();
    for (const name of ["etl/a", "web/a"])
      await server.call("UpdateRecord", { name, status: "new" }, tokens.all);
    expect(await outcome(server, verb, body("etl/a"), tokens.operator)).toBe("200");
    expect(await outcome(server, verb, body("web/a"), tokens.operator)).toBe("403 RIGHT_MISSING");
    expect(await outcome(server, verb, body("etl/a"), tokens.reader)).toBe("403 RIGHT_MISSING");
    expect(await outcome(server, verb, body("etl/a"), tokens.turner)).toBe(
      verb === "SetLimit" ? "200" : "403 RIGHT_MISSING",
    );
  });

  test("hides the names that the policy hides, in lists and in watches", async () => {
    const { server, tokens } = await withPolicy();
    for (const name of ["etl/a", "etl/b", "web/secret"])
      await server.call("SetLimit", { name, limit: 2, reason: "more" }, tokens.all);
    const names = ({ locks = [] }: { locks?: { name: string }[] }) => locks.map(({ name }) => name);
    expect(names(await server.call("ListLocks", {}, tokens.all))).toEqual(["etl/a", "etl/b", "web/secret"]);
    expect(names(await server.call("ListLocks", {}, tokens.reader))).toEqual(["etl/a", "etl/b"]);
    const listed = [
      await server.ask("/rowlock.v1.LockService/ListLimits", posted({}, tokens.reader)),
      await server.ask("/rowlock.v1.LockService/ListClaims", posted({}, tokens.reader)),
      await server.ask("/rowlock.v1.LockService/ListChanges", posted({}, tokens.reader)),
    ];
    for (const { status, text } of listed) {
      expect(status).toBe(200);
      expect(text).not.toContain("secret");
    }
    const watch = await server.watch("", tokens.reader);
    await watch.until(({ events }) => events.some(({ data }) => data.complete));
    await server.call("SetLimit", { name: "web/secret", limit: 3, reason: "more" }, tokens.all);
    await server.call("SetLimit", { name: "etl/b", limit: 3, reason: "more" }, tokens.all);
    await watch.until(({ locks }) => locks.get("etl/b")?.limit.permits === 3);
    expect([...watch.locks.keys()].sort()).toEqual(["etl/a", "etl/b"]);
  });

  test("ends a watch when its caller's token is withdrawn", async () => {
    const { server, access, tokens } = await withPolicy();
    const watch = await server.watch("etl/", tokens.reader);
    await watch.until(({ events }) => events.length > 0);
    access.replaceTokens(new Map());
    server.grpc.endLost((identity) => identity.ended(Date.now()));
    expect(await watch.end()).toMatchObject({ code: "unauthenticated", reason: "CREDENTIALS_WRONG" });
    expect(await outcome(server, "GetLock", { name: "etl/a" }, tokens.reader)).toBe("401 CREDENTIALS_WRONG");
  });

  test("ends a watch when the policy takes a right away", async () => {
    const { server, access, tokens } = await withPolicy();
    access.onLoss = (loss) => server.grpc.endLost(loss);
    const watch = await server.watch("etl/", tokens.reader);
    await watch.until(({ events }) => events.length > 0);
    access.replacePolicy(knownPolicy("rules: [{ who: token:reader, may: read, on: web/* }]"));
    expect(await watch.end()).toMatchObject({ code: "permission_denied", reason: "RIGHT_MISSING" });
  });

  test("counts the calls of its quota", async () => {
    const { server, tokens } = await withPolicy(
      `${POLICY}quotas: [{ who: "token:reader", calls_per_second: 2 }]`,
    );
    const outcomes = await Promise.all(
      Array.from({ length: 5 }, () => outcome(server, "GetLock", { name: "etl/a" }, tokens.reader)),
    );
    expect(outcomes).toContain("200");
    expect(outcomes).toContain("429 OVERLOADED");
    // The page asks for this once a second, and everybody has to.
    for (let asked = 0; asked < 5; asked += 1)
      expect((await server.ask("/api/about", { token: tokens.reader as string })).status).toBe(200);
  });

  test("takes no token over plain HTTP from another machine", async () => {
    const { access, tokens } = knownCallers(["ops"], null);
    const plain = await startPageServer({ gate: access });
    const ask = (remoteAddress: string, encrypted: boolean) => {
      const socket = { remoteAddress, encrypted } as never;
      const headers = { authorization: `Bearer ${tokens.ops}` };
      try {
        const { principal } = plain.callers.identify({ headers, socket }, "read") as { principal: string };
        return principal;
      } catch (error) {
        return (error as Error).message;
      }
    };
    expect(isLoopback("127.0.0.1")).toBe(true);
    for (const near of ["127.0.0.1", "::1", "::ffff:127.0.0.1"]) expect(ask(near, false)).toBe("token:ops");
    for (const far of ["10.0.0.1", "::ffff:10.0.0.1", "2001:db8::1", ""]) {
      expect(ask(far, false)).toContain("set ROWLOCK_METRICS_TLS");
      expect(ask(far, true)).toBe("token:ops");
    }
    const allowed = await startPageServer({ gate: access, allowPlaintextTokens: true });
    const { signIn } = allowed.callers;
    expect(
      signIn.call(allowed.callers, { headers: {}, socket: { remoteAddress: "10.0.0.1" } as never }),
    ).toEqual({
      signIn: "token",
      mayNotSignIn: null,
    });
  });

  test("by certificates alone says that the page needs a token", async () => {
    const { access } = knownCallers([], null);
    const server = await startPageServer({ gate: access, takesTokens: false });
    const { json } = await server.ask("/api/about");
    expect(json).toMatchObject({
      signIn: "token",
      mayNotSignIn: expect.stringContaining("ROWLOCK_TOKENS_FILE"),
    });
    const refused = await server.call("GetLock", { name: "x" });
    expect(refused).toMatchObject({ reason: "CREDENTIALS_MISSING", message: json.mayNotSignIn });
  });
});

describe("a server that asks nobody who calls", () => {
  test("lets the page read and change everything, if only this machine reaches it", async () => {
    const server = await startPageServer();
    await server.client.lease({ name: "etl/a", terms: lasting() });
    for (const [verb, body] of [...READS, ...ACTS])
      expect(await outcome(server, verb, body("etl/a")), verb).toBe("200");
  });

  test.each(["0.0.0.0", "::", "10.0.0.1", "rowlock-1"])(
    "on %s, lets the page only read",
    async (listenHost) => {
      const server = await startPageServer({ strangersMayAct: isLoopback(listenHost) });
      await server.client.lease({ name: "etl/a", terms: lasting() });
      for (const [verb, body] of READS) expect(await outcome(server, verb, body("etl/a")), verb).toBe("200");
      for (const [verb, body] of ACTS) {
        const { status, json } = await server.ask(`/rowlock.v1.LockService/${verb}`, posted(body("etl/a")));
        expect([status, json.code, json.reason]).toEqual([403, "permission_denied", "RIGHT_MISSING"]);
        expect(json.message).toContain("the page only reads");
      }
      expect((await server.client.call("getLock", { name: "etl/a" })).lock?.holders).toHaveLength(1);
    },
  );

  const [OLD, NEW] = ["a-token-for-the-metrics", "another-token-for-them"];

  test("but for its metrics, asks for one of their tokens", async () => {
    const server = await startPageServer({ metricsToken: OLD });
    expect(await outcome(server, "GetLock", { name: "x" })).toBe("401 CREDENTIALS_MISSING");
    expect(await outcome(server, "GetLock", { name: "x" }, NEW)).toBe("401 CREDENTIALS_WRONG");
    expect(await outcome(server, "GetLock", { name: "x" }, OLD)).toBe("200");
    expect((await server.ask("/api/activity")).status).toBe(401);
    expect((await server.ask("/api/about", { token: OLD })).json).toMatchObject({
      signIn: "token",
      principal: null,
      version: "1.2.3",
      mayAct: true,
    });
    const watch = await server.watch("", OLD);
    await watch.until(({ events }) => events.length > 0);
    server.metricsTokens.replace([NEW]);
    server.grpc.endLost((identity) => identity.ended(Date.now()));
    expect(await watch.end()).toMatchObject({ reason: "CREDENTIALS_WRONG" });
  });
});

describe("about", () => {
  test("says which server this is", async () => {
    const server = await startPageServer();
    const { status, json } = await server.ask("/api/about");
    expect(status).toBe(200);
    expect(json).toEqual({
      version: "1.2.3",
      database: "SQLite 3",
      replica: String(server.engine.replica),
      ready: true,
      notReady: null,
      signIn: "none",
      mayNotSignIn: null,
      principal: null,
      mayAct: true,
      whyNot: null,
      now: expect.any(Number),
    });
  });

  test("says who has signed in, and whether they may change anything", async () => {
    const { server, tokens } = await withPolicy();
    const about = async (token?: string) =>
      (await server.ask("/api/about", token === undefined ? {} : { token })).json;
    expect(await about(tokens.operator)).toMatchObject({
      principal: "token:operator",
      mayAct: true,
      whyNot: null,
    });
    expect(await about(tokens.turner)).toMatchObject({ principal: "token:turner", mayAct: true });
    expect(await about(tokens.reader)).toMatchObject({
      principal: "token:reader",
      mayAct: false,
      whyNot: expect.stringContaining("token:reader"),
    });
  });

  test("says nothing of the server to somebody who has not signed in", async () => {
    const { server } = await withPolicy();
    const { status, json } = await server.ask("/api/about");
    expect(status).toBe(200);
    expect(json).toMatchObject({
      signIn: "token",
      version: null,
      database: null,
      replica: null,
      mayAct: false,
    });
  });
});

describe("rights", () => {
  const ALL = { forceRelease: true, setLimit: true, updateRecord: true };
  const NONE = { forceRelease: false, setLimit: false, updateRecord: false };

  test("are those of the policy, by name and by pattern", async () => {
    const { server, tokens } = await withPolicy();
    const rights = async (name: string, query: string) =>
      (await server.ask(`/api/rights?${query}`, { token: tokens[name] as string })).json;
    expect(await rights("operator", "name=etl/a")).toEqual(ALL);
    expect(await rights("operator", "name=web/a")).toEqual(NONE);
    expect(await rights("turner", "name=etl/a")).toEqual({ ...NONE, setLimit: true });
    expect(await rights("reader", "name=etl/a")).toEqual(NONE);
    expect(await rights("operator", "pattern=etl/*")).toEqual({ ...NONE, setLimit: true });
    expect(await rights("operator", "pattern=etl/x/*")).toEqual({ ...NONE, setLimit: true });
    expect(await rights("operator", "pattern=e*")).toEqual(NONE);
    expect(await rights("all", "pattern=*")).toEqual({ ...NONE, setLimit: true });
    expect(await rights("all", `name=${encodeURIComponent("a&b ü/*")}`)).toEqual(ALL);
  });

  test("of an open server are all or none", async () => {
    expect((await (await startPageServer()).ask("/api/rights?name=x")).json).toEqual(ALL);
    expect(
      (await (await startPageServer({ strangersMayAct: false })).ask("/api/rights?name=x")).json,
    ).toEqual(NONE);
  });

  test.each(["", "?", "?name=a&pattern=b*", "?pattern=b", "?other=x"])(
    "asked as %j are refused",
    async (query) => {
      const { status, json } = await (await startPageServer()).ask(`/api/rights${query}`);
      expect([status, json.reason]).toEqual([400, "BAD_REQUEST"]);
    },
  );
});

test("the activity is for everybody who may read any lock", async () => {
  const { server, tokens } = await withPolicy();
  const activity = async (token?: string) =>
    (await server.ask("/api/activity", token === undefined ? {} : { token })).status;
  expect(await activity()).toBe(401);
  expect(await activity(tokens.reader)).toBe(200);
  expect(await activity(tokens.stranger)).toBe(403);
});
