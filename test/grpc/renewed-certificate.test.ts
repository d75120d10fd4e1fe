// A listener whose certificate, key and client authorities are replaced while clients are connected.

import { once } from "node:events";
import { connect, type TLSSocket } from "node:tls";
import { expect, onTestFinished, test } from "vitest";
import { certificateAuthority, selfSignedCertificate, signedCertificate } from "../process/certificate.ts";
import { clientOfTest, type StartOptions, serverOfTest, type TestServer } from "../support/harness.ts";
import { queued, TestCalls } from "../support/test-calls.ts";

async function start(grpc: StartOptions["grpc"]) {
  const server = await serverOfTest({ grpc: { ...grpc } });
  // By name, because certificates are checked against names.
  return { ...server, name: server.address.replace("127.0.0.1", "localhost") };
}

const client = (address: string, tls: { ca: string; cert?: string; key?: string }) =>
  clientOfTest(new TestCalls(address, { tls }));

/** Takes a new TLS connection as far as the handshake, with TLS 1.2, where that includes the client's certificate. */
async function handshake({ address }: Pick<TestServer, "address">, options: object): Promise<TLSSocket> {
  const [host, port] = address.split(":") as [string, string];
  const socket = connect({
    host,
    port: Number(port),
    ALPNProtocols: ["h2"],
    maxVersion: "TLSv1.2",
    rejectUnauthorized: false,
    ...options,
  });
  onTestFinished(() => void socket.destroy());
  await once(socket, "secureConnect");
  return socket;
}

const shown = (socket: TLSSocket) => socket.getPeerX509Certificate()?.toString();
const UNAVAILABLE = { code: "UNAVAILABLE" };

test("new connections get the new certificate, and the others go on", async () => {
  const [old, renewed] = [selfSignedCertificate(), selfSignedCertificate()];
  const server = await start({ tls: { certificate: old.cert, key: old.key, clientCa: null } });
  const connected = client(server.name, { ca: old.cert });
  const { leaseId } = await connected.lease({ name: "held" });
  const stream = connected.wait(queued({ name: "held" }));
  await stream.position();

  server.grpc.setTls({ certificate: renewed.cert, key: renewed.key, clientCa: null });
  expect(shown(await handshake(server, {}))).toBe(renewed.cert);
  await expect(client(server.name, { ca: old.cert }).lease({ name: "x" })).rejects.toMatchObject(UNAVAILABLE);
  expect(await client(server.name, { ca: renewed.cert }).lease({ name: "y" })).toBeDefined();
  await connected.call("release", { leaseId });
  expect(await stream.granted()).toBeDefined();
});

test("new connections need a certificate of the new authority, also if they resume an earlier one", async () => {
  const { cert, key } = selfSignedCertificate();
  const [old, renewed] = [certificateAuthority(), certificateAuthority()];
  const own = { certificate: cert, key };
  const server = await start({ tls: { ...own, clientCa: old.cert } });
  const former = signedCertificate(old, "former");
  const known = signedCertificate(renewed, "known");
  const connected = client(server.name, { ca: cert, ...former });
  await connected.lease({ name: "before" });
  const first = await handshake(server, former);
  const session = first.getSession() as Buffer;
  // Proves that the server does resume.
  const resumed = await handshake(server, { ...former, session });
  expect(resumed.isSessionReused()).toBe(true);

  server.grpc.setTls({ ...own, clientCa: renewed.cert });
  await expect(handshake(server, { ...former, session })).rejects.toThrow();
  await expect(client(server.name, { ca: cert, ...former }).lease({ name: "x" })).rejects.toMatchObject(
    UNAVAILABLE,
  );
  expect(await client(server.name, { ca: cert, ...known }).lease({ name: "y" })).toBeDefined();
  expect(await connected.lease({ name: "z" })).toBeDefined();
});

test("what is set before the start counts, and a server without TLS stays as it is", async () => {
  const { cert, key } = selfSignedCertificate();
  const server = await start({ tls: null });
  server.grpc.setTls({ certificate: cert, key, clientCa: null });
  expect(await server.client.lease({ name: "plain" })).toBeDefined();
});
