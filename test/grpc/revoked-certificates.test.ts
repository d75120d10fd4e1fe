// Clients whose certificates are revoked: new connections are refused, and open ones end.

import { X509Certificate } from "node:crypto";
import { afterEach, describe, expect, test } from "vitest";
import { isRevoked, readCrls } from "../../server/config/revoked-certificates.ts";
import { tlsFiles } from "../../server/config/tls-files.ts";
import {
  certificateAuthority,
  revocationList,
  selfSignedCertificate,
  signedCertificate,
} from "../process/certificate.ts";
import { startServer, type TestServer, until } from "../support/harness.ts";
import { SessionClient } from "../support/session-client.ts";
import { TestCalls } from "../support/test-calls.ts";

const TTL = { seconds: 60n, nanos: 0 };
const authority = certificateAuthority();
const own = selfSignedCertificate();
const [good, bad] = [signedCertificate(authority, "good"), signedCertificate(authority, "bad")];

describe("a listener for clients with certificates", () => {
  let server: TestServer;
  const clients: TestCalls[] = [];
  afterEach(async () => {
    for (const client of clients.splice(0)) client.close();
    await server.stop();
  });

  const material = (...lists: string[]) => ({
    ...{ certificate: own.cert, key: own.key, clientCa: authority.cert },
    clientCrls: lists,
  });
  const clientOf = (who: typeof good, Kind = TestCalls) => {
    const client = new Kind(server.address.replace("127.0.0.1", "localhost"), {
      tls: { ca: own.cert, ...who },
    });
    clients.push(client);
    return client;
  };

  test("refuses those that are revoked from the start", async () => {
    server = await startServer({ grpc: { tls: material(revocationList(authority, [bad])) } });
    await clientOf(good).lease({ name: "a", ttl: TTL });
    await expect(clientOf(bad).lease({ name: "b", ttl: TTL })).rejects.toMatchObject({ code: "UNAVAILABLE" });
  });

  test("ends the sessions, waits and connections of those that are revoked later, and no others", async () => {
    server = await startServer({ grpc: { tls: material(revocationList(authority, [])) } });
    const [kept, gone, inSession] = [clientOf(good), clientOf(bad), clientOf(bad, SessionClient)];
    await kept.lease({ name: "held", ttl: TTL });
    const stream = gone.wait({ target: { case: "acquire", value: { name: "held", ttl: TTL } } });
    await stream.position();
    const wait = inSession.wait({ target: { case: "acquire", value: { name: "held", ttl: TTL } } });
    await wait.position();
    server.grpc.setTls(material(revocationList(authority, [bad])));
    for (const each of [stream, wait])
      expect(await each.failure()).toMatchObject({ reason: "CREDENTIALS_WRONG", code: "UNAUTHENTICATED" });
    await until(() => server.grpc.bounds().find(({ bound }) => bound === "server_connections")?.used === 1);
    await expect(gone.lease({ name: "b", ttl: TTL })).rejects.toMatchObject({ code: "UNAVAILABLE" });
    await kept.lease({ name: "c", ttl: TTL });
  });
});

describe("the file", () => {
  const files = new Map<string, string>([
    ["crt", own.cert],
    ["key", own.key],
    ["ca", authority.cert],
  ]);
  const read = (path: string) => {
    const text = files.get(path);
    if (text === undefined) throw new Error("ENOENT");
    return text;
  };
  const load = (crl: string) => {
    files.set("crl", crl);
    const group = tlsFiles({ tlsCert: "crt", tlsKey: "key", tlsClientCa: "ca", tlsClientCrl: "crl" });
    return group?.load(read);
  };

  test("may have several lists, and is read again with the certificate", () => {
    const other = certificateAuthority();
    const lists = [revocationList(other, []), revocationList(authority, [bad])];
    expect(load(lists.join(""))).toMatchObject({ value: { clientCrls: lists.map((list) => list.trim()) } });
    const faults: string[] = [];
    const crls = readCrls("crl", read, faults) ?? [];
    const raw = ({ cert }: typeof good) => new X509Certificate(cert).raw;
    expect([isRevoked(raw(bad), crls), isRevoked(raw(good), crls)]).toEqual([true, false]);
    expect(faults).toEqual([]);
  });

  test.each([
    ["no list", /does not hold lists/],
    [own.cert, /does not hold lists/],
    ["-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n", /does not hold lists/],
    [revocationList(authority, [], Date.now() - 1), /should have been renewed by/],
  ])("is refused if it is of no use: %#", (text, fault) => {
    expect(load(text)).toEqual({ faults: [expect.stringMatching(fault)] });
  });
});
