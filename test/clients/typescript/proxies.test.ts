// Which connections of the client and of servers use a proxy of the environment, and what is said of one that does not
// work.

import { createServer, type Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { BareCalls } from "../../../clients/typescript/src/bare/index.ts";
import { type DiagnosisKind, diagnose } from "../../../clients/typescript/src/diagnosis.ts";
import type { RowlockClient } from "../../../clients/typescript/src/index.ts";
import { proxyFor, proxyNamedFor } from "../../../clients/typescript/src/proxy.ts";
import { pokeChannel } from "../../../server/grpc/pokes/registered-servers.ts";
import { selfSignedCertificate } from "../../process/certificate.ts";
import { type ConnectProxyOptions, startConnectProxy } from "./connect-proxy.ts";
import { afterwards, client, start } from "./stage.ts";

const VARIABLES = ["grpc_proxy", "https_proxy", "http_proxy", "all_proxy"].flatMap((name) => [
  name,
  name.toUpperCase(),
]);
const EXCEPTIONS = ["no_grpc_proxy", "no_proxy", "NO_PROXY"];
const TOKEN = "secret-token-of-a-caller";
const own = selfSignedCertificate();
const tls = { ca: own.cert, serverName: "localhost" };
/** A name that only a proxy knows. */
const ELSEWHERE = "locks.elsewhere.test";

beforeEach(() => {
  for (const name of [...VARIABLES, ...EXCEPTIONS]) vi.stubEnv(name, undefined);
});
afterEach(() => vi.unstubAllEnvs());

async function proxy(options?: ConnectProxyOptions) {
  const started = await startConnectProxy(options);
  afterwards(() => started.close());
  return started;
}

const encrypted = () => start({ grpc: { tls: { certificate: own.cert, key: own.key, clientCa: null } } });
const portOf = (address: string) => Number(/\d+$/.exec(address)?.[0]);
/** Repeats what is bounded in time until it succeeds: a busy machine takes longer to look a name up, or to answer. */
const inTime = <Result>(look: () => Promise<Result>) => vi.waitFor(look, { timeout: 60_000 });
/** The client has looked the name up itself; the second kind means that the system took too long to answer. */
const NOT_FOUND = { diagnoses: [{ kind: expect.stringMatching(/^(no_such_host|unreachable)$/) }] };
const failsAs = (rowlock: RowlockClient, error: object) =>
  inTime(() => expect(rowlock.lock("job")).rejects.toMatchObject(error));

describe.each(VARIABLES)("with %s, no proxy hears of", (variable) => {
  test("a token in plain text, a bare call, or TLS to this machine", async () => {
    const { url, asked, heard } = await proxy();
    vi.stubEnv(variable, url);
    const plain = await start();
    const port = portOf(plain.address);
    for (const address of [`127.0.0.1:${port}`, `localhost:${port}`]) {
      await client(address, { token: TOKEN }).lock(address);
      using calls = new BareCalls(address, { headers: { authorization: `Bearer ${TOKEN}` } });
      await calls.call("getLock", { name: "job" });
    }
    const { address } = await encrypted();
    // The system resolves the second name to 127.0.0.1.
    for (const host of ["localhost", "127.1"])
      await client(`${host}:${portOf(address)}`, { tls, token: TOKEN }).lock(host);
    expect({ asked, heard: heard() }).toEqual({ asked: [], heard: "" });
  });

  test("a poke", async () => {
    const { url, asked, heard } = await proxy();
    vi.stubEnv(variable, url);
    const { address } = await start();
    const channel = pokeChannel(address, null);
    afterwards(() => channel.close());
    await new Promise((resolve) => channel.poke("secret", [{ lockId: 1n, ticketNumber: 2n }], resolve));
    expect({ asked, heard: heard() }).toEqual({ asked: [], heard: "" });
  });
});

test("plain text to another machine uses no proxy either", async () => {
  const { url, asked, heard } = await proxy();
  vi.stubEnv("http_proxy", url);
  const rowlock = client(`${ELSEWHERE}:50051`, {
    token: TOKEN,
    allowTokenInPlaintext: true,
    giveUpAfter: 300,
  });
  await failsAs(rowlock, NOT_FOUND);
  expect({ asked, heard: heard() }).toEqual({ asked: [], heard: "" });
});

describe("TLS to another machine", () => {
  test("goes through the proxy, which sees no token, for sessions, unary calls and bare calls", async () => {
    const server = await encrypted();
    const hosts = { [ELSEWHERE]: { host: "127.0.0.1", port: portOf(server.address) } };
    const { url, asked, heard } = await proxy({ hosts });
    vi.stubEnv("https_proxy", url.replace("//", "//user:pass%20word@"));
    const address = `${ELSEWHERE}:50051`;
    await client(address, { tls, token: TOKEN }).lock("job");
    using calls = new BareCalls(address, { tls, headers: { authorization: `Bearer ${TOKEN}` } });
    await calls.call("getLock", { name: "job" });
    // The client first asks whether there is a way.
    expect(asked).toEqual([address, address, address]);
    expect(heard()).not.toContain(TOKEN);
    expect(heard()).toContain(Buffer.from("user:pass word").toString("base64"));
  });

  test.each(EXCEPTIONS)("uses no proxy if %s names it", async (variable) => {
    const { url, asked } = await proxy();
    vi.stubEnv("https_proxy", url);
    vi.stubEnv(variable, "other.test, .elsewhere.test");
    const rowlock = client(`${ELSEWHERE}:50051`, { tls, giveUpAfter: 300 });
    await failsAs(rowlock, NOT_FOUND);
    expect(asked).toEqual([]);
  });
});

const AT = "http://proxy.test:3128";
const ADDRESS = "locks-1.example.com:50051";

test.each([
  ["*", true],
  ["example.com", true],
  [".example.com", true],
  ["*.example.com", true],
  ["EXAMPLE.com.", true],
  ["locks-1.example.com:50051", true],
  ["other.test, example.com", true],
  ["other.test example.com", true],
  ["locks-1.example.com:50052", false],
  ["ample.com", false],
  ["locks-1", false],
  ["10.0.0.0/8", false],
  [",, ,", false],
])("the exception %j counts for a name: %s", (exceptions, counts) => {
  for (const name of EXCEPTIONS)
    expect(proxyNamedFor(ADDRESS, true, { https_proxy: AT, [name]: exceptions }) === undefined).toBe(counts);
});

test.each([
  ["10.1.2.3:1", "10.0.0.0/8", true],
  ["10.1.2.3:1", "10.1.2.3", true],
  ["10.1.2.3:1", "10.1.2.3:1", true],
  ["10.1.2.3:1", "10.1.2.3:2", false],
  ["10.1.2.3:1", "10.2.0.0/16", false],
  ["110.1.2.3:1", "10.1.2.3", false],
  ["10.1.2.3:1", "10.0.0.0/99", false],
  ["[fd00::7]:1", "fd00::/8", true],
  ["[fd00::7]:1", "[fd00::]/8", true],
  ["[fd00::7]:1", "fd00:0::7", true],
  ["[fd00::7]:1", "[fd00::7]:1", true],
  ["[fd00::7]:1", "[fd00::7]:2", false],
  ["[fd00::7]:1", "10.0.0.0/8", false],
])("for %s, the exception %j counts: %s", (address, exception, counts) => {
  expect(proxyNamedFor(address, true, { http_proxy: AT, no_proxy: exception }) === undefined).toBe(counts);
});

test.each([
  ["127.0.0.1:1"],
  ["127.8.9.10:1"],
  ["[::1]:1"],
  ["[::ffff:127.0.0.1]:1"],
  ["0.0.0.0:1"],
  ["[::]:1"],
  ["[0:0:0:0:0:0:0:0]:1"],
  ["localhost.:1"],
  ["job.localhost:1"],
  ["localhost:1"],
  ["LOCALHOST:1"],
  ["127.1:1"],
  ["unix:/run/rowlock"],
])("%s is on this machine", async (address) => {
  expect(await proxyFor(address, true, { grpc_proxy: AT })).toBeUndefined();
});

test.each(["localhost.:1", "job.localhost:1", "[0:0:0:0:0:0:0:0]:1"])(
  "%s says so itself, for bare calls, which look no name up",
  (address) => expect(proxyNamedFor(address, true, { grpc_proxy: AT })).toBeUndefined(),
);

test("names the variable that gRPC takes, and shows no proxy that gRPC cannot use", () => {
  const env = { http_proxy: "http://a.test", https_proxy: "http://b.test:8080", HTTPS_PROXY: AT };
  expect(proxyNamedFor(ADDRESS, true, env)).toMatchObject({
    variable: "https_proxy",
    host: "b.test",
    port: 8080,
  });
  expect(proxyNamedFor(ADDRESS, true, { http_proxy: "http://a.test" })).toMatchObject({ port: 80 });
  for (const unusable of ["https://b.test", "socks5://b.test", "b.test:3128", "?"])
    expect(proxyNamedFor(ADDRESS, true, { https_proxy: unusable })).toBeUndefined();
  expect(proxyNamedFor(ADDRESS, false, env)).toBeUndefined();
});

describe("a proxy that gives no connection is named, with its variable", () => {
  const answering = async (answer: (socket: Socket) => unknown) => {
    const server = createServer((socket) => void answer(socket.on("error", () => {})));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    afterwards(() => void server.close());
    return `http://127.0.0.1:${(server.address() as { port: number }).port}`;
  };
  test.each<[string, () => Promise<string>, DiagnosisKind, string]>([
    [
      "refuses",
      async () => (await proxy({ refusal: "403 Forbidden" })).url,
      "other_protocol",
      "does not connect to it (403 Forbidden)",
    ],
    ["wants a login", async () => (await proxy({ refusal: "407 " })).url, "other_protocol", "(407"],
    [
      "cannot reach it",
      async () => (await proxy({ refusal: "502 Bad Gateway" })).url,
      "unreachable",
      "(502 Bad",
    ],
    ["is away", async () => "http://127.0.0.1:9", "unreachable", "cannot be reached (ECONNREFUSED)"],
    ["is silent", () => answering(() => {}), "unreachable", "does not answer"],
    [
      "is none",
      () => answering((socket) => socket.end("SSH-2.0-x\r\n")),
      "other_protocol",
      "does not answer like a proxy",
    ],
  ])("%s", async (_, started, kind, words) => {
    const url = await started();
    vi.stubEnv("https_proxy", url.replace("//", "//user:pass@"));
    const address = `${ELSEWHERE}:50051`;
    const found = await inTime(async () => {
      const [one] = await diagnose([address], tls);
      expect(one).toMatchObject({ address, kind, sentence: expect.stringContaining(words) });
      return one;
    });
    expect(found?.sentence).toContain(`the proxy ${url.replace("http://", "")}, which https_proxy names,`);
    expect(found?.sentence).not.toContain("pass");
  });

  test("what answers through it is told apart", async () => {
    const server = await encrypted();
    const hosts = { [ELSEWHERE]: { host: "127.0.0.1", port: portOf(server.address) } };
    const { url } = await proxy({ hosts });
    vi.stubEnv("grpc_proxy", url);
    const stranger = selfSignedCertificate("other");
    await inTime(async () =>
      expect(await diagnose([`${ELSEWHERE}:50051`], { ...tls, ca: stranger.cert })).toMatchObject([
        {
          kind: "untrusted",
          sentence: expect.stringMatching(/this came through the proxy .*, which grpc_proxy names/),
        },
      ]),
    );
  });

  test("a call waits for a proxy that is away, without a line of gRPC", async () => {
    vi.stubEnv("https_proxy", "http://127.0.0.1:9");
    const said = vi.spyOn(console, "error").mockReturnValue();
    const rowlock = client(`${ELSEWHERE}:50051`, { tls, giveUpAfter: 500 });
    await failsAs(rowlock, {
      message: expect.stringMatching(/^No answer within 500 ms.*which https_proxy names, cannot be reached/s),
    });
    expect(said.mock.calls).toEqual([]);
  });

  test("a call fails at once if the proxy refuses for good", async () => {
    const { url } = await proxy({ refusal: "403 Forbidden" });
    vi.stubEnv("https_proxy", url);
    const said = vi.spyOn(console, "error").mockReturnValue();
    const rowlock = client(`${ELSEWHERE}:50051`, { tls, giveUpAfter: 3_600_000 });
    await expect(rowlock.lock("job")).rejects.toMatchObject({
      reason: "NO_SERVER",
      message: expect.stringContaining("which https_proxy names, does not connect to it"),
    });
    expect(said.mock.calls).toEqual([]);
  });
});
