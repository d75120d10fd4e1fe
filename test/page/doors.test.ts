// Whom the page turns away at its door: other web sites, what is no call, and what is too large or too much.

import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import { READ_BYTES_MAX } from "../../server/http/http-bounds.ts";
import { PAGE_CALLS } from "../../server/page/page-bounds.ts";
import { replacing, until } from "../support/harness.ts";
import { FILES, knownCallers, startPageServer } from "./page-stage.ts";
import { type Answered, OWN, posted } from "./requests.ts";

describe("the files", () => {
  test("are served with what keeps a browser from loading, running or framing anything else", async () => {
    const { ask } = await startPageServer();
    for (const [path, name, type] of [
      ["/", "index.html", "text/html; charset=utf-8"],
      ["/?x=1", "index.html", "text/html; charset=utf-8"],
      ["/page/page.js", "page.js", "text/javascript; charset=utf-8"],
      ["/page/page.css", "page.css", "text/css; charset=utf-8"],
    ] as const) {
      // Nobody needs a header for them.
      const { status, headers, text } = await ask(path, { headers: { "x-rowlock-page": "" } });
      expect([status, text, headers["content-type"]]).toEqual([200, FILES.get(name)?.toString(), type]);
      expect(headers).toMatchObject({
        "content-security-policy":
          "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
          "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "cache-control": "no-cache",
      });
    }
  });

  test("are sent again only if they have changed", async () => {
    const { ask } = await startPageServer();
    const { etag = "" } = (await ask("/page/page.js")).headers;
    const same = await ask("/page/page.js", { headers: { "if-none-match": etag } });
    expect([same.status, same.text]).toEqual([304, ""]);
    const other = await ask("/page/page.css", { headers: { "if-none-match": etag } });
    expect([other.status, other.headers.etag]).toEqual([200, expect.not.stringMatching(etag)]);
  });

  test("can be asked about, and not be changed", async () => {
    const { ask } = await startPageServer();
    const head = await ask("/", { method: "HEAD" });
    expect([head.status, head.text, head.headers["content-length"]]).toEqual([200, "", "37"]);
    const put = await ask("/", { method: "PUT", body: "x" });
    expect([put.status, put.headers.allow]).toEqual([405, "GET, HEAD"]);
  });

  test.each(["/page/", "/page/index.html", "/page/../page.js", "/page/%2e%2e/page.js", "/other"])(
    "are not at %s",
    async (path) => {
      const { ask } = await startPageServer();
      expect(await ask(path)).toMatchObject({
        status: 404,
        text: "Not found. There are /, /metrics, /healthz, /readyz.\n",
      });
    },
  );
});

