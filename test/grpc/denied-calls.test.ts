// Calls that are refused for who their caller is: which ones, what the answer shows, and what the log has of them.

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { credentialsWrong, rightMissing } from "../../server/access/access-error.ts";
import { DeniedCalls } from "../../server/grpc/call-observer.ts";
import {
  AUDITED_DENIALS_EACH,
  DENIED_ADDRESSES_MAX,
  LOGGED_DENIALS_ALL,
} from "../../server/grpc/grpc-bounds.ts";
import { knownCallers, startPageServer } from "../page/page-stage.ts";
import { until } from "../support/harness.ts";
import {
  callHeaders,
  dataFrames,
  END_HEADERS,
  END_STREAM,
  FRAME,
  frame,
  grpcMessage,
  hpack,
  RawConnection,
} from "../support/http2-frames.ts";
import { SessionClient } from "../support/session-client.ts";
import { CARRIERS, startTenantsServer, type TenantsServer } from "../support/tenants.ts";
import { comeBack, withTtl } from "../support/test-calls.ts";

const POLICY = `
rules:
  - { who: token:root, may: [read, use, operate, admin], on: "*" }
  - { who: token:user, may: [read, use, operate], on: mine/* }
`;
const MINUTE = withTtl(60);

describe("a server with tenants", () => {
  let server: TenantsServer;
  let connection: RawConnection;
  beforeEach(async () => {
    server = await startTenantsServer(POLICY, ["root", "user"]);
    connection = new RawConnection(server.address);
  });
  afterEach(async () => {
    connection.close();
    await server.stop();
  });

  const ends = () => server.calls.length + server.logLines.length;
  let stream = -1;
  /** Sends a call with an empty request. */
  async function call(method: string, ...tokens: readonly string[]) {
    stream += 2;
    const headers: [string, string][] = [
      ...callHeaders(`/rowlock.v1.LockService/${method}`),
      ...tokens.map((token): [string, string] => ["authorization", token]),
    ];
    const before = ends();
    await connection.send(frame(FRAME.headers, stream, hpack(headers), END_HEADERS));
    await connection.send(dataFrames(stream, grpcMessage(Buffer.alloc(0)), END_STREAM));
    await until(() => ends() > before);
  }
  const SEVERAL = {
    level: "warn",
    message: "calls are refused",
    fields: { reason: "CREDENTIALS_WRONG", why: expect.stringContaining("several authorization headers") },
  };

  test("refuses a call with two authorization headers, whichever comes first", async () => {
    const [right, wrong] = [server.bearer("root"), "Bearer wrong"];
    const outcomes: unknown[] = [];
    for (const tokens of [[right], [right, wrong], [wrong, right], [right, right]]) {
      await call("ListLocks", ...tokens);
      outcomes.push(server.calls.at(-1)?.code);
    }
    expect(outcomes).toEqual(["OK", "UNAUTHENTICATED", "UNAUTHENTICATED", "UNAUTHENTICATED"]);
    expect(server.logLines[0]).toMatchObject(SEVERAL);
  });

  test("logs the address of whoever sends no credentials", async () => {
    await call("ListLocks");
    await until(() => server.logLines.length > 0);
    const { localAddress, localPort } = connection.socket;
    const fields = { reason: "CREDENTIALS_MISSING", peer: `${localAddress}:${localPort}` };
    expect(server.logLines).toMatchObject([{ message: "calls are refused", fields }]);
  });

  test("logs each lease that a client may not renew together with others, by the name of its lock", async () => {
    const { leaseId } = await server.clientOf("root").lease({ name: "other/held", terms: MINUTE });
    const user = server.clientOf("user", SessionClient);
    const { leaseId: own } = await user.lease({ name: "mine/a", terms: MINUTE });
    const { leases } = (await user.call(
      "renewLeases" as never,
      { leases: [{ leaseId: own }, { leaseId }] } as never,
    )) as {
      leases: { outcome: { case: string } }[];
    };
    expect(leases.map(({ outcome }) => outcome.case)).toEqual(["lease", "error"]);
    const fields = { reason: "RIGHT_MISSING", principal: "token:user", on: '"other/held"' };
    expect(server.logLines).toMatchObject([{ message: "calls are refused", fields }]);
  });

  test("refuses a session with two authorization headers", async () => {
    await call("Session", server.bearer("root"), "Bearer wrong");
    expect(server.logLines).toMatchObject([SEVERAL]);
    expect(server.openSessions()).toBe(0);
  });

  test.each(["call", "session"] as const)(
    "says the same of ids of others' locks and of none, by %s",
    async (carrier) => {
      const root = server.clientOf("root", CARRIERS[carrier]);
      const user = server.clientOf("user", CARRIERS[carrier]);
      const { leaseId } = await root.lease({ name: "other/held", terms: MINUTE });
      const { ticketId } = await root.ticket({ name: "other/held", terms: MINUTE });
      const ids = [leaseId, ticketId, leaseId.replace(/[^.]+$/, "a".repeat(22)), `zzz.1.${"a".repeat(22)}`];
      const calls = {
        release: (id: string) => user.call("release", { leaseId: id }),
        renew: (id: string) => user.call("renew", { leaseId: id }),
        wait: (id: string) => user.wait(comeBack(id)).position(),
        explain: (id: string) => user.call("explainWait", comeBack(id)),
      };
      for (const call of Object.values(calls)) {
        const answers = await Promise.all(
          ids.map((id) =>
            call(id).then(
              () => "taken",
              ({ code, reason, message, metadata }) => JSON.stringify({ code, reason, message, metadata }),
            ),
          ),
        );
        expect(answers[0]).toContain("RIGHT_MISSING");
        expect(new Set(answers).size).toBe(1);
      }
      // Who may use every lock learns that there is none.
      const release = root.call("release", { leaseId: ids[3] as string });
      await expect(release).rejects.toMatchObject({ reason: "UNKNOWN_CLAIM" });
    },
  );
});

