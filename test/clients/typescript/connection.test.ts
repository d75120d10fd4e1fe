// How the client opens its session: through TLS, with headers, past unreachable servers; and what it reports about
// servers that refuse it.

import { Server, ServerCredentials } from "@grpc/grpc-js";
import { expect, test } from "vitest";
import { type ConnectionEvent, connect } from "../../../clients/typescript/src/index.ts";
import { selfSignedCertificate } from "../../process/certificate.ts";
import { until } from "../../support/harness.ts";
import { afterwards, client, start } from "./stage.ts";

test("TLS and mutual TLS work", async () => {
  const own = selfSignedCertificate();
  const others = selfSignedCertificate("client");
  const tls = { certificate: own.cert, key: own.key, clientCa: others.cert };
  const server = await start({ grpc: { tls } });
  const byName = server.address.replace("127.0.0.1", "localhost");
  const rowlock = client(byName, { tls: { ca: own.cert, ...others } });
  expect((await rowlock.lock("secret")).token).toBe(1n);
  const named = client(server.address, { tls: { ca: own.cert, ...others, serverName: "localhost" } });
  expect(await named.tryLock("secret")).toBeNull();
  const stranger = client(byName, { tls: { ca: others.cert }, giveUpAfter: 500 });
  await expect(stranger.lock("secret")).rejects.toMatchObject({ reason: "NO_SERVER" });
});

test("the first server that answers is used, and the headers are requested with each try", async () => {
  const server = await start();
  const seen: ConnectionEvent[] = [];
  let asked = 0;
  const rowlock = client(["127.0.0.1:9", "no-such-host.invalid:1", server.address], {
    headers: async () => ({ authorization: `Bearer ${++asked}` }),
    onConnection: (event) => seen.push(event),
  });
  await rowlock.lock("third");
  expect(seen.map(({ kind, address }) => [kind, address])).toEqual([
    ["disconnected", "127.0.0.1:9"],
    ["disconnected", "no-such-host.invalid:1"],
    ["connected", server.address],
  ]);
  expect(asked).toBe(3);
});

test("missing headers fail the calls, and are requested again with the next call", async () => {
  const server = await start();
  let asked = 0;
  const rowlock = client(server.address, {
    headers: () => (++asked === 1 ? Promise.reject(new Error("no token yet")) : {}),
  });
  await expect(rowlock.lock("first")).rejects.toMatchObject({
    code: "UNAUTHENTICATED",
    message: expect.stringContaining("no token yet"),
  });
  expect((await rowlock.lock("first")).token).toBe(1n);
});

test("late headers are requested again, and the calls wait for it", async () => {
  const server = await start();
  let asked = 0;
  const rowlock = client(server.address, {
    connectTimeout: 1_000,
    headers: () => (++asked === 1 ? new Promise<never>(() => {}) : {}),
  });
  expect((await rowlock.lock("first")).token).toBe(1n);
  expect(asked).toBe(2);
});

test("a server may take as long as it wants, if the options allow it", async () => {
  const server = await start();
  const seen: string[] = [];
  const options = { connectTimeout: Number.POSITIVE_INFINITY, headers: () => ({}) };
  await client(server.address, { ...options, onConnection: ({ kind }) => seen.push(kind) }).lock("patient");
  expect(seen).toEqual(["connected"]);
});

test("missing headers are named in the error if no server is found", async () => {
  const rowlock = client("127.0.0.1:9", {
    connectTimeout: 50,
    giveUpAfter: 300,
    headers: () => new Promise<never>(() => {}),
  });
  await expect(rowlock.lock("never")).rejects.toMatchObject({
    reason: "NO_SERVER",
    message: expect.stringContaining("The headers function did not return within 50 ms."),
  });
});

test("a server that refuses the client itself is not tried again and again", async () => {
  let calls = 0;
  const refusing = new Server();
  const path = "/rowlock.v1.LockService/Session";
  const bytes = (value: Buffer) => value;
  refusing.addService(
    {
      session: {
        path,
        requestStream: true,
        responseStream: true,
        requestSerialize: bytes,
        requestDeserialize: bytes,
        responseSerialize: bytes,
        responseDeserialize: bytes,
      },
    },
    {
      session: (stream: {
        emit: (event: string, error: object) => void;
        metadata: { get(key: string): unknown[] };
      }) => {
        calls += 1;
        const who = stream.metadata.get("authorization")[0];
        stream.emit("error", { code: 16, details: `not you, ${who}` });
      },
    },
  );
  const port = await new Promise<number>((resolve, reject) =>
    refusing.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    ),
  );
  afterwards(() => refusing.forceShutdown());
  const rowlock = client(`127.0.0.1:${port}`, { headers: { authorization: "nobody" } });
  await expect(rowlock.lock("mine")).rejects.toMatchObject({
    code: "UNAUTHENTICATED",
    message: "not you, nobody",
  });
  expect(calls).toBe(1);
});

test("labels that the server refuses are reported as a mistake", async () => {
  const server = await start();
  const rowlock = client(server.address, { labels: { "": "x" } });
  await expect(rowlock.lock("labelled")).rejects.toMatchObject({
    reason: "BAD_REQUEST",
    violations: [{ field: 'open.labels[""]' }],
  });
});

test("an unused connection is closed, and the next call opens another one", async () => {
  const server = await start();
  const seen: string[] = [];
  const rowlock = client(server.address, { idleAfter: 200, onConnection: ({ kind }) => seen.push(kind) });
  const lock = await rowlock.lock("kept");
  // Long enough for several idle checks while the lock is held.
  await new Promise((resolve) => setTimeout(resolve, 700));
  expect(seen).toEqual(["connected"]);
  await lock.release();
  await until(() => server.sessionEnds.length === 1);
  expect(server.sessionEnds).toEqual(["OK"]);
  expect((await rowlock.lock("kept")).token).toBe(2n);
  expect(seen).toEqual(["connected", "disconnected", "connected"]);
});

test("impossible options are refused at once", () => {
  expect(() => connect({ addresses: [] })).toThrow("host:port");
  expect(() => connect({ addresses: "[::1]:1", tls: true })).toThrow("tls.serverName");
  expect(() => connect({ addresses: "127.0.0.1:1", giveUpAfter: 0 })).toThrow(RangeError);
});