describe("another web site", () => {
  const PORT_HOLDER = "PORT";
  const GET_LOCK = posted({ name: "x" });

  /** The status of a call with these headers, in which PORT stands for the server's port. */
  async function statusWith(headers: Record<string, string>, known = false): Promise<number> {
    const { access, tokens } = knownCallers(["ops"], null);
    const server = await startPageServer(known ? { gate: access } : {});
    const put = Object.entries(headers).map(([name, value]) => [
      name,
      value.replace(PORT_HOLDER, String(server.port)),
    ]);
    const answer = await server.ask("/rowlock.v1.LockService/GetLock", {
      ...GET_LOCK,
      headers: { ...GET_LOCK.headers, ...Object.fromEntries(put) },
      ...(known && { token: tokens.ops as string }),
    });
    if (answer.status === 403) expect(answer.json).toMatchObject({ code: "permission_denied" });
    return answer.status;
  }

  test.each([
    [
      "a page of it",
      { host: "127.0.0.1:PORT", origin: "http://127.0.0.1:PORT", "sec-fetch-site": "same-origin" },
    ],
    ["a program", {}],
    ["a browser at an IPv6 address", { host: "[::1]:PORT", origin: "http://[::1]:PORT" }],
    ["a browser at localhost", { host: "localhost:PORT", origin: "http://localhost:PORT" }],
  ])("is not %s", async (_who, headers) => {
    expect(await statusWith(headers)).toBe(200);
  });

  test.each<[string, Record<string, string>]>([
    ["from its own origin", { origin: "https://evil.example" }],
    ["from another port of the same machine", { origin: "http://127.0.0.1:1" }],
    ["from a frame without an origin", { origin: "null" }],
    ["that the browser calls cross-site", { "sec-fetch-site": "cross-site" }],
    ["that the browser calls same-site", { "sec-fetch-site": "same-site" }],
    ["with a name that leads here", { host: "evil.example:PORT", origin: "http://evil.example:PORT" }],
    ["with a name that begins as an address", { host: "127.0.0.1.evil.example:PORT" }],
    ["with a name that ends as localhost", { host: "evil-localhost:PORT" }],
    ["with a host that is none", { host: "?" }],
  ])("cannot call %s", async (_how, headers) => {
    expect(await statusWith(headers)).toBe(403);
    const server = await startPageServer();
    expect((await server.ask("/api/about", { headers })).status).toBe(403);
    expect(server.calls).toEqual([]);
  });

  test("may have a name if callers need a token, which another web site has not", async () => {
    const named = { host: "locks.example:PORT", origin: "http://locks.example:PORT" };
    expect(await statusWith(named, true)).toBe(200);
    // A proxy speaks TLS with the browser.
    expect(await statusWith({ host: "locks.example", origin: "https://locks.example" }, true)).toBe(200);
    expect(await statusWith({ host: "locks.example", origin: "https://evil.example" }, true)).toBe(403);
  });

  test("gets no leave for a request of its own by asking for it first", async () => {
    const { ask } = await startPageServer();
    const headers = { origin: "https://evil.example", "access-control-request-headers": "x-rowlock-page" };
    const preflight = await ask("/rowlock.v1.LockService/GetLock", {
      method: "OPTIONS",
      headers: { ...headers, "x-rowlock-page": "" },
    });
    expect(preflight.status).toBe(403);
    expect(Object.keys(preflight.headers).filter((name) => name.startsWith("access-control"))).toEqual([]);
  });
});

test("what is no call is refused with what to do", async () => {
  const { ask } = await startPageServer();
  expect(await ask("/rowlock.v1.LockService/GetLock")).toMatchObject({
    status: 405,
    headers: { allow: "POST" },
  });
  expect(await ask("/api/about", { method: "POST" })).toMatchObject({
    status: 405,
    headers: { allow: "GET" },
  });
  expect(await ask("/api/nothing")).toMatchObject({ status: 404, json: { code: "not_found" } });
  for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/jsonx"]) {
    const answer = await ask("/rowlock.v1.LockService/GetLock", {
      ...posted({}),
      headers: { "content-type": type },
    });
    expect([answer.status, answer.json.message]).toEqual([415, expect.stringContaining("application/json")]);
  }
  const named = { "content-type": "application/json; charset=utf-8" };
  expect(
    (await ask("/rowlock.v1.LockService/GetLock", { ...posted({ name: "x" }), headers: named })).status,
  ).toBe(200);
});

