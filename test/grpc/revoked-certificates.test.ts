// Clients whose certificates are revoked: new connections are refused, and open ones end.

import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { connect as connectTcp } from "node:net";
import { connect as connectTls } from "node:tls";
import { describe, expect, test } from "vitest";
import { chainOf, hasRevoked, readCrls } from "../../server/config/revoked-certificates.ts";
import { tlsFiles } from "../../server/config/tls-files.ts";
import {
  authorityUnder,
  certificateAuthority,
  revocationList,
  selfSignedCertificate,
  signedCertificate,
} from "../process/certificate.ts";
import { clientOfTest, serverOfTest, type TestServer, until } from "../support/harness.ts";
import { SessionClient } from "../support/session-client.ts";
import { queued, TestCalls, withTtl } from "../support/test-calls.ts";

const HELD = queued({ name: "held", terms: withTtl(60) });
const authority = certificateAuthority();
const own = selfSignedCertificate();
const [good, bad] = [signedCertificate(authority, "good"), signedCertificate(authority, "bad")];

describe("a listener for clients with certificates", () => {
  let server: TestServer;

  const material = (...lists: string[]) => ({
    ...{ certificate: own.cert, key: own.key, clientCa: authority.cert },
    clientCrls: lists,
  });
  const clientOf = (who: typeof good, Kind = TestCalls) =>
    clientOfTest(
      new Kind(server.address.replace("127.0.0.1", "localhost"), { tls: { ca: own.cert, ...who } }),
    );
  const connections = () => server.grpc.bounds().find(({ bound }) => bound === "server_connections")?.used;

  test("refuses those that are revoked from the start", async () => {
    server = await serverOfTest({ grpc: { tls: material(revocationList(authority, [bad])) } });
    await clientOf(good).lease({ name: "a" });
    await expect(clientOf(bad).lease({ name: "b" })).rejects.toMatchObject({ code: "UNAVAILABLE" });
  });

  test("ends the sessions, waits and connections of those that are revoked later, and no others", async () => {
    server = await serverOfTest({ grpc: { tls: material(revocationList(authority, [])) } });
    const [kept, gone, inSession] = [clientOf(good), clientOf(bad), clientOf(bad, SessionClient)];
    await kept.lease({ name: "held", terms: withTtl(60) });
    const stream = gone.wait(HELD);
    await stream.position();
    const wait = inSession.wait(HELD);
    await wait.position();
    server.grpc.setTls(material(revocationList(authority, [bad])));
    for (const each of [stream, wait])
      expect(await each.failure()).toMatchObject({ reason: "CREDENTIALS_WRONG", code: "UNAUTHENTICATED" });
    await until(() => connections() === 1);
    await expect(gone.lease({ name: "b" })).rejects.toMatchObject({ code: "UNAVAILABLE" });
    await kept.lease({ name: "c" });
  });

  test("ends a connection whose handshake began before the certificate was revoked", async () => {
    server = await serverOfTest({ grpc: { tls: material(revocationList(authority, [])) } });
    const socket = connectTcp(Number(server.address.split(":")[1]), "127.0.0.1");
    await until(() => connections() === 1);
    server.grpc.setTls(material(revocationList(authority, [bad])));
    const late = connectTls({ socket, ca: own.cert, ...bad, ALPNProtocols: ["h2"] });
    late.resume();
    await once(late, "secureConnect");
    // Enough for the server to see HTTP/2 there.
    late.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0");
    await once(late, "close");
    await until(() => connections() === 0);
    expect(late.authorized).toBe(true);
  });

  test.each(["TLSv1.2", "TLSv1.3"] as const)(
    "does not go by what it has seen before, with %s",
    async (version) => {
      server = await serverOfTest({ grpc: { tls: material(revocationList(authority, [])) } });
      const connect = (session?: Buffer) =>
        connectTls({
          ...{ port: Number(server.address.split(":")[1]), host: "127.0.0.1", ca: own.cert, ...bad },
          ...{ ALPNProtocols: ["h2"], minVersion: version, maxVersion: version, ...(session && { session }) },
        }).on("error", () => {});
      const first = connect();
      const [ticket] = (await once(first, "session")) as [Buffer];
      const second = connect(ticket);
      await once(second, "secureConnect");
      expect(second.isSessionReused()).toBe(true);
      server.grpc.setTls(material(revocationList(authority, [bad])));
      const third = connect(ticket);
      third.resume();
      // Not `once`, which rejects at an error.
      await new Promise((closed) => third.on("close", closed));
      expect(third.isSessionReused()).not.toBe(true);
      for (const each of [first, second]) each.destroy();
    },
  );

  test.each([true, false])(
    "ends what an authority in between has let in, sent by the client: %s",
    async (isSent) => {
      const between = authorityUnder(authority, "in between");
      const { cert, key } = signedCertificate(between, "below");
      const lists = (...revoked: (typeof good)[]) => ({
        ...material(revocationList(authority, revoked), revocationList(between, [])),
        ...(!isSent && { clientCa: authority.cert + between.cert }),
      });
      server = await serverOfTest({ grpc: { tls: lists() } });
      const below = clientOf({ cert: isSent ? cert + between.cert : cert, key });
      await below.lease({ name: "a" });
      server.grpc.setTls(lists(between));
      await until(() => connections() === 0);
      await expect(below.lease({ name: "b" })).rejects.toMatchObject({ code: "UNAVAILABLE" });
    },
  );
});

describe("the file", () => {
  const shown = (...certificates: (typeof good)[]) =>
    chainOf(certificates.map(({ cert }) => new X509Certificate(cert).raw)) as ReturnType<typeof chainOf> &
      object;
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
    const crls = readCrls("crl", { readFile: read, faults }) ?? [];
    expect([hasRevoked(shown(bad), crls), hasRevoked(shown(good), crls)]).toEqual([true, false]);
    expect(faults).toEqual([]);
  });

  test("counts for names that are written in another way, as for TLS", () => {
    const text = authority.name.indexOf("authority");
    const name = Buffer.from(authority.name);
    // A PrintableString.
    name[text - 2] = 0x13;
    name.write("AUTHORITY", text);
    const list = revocationList({ ...authority, name }, [bad]);
    expect(load(list)).toHaveProperty("value");
    expect(hasRevoked(shown(bad), [list])).toBe(true);
  });

  test("is not got around by another issuer of the same name", () => {
    const [between, decoy] = ["in between", "in between"].map((name) => authorityUnder(authority, name)) as [
      typeof authority,
      typeof authority,
    ];
    const leaf = signedCertificate(between, "below");
    const lists = [revocationList(authority, [between])];
    expect(hasRevoked(shown(leaf, between, authority), [revocationList(authority, [])])).toBe(false);
    expect(hasRevoked(shown(leaf, between, authority), lists)).toBe(true);
    expect(shown(leaf, decoy, authority)).toBeNull();
  });

  test("is refused if an authority has no list, as all its clients would be", () => {
    const between = authorityUnder(authority, "in between");
    files.set("ca", authority.cert + between.cert);
    expect(load(revocationList(authority, []))).toEqual({
      faults: [expect.stringMatching(/no list of the authority "CN=in between"/)],
    });
    expect(load(revocationList(authority, []) + revocationList(between, []))).toHaveProperty("value");
    files.set("ca", authority.cert);
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
