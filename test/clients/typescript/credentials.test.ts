// How a client shows who it is to a server that asks: with a token that changes while locks are held, or a certificate
// that is renewed. The server is behind a proxy that asks as a server does.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import type {
  ConnectionEvent,
  ConnectOptions,
  RowlockClient,
} from "../../../clients/typescript/src/index.ts";
import { certificateAuthority, selfSignedCertificate, signedCertificate } from "../../process/certificate.ts";
import { startAskingProxy } from "../../support/asking-proxy.ts";
import { until } from "../../support/harness.ts";
import { startRefusingProxy } from "../../support/refusing-proxy.ts";
import { afterwards, client, start, waiting } from "./stage.ts";

const TTL_MS = 120_000;

/** A server that knows the token "first", and a file with it. */
async function stage(denied: readonly string[] = []) {
  const server = await start();
  const proxy = await startAskingProxy(server.address, ["first"], denied);
  afterwards(() => proxy.close());
  const folder = mkdtempSync(join(tmpdir(), "rowlock-credentials-"));
  afterwards(() => rmSync(folder, { recursive: true }));
  const write = (name: string, content: string) => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };
  const file = write("token", "first\n");
  const operator = client(server.address);
  const connected = (options: Omit<ConnectOptions, "addresses">, address = proxy.address) =>
    client(address, options);
  return { server, proxy, file, write, operator, connected };
}

/** A lock that `rowlock` holds, and one that it waits for. */
async function holdAndWait(rowlock: RowlockClient, operator: RowlockClient) {
  const held = await rowlock.lock("held", { ttl: TTL_MS });
  const others = await operator.lock("awaited", { ttl: TTL_MS });
  const wait = rowlock.lock("awaited", { ttl: TTL_MS });
  wait.catch(() => {});
  await until(async () => (await waiting(operator, "awaited")) === 1);
  const place = async () => (await operator.getLock("awaited")).waiters[0]?.ticketNumber;
  return { held, others, wait, place };
}

describe("a call", () => {
  test.each([
    ["CREDENTIALS_MISSING", {}],
    ["CREDENTIALS_WRONG", { token: "unknown-secret" }],
    ["CREDENTIALS_WRONG", { token: () => "unknown-secret" }],
    ["CREDENTIALS_MISSING", { token: { file: "/no/such/file" } }],
    ["CREDENTIALS_MISSING", { token: () => "unknown-secret\n\nunknown-secret" }],
  ])("fails at once as %s with %j, and the error does not show the token", async (reason, options) => {
    const { connected } = await stage();
    const rowlock = connected({ giveUpAfter: Number.POSITIVE_INFINITY, ...options });
    const error = await rowlock.lock("job").catch((error: unknown) => error);
    expect(error).toMatchObject({ reason, code: "UNAUTHENTICATED" });
    expect(inspect([error, rowlock], { depth: 9, showHidden: true })).not.toContain("secret");
  });

  test("for a lease without end that was refused is not in doubt", async () => {
    const { connected, proxy } = await stage();
    const rowlock = connected({ token: "unknown" });
    await expect(rowlock.lock("job", { ttl: "forever" })).rejects.toMatchObject({
      reason: "CREDENTIALS_WRONG",
      message: "refused: CREDENTIALS_WRONG",
      metadata: {},
    });
    expect(proxy.asked).toHaveLength(1);
  });

  test("that the policy does not allow fails with the right, and never leads to unary calls", async () => {
    const { connected, proxy } = await stage(["Session"]);
    const rowlock = connected({ token: "first" });
    await expect(rowlock.lock("job")).rejects.toMatchObject({
      reason: "RIGHT_MISSING",
      code: "PERMISSION_DENIED",
      metadata: { right: "use", principal: "worker" },
    });
    expect(proxy.asked.map(({ method }) => method)).toEqual(["Session"]);
  });
});

