// The bounds of connections: the server refuses waits beyond their bound without locking anybody out, and closes
// connections that stay silent.

import { once } from "node:events";
import type { Socket } from "node:net";
import { connect as connectSocket } from "node:net";
import { connect as connectTls } from "node:tls";
import { describe, expect, onTestFinished, test } from "vitest";
import type { RowlockError } from "../../clients/typescript/src/bare/index.ts";
import { selfSignedCertificate } from "../process/certificate.ts";
import type { TestServer } from "../support/harness.ts";
import { clientOfTest, serverOfTest, until } from "../support/harness.ts";
import { NO_BOUND } from "../support/no-bound.ts";
import { queued, TestCalls } from "../support/test-calls.ts";

const WAITS_MAX = 20;
const TOO_MANY = {
  code: "RESOURCE_EXHAUSTED",
  reason: "OVERLOADED",
  metadata: { bound: "waits_on_connection" },
  retryAfterMs: 1_000,
};

const BUSY = queued({ name: "busy" });

let server: TestServer;
let leaseId: string;

/** Starts a server whose lock `busy` is held. */
async function start(streamsMax: number): Promise<TestCalls> {
  server = await serverOfTest({ grpc: { streamsMax } });
  ({ leaseId } = await server.client.lease({ name: "busy" }));
  return server.client;
}

const waiting = async () => (await server.client.shown("busy")).waiterCount;

describe("waits on one connection", () => {
  test("are refused beyond their bound, with a reason and without a trace", async () => {
    const client = await start(WAITS_MAX);
    const streams = Array.from({ length: WAITS_MAX }, () => client.wait(BUSY));
    for (const stream of streams) await stream.position();
    expect(await client.wait(BUSY).failure()).toMatchObject(TOO_MANY);
    const blocked = client.call("acquire", { name: "free", whenBusy: { case: "wait", value: {} } });
    await expect(blocked).rejects.toMatchObject(TOO_MANY);
    expect(await waiting()).toBe(WAITS_MAX);
  });

  test("never lock out the holder, however many are requested at once", async () => {
    const client = await start(WAITS_MAX);
    const outcomes = Array.from({ length: 5 * WAITS_MAX }, async (_, index) => {
      if (index % 2 === 0) return await client.wait(BUSY).granted();
      const { outcome } = await client.call("acquire", {
        name: "busy",
        whenBusy: { case: "wait", value: {} },
      });
      return outcome.value;
    }).map((outcome) => outcome.catch((failure: RowlockError) => failure));
    let refused = 0;
    for (const outcome of outcomes) void outcome.then((one) => one instanceof Error && ++refused);
    await until(() => refused === 4 * WAITS_MAX);
    await client.call("renew", { leaseId });
    expect(await waiting()).toBe(WAITS_MAX);
    expect(await client.call("release", { leaseId })).toMatchObject({ released: true });
    for (let turn = 1; turn <= WAITS_MAX; turn++) {
      const { holders } = (await client.call("getLock", { name: "busy" })).lock ?? {};
      expect(holders).toHaveLength(1);
      await client.force("busy", "the next, please");
    }
    for (const outcome of await Promise.all(outcomes)) {
      if (outcome instanceof Error) expect(outcome).toMatchObject(TOO_MANY);
    }
  });

  test("leave room for others on other connections, and for another one when they end", async () => {
    const client = await start(1);
    const first = client.wait(BUSY);
    await first.position();
    const elsewhere = clientOfTest(new TestCalls(server.address));
    const second = elsewhere.wait(BUSY);
    await second.position();

    await client.call("release", { leaseId });
    const lease = await first.granted();
    const third = client.wait(BUSY);
    await third.position();
    third.cancel();
    await until(() => server.openStreams() === 1);
    const fourth = client.wait(BUSY);
    await fourth.position();
    await client.call("release", { leaseId: lease.leaseId });
    expect(await second.granted()).toMatchObject({ lockName: "busy" });
  });
});

describe("a silent connection", () => {
  const HANDSHAKE_MS = 150;
  const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  /** An empty frame of that type, and the acknowledgement of the server's. */
  const SETTINGS = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0]);

  function dial(): Socket {
    const [host, port] = server.address.split(":");
    const socket = connectSocket(Number(port), host);
    socket.on("error", () => {});
    // Discards what the server sends, so that the socket emits its end.
    socket.resume();
    onTestFinished(() => void socket.destroy());
    return socket;
  }
  const hungUpOn = (socket: Socket) => new Promise<void>((resolve) => socket.once("close", () => resolve()));

  test.each([
    ["at all", Buffer.alloc(0)],
    ["but the beginning of the preface", PREFACE.subarray(0, 10)],
    ["but the preface", PREFACE],
  ])("%s is closed, and one that speaks without a request is not", async (_what, said) => {
    server = await serverOfTest({ grpc: { handshakeMs: HANDSHAKE_MS } });
    const polite = dial();
    let isCut = false;
    polite.once("close", () => {
      isCut = true;
    });
    polite.write(Buffer.concat([PREFACE, SETTINGS]));
    const silent = dial();
    silent.write(said);
    await hungUpOn(silent);
    const later = dial();
    await hungUpOn(later);
    expect(isCut).toBe(false);
  });

  test("is closed on a TLS port, too", async () => {
    const { cert: certificate, key } = selfSignedCertificate();
    const tls = { certificate, key, clientCa: null };
    server = await serverOfTest({ grpc: { handshakeMs: HANDSHAKE_MS, tls } });
    const silent = dial();
    await hungUpOn(silent);
    const [host, port] = server.address.split(":");
    const spoken = connectTls({ host, port: Number(port), rejectUnauthorized: false, ALPNProtocols: ["h2"] });
    spoken.on("error", () => {});
    spoken.resume();
    await hungUpOn(spoken);
    expect([silent.destroyed, spoken.destroyed]).toEqual([true, true]);
  });

  test("counts until then: beyond the bound of all connections new ones are closed", async () => {
    server = await serverOfTest({ grpc: { capacity: { ...NO_BOUND, connections: 2 } } });
    const [first, second] = [dial(), dial()] as const;
    await Promise.all([first, second].map((socket) => once(socket, "data")));
    await hungUpOn(dial());
    first.destroy();
    let isTaken = false;
    while (!isTaken) {
      const next = dial();
      isTaken = await Promise.race([hungUpOn(next).then(() => false), once(next, "data").then(() => true)]);
    }
    expect(second.destroyed).toBe(false);
  });
});
