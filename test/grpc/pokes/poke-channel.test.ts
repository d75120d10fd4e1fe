// Whom a server accepts as another server over TLS: it sends nothing to anybody else, least of all the secret.

import { Server, ServerCredentials, status } from "@grpc/grpc-js";
import { afterEach, describe, expect, test } from "vitest";
import type { TlsMaterial } from "../../../server/config/tls-files.ts";
import { pokeServiceDefinition } from "../../../server/grpc/pokes/poke-service.ts";
import { pokeChannel } from "../../../server/grpc/pokes/registered-servers.ts";
import { type Certificate, certificateAuthority, signedCertificate } from "../../process/certificate.ts";

const stops: (() => void)[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop();
});

const authority = certificateAuthority();
/** Both certificates are for localhost and 127.0.0.1. */
const [own, other] = ["own", "other"].map((name) => signedCertificate(authority, name)) as [
  Certificate,
  Certificate,
];
const tls: TlsMaterial = { certificate: own.cert, key: own.key, clientCa: authority.cert };

/** Starts a server that answers pokes with this certificate, and records what it receives. */
async function listening(host: string, { cert, key }: Certificate) {
  const received: Buffer[] = [];
  const server = new Server();
  server.addService(pokeServiceDefinition, {
    Poke(call: { request: Buffer }, callback: (error: null, answer: Buffer) => void) {
      received.push(call.request);
      callback(null, Buffer.alloc(0));
    },
  });
  const shown = [{ private_key: Buffer.from(key), cert_chain: Buffer.from(cert) }];
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync(`${host}:0`, ServerCredentials.createSsl(null, shown), (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
  stops.push(() => server.forceShutdown());
  return { address: `${host}:${port}`, received };
}

async function poke(address: string): Promise<Error | null> {
  const channel = pokeChannel(address, tls);
  stops.push(() => channel.close());
  return await new Promise((resolve) => {
    channel.poke("secret", [{ lockId: 1n, ticketNumber: 2n }], resolve);
  });
}

/**
 * Repeats the poke: it has one second for a new connection, which a busy machine may exceed. No other error is
 * accepted.
 */
async function getsThrough(address: string): Promise<void> {
  for (;;) {
    const error = await poke(address);
    if (error === null) return;
    expect(error).toMatchObject({ code: status.DEADLINE_EXCEEDED });
  }
}

describe("a poke gets to", () => {
  test("a server whose certificate names its address", async () => {
    const { address, received } = await listening("127.0.0.1", other);
    await getsThrough(address);
    expect(received).not.toHaveLength(0);
  });

  test("a server with the certificate that all servers share, at whatever address", async () => {
    const { address, received } = await listening("127.0.0.2", own);
    await getsThrough(address);
    expect(received).not.toHaveLength(0);
  });
});

describe("a poke does not get to", () => {
  test("a server with a certificate of the same authority for another address", async () => {
    const { address, received } = await listening("127.0.0.2", other);
    expect(await poke(address)).toMatchObject({
      message: expect.stringMatching(/127\.0\.0\.2|UNAVAILABLE|altnames/i),
    });
    expect(received).toHaveLength(0);
  });

  test("a server with a certificate of another authority", async () => {
    const { address, received } = await listening(
      "127.0.0.1",
      signedCertificate(certificateAuthority(), "stranger"),
    );
    expect(await poke(address)).not.toBeNull();
    expect(received).toHaveLength(0);
  });
});