describe("when its token has expired", () => {
  test.each(["file", "function"])("a client with a %s returns to its locks and places", async (kind) => {
    const { connected, proxy, file, write, operator } = await stage();
    const events: ConnectionEvent["kind"][] = [];
    let token = "first";
    const source = kind === "file" ? { file } : async () => token;
    const rowlock = connected({ token: source, onConnection: ({ kind }) => events.push(kind) });
    const { held, others, wait, place } = await holdAndWait(rowlock, operator);
    const before = await place();
    proxy.know("second");
    token = "second";
    write("token", "second\n");
    proxy.forget("first", "CREDENTIALS_EXPIRED");
    await until(() => events.length === 3);
    await until(() => held.state === "held");
    expect(proxy.asked.map(({ method, token }) => [method, token])).toEqual([
      ["Session", "first"],
      ["Session", "second"],
    ]);
    expect(await place()).toBe(before);
    await others.release();
    expect((await wait).token).toBe(2n);
    expect(await held.release()).toBe(true);
  });

  test("a client with a fixed one fails its calls, and tries again with pauses while it holds a lock", async () => {
    const { connected, proxy, operator } = await stage();
    const ends: unknown[] = [];
    const rowlock = connected({
      token: "first",
      onConnection: (event) => event.kind === "disconnected" && ends.push(event.error),
    });
    const { held, wait } = await holdAndWait(rowlock, operator);
    proxy.forget("first", "CREDENTIALS_EXPIRED");
    await expect(wait).rejects.toMatchObject({ reason: "CREDENTIALS_EXPIRED" });
    await expect(rowlock.getLock("held")).rejects.toMatchObject({ reason: "CREDENTIALS_EXPIRED" });
    expect(ends[0]).toMatchObject({ reason: "CREDENTIALS_EXPIRED", message: "refused: CREDENTIALS_EXPIRED" });
    const tries = proxy.asked.length;
    await until(() => proxy.asked.length >= tries + 2);
    expect(held.state).toBe("uncertain");
    proxy.know("first");
    await until(() => held.state === "held");
  });

  test("and its file has the new one late, calls fail, and places and locks are kept", async () => {
    const { connected, proxy, file, write, operator } = await stage();
    const rowlock = connected({ token: { file } });
    const { held, others, wait, place } = await holdAndWait(rowlock, operator);
    const before = await place();
    proxy.forget("first", "CREDENTIALS_EXPIRED");
    await expect(rowlock.getLock("held")).rejects.toMatchObject({ reason: "CREDENTIALS_EXPIRED" });
    proxy.know("second");
    write("token", "second");
    await until(() => held.state === "held");
    expect(await place()).toBe(before);
    await others.release();
    expect((await wait).token).toBe(2n);
  });

  test("and it stays so, a wait fails with that reason when its time is over", async () => {
    const { connected, proxy, file, operator } = await stage();
    const rowlock = connected({ token: { file }, giveUpAfter: 1_500 });
    const { wait } = await holdAndWait(rowlock, operator);
    proxy.forget("first", "CREDENTIALS_EXPIRED");
    await expect(wait).rejects.toMatchObject({ reason: "CREDENTIALS_EXPIRED" });
  });
});

test("a session that ends because of a right is followed by another one", async () => {
  const { connected, proxy, operator } = await stage();
  const rowlock = connected({ token: "first" });
  const { held, others, wait } = await holdAndWait(rowlock, operator);
  proxy.endSessions("RIGHT_MISSING");
  await until(() => proxy.asked.length === 2);
  await others.release();
  expect((await wait).token).toBe(2n);
  await until(() => held.state === "held");
});

test("where no sessions get through, each unary call has the present token", async () => {
  const { connected, proxy, file, write, operator } = await stage();
  const plain = await startRefusingProxy(proxy.address, "UNIMPLEMENTED");
  afterwards(() => plain.close());
  const rowlock = connected({ token: { file } }, plain.address);
  const { held, others, wait } = await holdAndWait(rowlock, operator);
  proxy.know("second");
  write("token", "second");
  proxy.forget("first");
  await until(() => proxy.asked.some(({ token }) => token === "second"));
  expect((await rowlock.getLock("held")).holderCount).toBe(1);
  await others.release();
  expect((await wait).token).toBe(2n);
  expect(await held.release()).toBe(true);
});

describe("a certificate in files", () => {
  async function secured() {
    const { write } = await stage();
    const authority = certificateAuthority();
    const own = signedCertificate(authority, "localhost");
    const tls = { certificate: own.cert, key: own.key, clientCa: authority.cert };
    const server = await start({ grpc: { tls } });
    const good = signedCertificate(authority, "client");
    const files = (cert: string, key: string) => ({
      ca: { file: write("ca", `\ufeff${authority.cert}`) },
      cert: { file: write("cert", cert) },
      key: { file: write("key", key) },
    });
    return { address: server.address.replace("127.0.0.1", "localhost"), write, good, files, authority };
  }

  test("that was renewed is used by the next connection", async () => {
    const { address, write, good, files } = await secured();
    const stranger = selfSignedCertificate("client");
    const rowlock = client(address, { tls: files(stranger.cert, stranger.key), giveUpAfter: 500 });
    await expect(rowlock.lock("job")).rejects.toMatchObject({ reason: "NO_SERVER" });
    write("cert", good.cert);
    write("key", good.key);
    const renewed = client(address, { tls: files(good.cert, good.key) });
    expect((await renewed.lock("job")).token).toBe(1n);
    await until(() =>
      rowlock.getLock("job").then(
        ({ holderCount }) => holderCount === 1,
        () => false,
      ),
    );
  });

  test("may begin with a byte order mark, as some editors write it", async () => {
    const { address, good, files } = await secured();
    const { ca, cert, key } = files(`\ufeff${good.cert}`, `\ufeff${good.key}`);
    expect((await client(address, { tls: { ca, cert, key } }).lock("job")).token).toBe(1n);
  });

  test("that does not fit its key, or is not there, fails calls with what is wrong, until it does", async () => {
    const { address, write, good, files, authority } = await secured();
    const other = signedCertificate(authority, "client");
    const rowlock = client(address, { tls: files(good.cert, other.key) });
    await expect(rowlock.lock("job")).rejects.toMatchObject({
      reason: "CREDENTIALS_MISSING",
      message: expect.stringMatching(/^The certificate, key or authority of tls cannot be used: /),
    });
    write("key", good.key);
    expect((await rowlock.lock("job")).token).toBe(1n);
    const gone = client(address, { tls: { ...files(good.cert, good.key), cert: { file: "/no/such/file" } } });
    await expect(gone.lock("job")).rejects.toMatchObject({
      message: "The file /no/such/file of tls cannot be read (ENOENT).",
    });
  });
});
