// Until when certificates are valid, as metrics show it.

import { getCACertificates } from "node:tls";
import { expect, test } from "vitest";
import { databaseEnds, readDatabaseLogin } from "../../server/config/database-login.ts";
import { listenerEnds } from "../../server/config/tls-files.ts";
import { selfSignedCertificate } from "../process/certificate.ts";

/** A whole second, as certificates have it. */
const at = (days: number) => Math.ceil(Date.now() / 1_000) * 1_000 + days * 86_400_000;
const [soon, later] = [at(3), at(30)];
const certificate = (untilMs: number) => selfSignedCertificate("localhost", untilMs);
const ends = (found: readonly { file: string; end: Date }[]) =>
  Object.fromEntries(found.map(({ file, end }) => [file, end.getTime()]));

test("of the listener: the certificate that ends first counts, in a chain and among the authorities of clients", () => {
  const [one, other] = [certificate(later), certificate(soon)];
  const { cert, key } = one;
  expect(ends(listenerEnds({ certificate: cert, key, clientCa: null }))).toEqual({ certificate: later });
  const authorities = `# ours\n${cert}${other.cert}`;
  expect(ends(listenerEnds({ certificate: cert + other.cert, key, clientCa: authorities }))).toEqual({
    certificate: soon,
    client_ca: soon,
  });
});

test("for the database: its authority and what the server shows, but not what the machine trusts", () => {
  const [one, other] = [certificate(later), certificate(soon)];
  const files: Readonly<Record<string, string>> = { ca: other.cert, cert: one.cert, key: one.key };
  const place = { dialect: "mysql", socket: null, password: "" } as const;
  const login = (databaseCa: string) => {
    const faults: string[] = [];
    const read = readDatabaseLogin({ databaseCa, databaseCert: "cert", databaseKey: "key" }, place, {
      readFile: (path) => files[path] as string,
      faults,
    });
    expect(faults).toEqual([]);
    return read;
  };
  expect(ends(databaseEnds(login("ca").tls))).toEqual({ database_ca: soon, database_certificate: later });
  expect(getCACertificates("default").length).toBeGreaterThan(0);
  expect(ends(databaseEnds(login("system").tls))).toEqual({ database_certificate: later });
  expect(databaseEnds(null)).toEqual([]);
});