test.each([
  ["the page", "/rowlock.v1.LockService/ListLocks", { method: "POST", body: "{}" }],
  ["/metrics", "/metrics", {}],
  ["its activity", "/api/activity", {}],
])("%s refuses several authorization headers, too", async (_, path, asked) => {
  const { access, tokens } = knownCallers(["all"], null);
  const isPage = path === "/rowlock.v1.LockService/ListLocks";
  const right = `Bearer ${isPage ? tokens.all : "a-token"}`;
  const server = await startPageServer(isPage ? { gate: access } : { metricsToken: "a-token" });
  const ask = async (...authorization: string[]) => {
    const headers = { "content-type": "application/json", authorization };
    return (await server.ask(path, { ...asked, headers: headers as unknown as Record<string, string> }))
      .status;
  };
  expect([await ask(right), await ask(right, "Bearer x"), await ask("Bearer x", right)]).toEqual([
    200, 401, 401,
  ]);
});

describe("the log", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
  afterEach(() => void vi.useRealTimers());

  const ACQUIRE = { method: "Acquire" };
  function stage(isAudited: boolean) {
    const lines: (Record<string, unknown> & { message: string })[] = [];
    const write = (fields: object, message: string) => void lines.push({ ...fields, message });
    const log = new DeniedCalls({ debug: write, info: write, warn: write, error: write }, isAudited);
    const wrong = (peer: string) =>
      log.denied({ ...ACQUIRE, reason: "CREDENTIALS_WRONG", cause: credentialsWrong("the token"), peer });
    const missing = (principal: string, peer = "10.0.0.9:1") =>
      log.denied({
        ...{ ...ACQUIRE, reason: "RIGHT_MISSING", peer },
        cause: rightMissing(principal, { verb: "Acquire", right: "use" }, '"etl/a"'),
      });
    return { lines, wrong, missing };
  }

  test("has the address of wrong credentials, each once a second, with the number suppressed", () => {
    const { lines, wrong } = stage(false);
    for (let call = 0; call < 100; call++) wrong(`10.0.0.1:${call}`);
    wrong("[2001:db8::1]:7");
    vi.advanceTimersByTime(1_000);
    wrong("10.0.0.1:5");
    const line = { message: "calls are refused", method: "Acquire", reason: "CREDENTIALS_WRONG" };
    expect(lines).toEqual([
      { ...line, peer: "10.0.0.1:0", suppressed: 0, why: expect.stringContaining("the token") },
      { ...line, peer: "[2001:db8::1]:7", suppressed: 0, why: expect.any(String) },
      { ...line, peer: "10.0.0.1:5", suppressed: 99, why: expect.any(String) },
    ]);
  });

  test("is not filled from many addresses", () => {
    const { lines, wrong } = stage(false);
    for (let host = 0; host < 2 * DENIED_ADDRESSES_MAX; host++) wrong(`10.0.${host >> 8}.${host & 255}:1`);
    expect(lines).toHaveLength(LOGGED_DENIALS_ALL.most);
  });

  test("has what known callers try, however many strangers there are, and one bound for each of them", () => {
    const { lines, wrong, missing } = stage(true);
    for (let host = 0; host < 2 * DENIED_ADDRESSES_MAX; host++) wrong(`10.0.${host >> 8}.${host & 255}:1`);
    lines.splice(0);
    missing("token:a", "10.1.0.1:1");
    expect(lines.map(({ message }) => message)).toEqual(["calls are refused", "call denied"]);
    for (let host = 0; host < 250; host++) missing("token:a", `10.1.0.${host}:1`);
    missing("token:b", "10.1.0.1:1");
    const audited = lines.filter(({ message }) => message === "call denied");
    expect(audited).toHaveLength(AUDITED_DENIALS_EACH.most + 1);
    expect(audited.at(-1)).toMatchObject({ principal: "token:b" });
  });

  test("takes a network for one address", () => {
    const { lines, wrong } = stage(false);
    for (let host = 1; host < 100; host++) wrong(`2001:db8:1:2::${host}:7`);
    expect(lines).toHaveLength(1);
  });

  test("of an audit has denied calls with their callers, as many as one address may make", () => {
    const { lines, wrong, missing } = stage(true);
    const audited = () => lines.filter(({ message }) => message === "call denied");
    for (const principal of ["token:a", "token:b", "token:a"]) missing(principal);
    const why = expect.stringContaining("etl/a");
    expect(audited()).toMatchObject([
      { principal: "token:a", peer: "10.0.0.9:1", reason: "RIGHT_MISSING", why },
      { principal: "token:b" },
      { principal: "token:a" },
    ]);
    expect(lines.length - audited().length).toBe(1);
    for (let call = 0; call < 1_000; call++) wrong("10.0.0.2:1");
    expect(audited()).toHaveLength(3 + AUDITED_DENIALS_EACH.most);
  });
});