describe("what is too large or too much", () => {
  test("a body of more than 64 KiB, at once and in parts", async () => {
    const server = await startPageServer();
    const spaces = (bytes: number) => `{"name":"x"${" ".repeat(bytes - '{"name":"x"}'.length)}}`;
    const ask = (bytes: number, headers = {}) => {
      const asked = posted({});
      return server.ask("/rowlock.v1.LockService/GetLock", {
        ...asked,
        headers: { ...asked.headers, ...headers },
        body: spaces(bytes),
      });
    };
    expect((await ask(READ_BYTES_MAX)).status).toBe(200);
    for (const [headers, expected] of [
      [{}, 413],
      [{ "transfer-encoding": "chunked" }, 429],
    ] as const) {
      const { status, json } = await ask(READ_BYTES_MAX + 1, headers);
      expect([status, json.code]).toEqual([expected, "resource_exhausted"]);
    }
    expect((await ask(20 * READ_BYTES_MAX)).status).toBe(413);
    expect(server.calls.map(({ code }) => code)).toEqual(["OK", ...Array(3).fill("RESOURCE_EXHAUSTED")]);
  });

  test("calls beyond those of all pages or of a network, until some have ended", async () => {
    const held = Promise.withResolvers<void>();
    const server = await startPageServer({
      wrapEngine: (engine) =>
        replacing(engine, { view: async (...asked) => await held.promise.then(() => engine.view(...asked)) }),
    });
    const { max, ofNetwork } = PAGE_CALLS;
    const getLock = (from: string) =>
      server.ask("/rowlock.v1.LockService/GetLock", { ...posted({ name: "x" }), from });
    const asked = Array.from({ length: ofNetwork }, () => getLock("127.0.0.1"));
    const used = () => server.door.bounds.find(({ bound }) => bound === "page_calls")?.used;
    await until(() => used() === ofNetwork);
    const overloaded = async (call: Promise<Answered>) => {
      const { status, json } = await call;
      expect([status, json.reason]).toEqual([429, "OVERLOADED"]);
    };
    await overloaded(getLock("127.0.0.1"));
    asked.push(...Array.from({ length: max - ofNetwork }, () => getLock("127.0.0.2")));
    await until(() => used() === max);
    await overloaded(getLock("127.0.0.3"));
    await overloaded(server.ask("/api/about", { from: "127.0.0.3" }));
    expect((await server.ask("/metrics")).text).toBe("up 1\n");
    held.resolve();
    for (const { status } of await Promise.all(asked)) expect(status).toBe(200);
    await until(() => used() === 0);
    expect((await getLock("127.0.0.1")).status).toBe(200);
  });

  test("calls of one caller, who leaves room for others", async () => {
    const held = Promise.withResolvers<void>();
    const { access, tokens } = knownCallers(["anna", "ben"], null);
    const server = await startPageServer({
      gate: access,
      wrapEngine: (engine) =>
        replacing(engine, { view: async (...asked) => await held.promise.then(() => engine.view(...asked)) }),
    });
    const getLock = (token?: string) =>
      server.ask("/rowlock.v1.LockService/GetLock", posted({ name: "x" }, token));
    const asked = Array.from({ length: PAGE_CALLS.ofCaller }, () => getLock(tokens.anna));
    await until(() => server.door.bounds.some(({ used }) => used === PAGE_CALLS.ofCaller));
    expect((await getLock(tokens.anna)).status).toBe(429);
    const ben = getLock(tokens.ben);
    await until(() => server.door.bounds.some(({ used }) => used === PAGE_CALLS.ofCaller + 1));
    held.resolve();
    for (const { status } of await Promise.all([...asked, ben])) expect(status).toBe(200);
  });

  test("a request that ends before it is complete is no error of the server, and has no room", async () => {
    const server = await startPageServer();
    const socket = connect(server.port, "127.0.0.1");
    // The server asks for the body when it knows who calls.
    socket.write(headOf({ expect: "100-continue", "content-length": "100" }));
    expect(String(await once(socket, "data"))).toBe("HTTP/1.1 100 Continue\r\n\r\n");
    expect(server.door.bounds.map(({ used }) => used)).toEqual([0, 0]);
    socket.write("{");
    socket.destroy();
    await once(socket, "close");
    await until(() => server.connections() === 0);
    expect([server.errors, server.calls]).toEqual([[], []]);
  });
});

describe("a stranger whose body never ends", () => {
  test.each([
    ["with a length", { "content-length": "100" }],
    ["in chunks", { "transfer-encoding": "chunked" }],
    ["with a wrong token", { "content-length": "100", authorization: "Bearer wrong" }],
    ["who waits to be asked for it", { "content-length": "100", expect: "100-continue" }],
  ])("%s is refused by the head alone, and the connection ends", async (_how, headers) => {
    const { access } = knownCallers(["ops"], null);
    const server = await startPageServer({ gate: access });
    const socket = connect(server.port, "127.0.0.1");
    socket.write(headOf(headers));
    let answer = "";
    socket.setEncoding("utf8").on("data", (text: string) => {
      answer += text;
    });
    await once(socket, "close");
    expect(answer).toMatch(/^HTTP\/1\.1 401 Unauthorized\r\n.*CREDENTIALS_/s);
    expect([server.errors, server.calls.map(({ code }) => code)]).toEqual([[], ["UNAUTHENTICATED"]]);
  });
});

/** The head of a POST of the page. */
function headOf(headers: Readonly<Record<string, string>>): string {
  const all = { ...OWN, host: "127.0.0.1", "content-type": "application/json", ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST /rowlock.v1.LockService/GetLock HTTP/1.1\r\n${lines.join("")}\r\n`;
}
