// The files that a server reads again, each checked as a whole.

import { generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "vitest";
import { metricsTokenFile } from "../../server/config/access-config.ts";
import { checkedFiles, FILE_KEYS } from "../../server/config/config.ts";
import { SETTINGS } from "../../server/config/settings.ts";
import type { ReadFile } from "../../server/config/sources.ts";
import { tlsFiles } from "../../server/config/tls-files.ts";
import {
  certificateAuthority,
  certificateFor,
  selfSignedCertificate,
  signedCertificate,
} from "../process/certificate.ts";

const HOUR_MS = 3_600_000;

function reading(files: Readonly<Record<string, string>>): ReadFile {
  return (path) => {
    const text = files[path];
    if (text === undefined) throw Object.assign(new Error(`no ${path}`), { code: "ENOENT" });
    return text;
  };
}

test("all settings that name a checked file are in the list, and each group names its files", () => {
  // Written by the server, or read when it connects to its database.
  const others = ["stateFile", "databaseCa", "databaseCert", "databaseKey", "databasePasswordFile"];
  const files = Object.entries(SETTINGS).filter(([, { kind }]) => kind.placeholder.startsWith("<file"));
  expect(files.map(([key]) => key).sort()).toEqual([...new Set([...FILE_KEYS, ...others])].sort());
  const values = Object.fromEntries(FILE_KEYS.map((key) => [key, key]));
  expect(checkedFiles(values).flatMap(({ paths }) => paths)).toEqual([...FILE_KEYS]);
  expect(checkedFiles({})).toEqual([]);
});

describe("a certificate with its key", () => {
  const authority = certificateAuthority();
  const paths = { tlsCert: "crt", tlsKey: "key", tlsClientCa: "ca" };
  const load = (files: Record<string, string>) => tlsFiles(paths)?.load(reading(files));

  test("is loaded with the authorities of clients", () => {
    const { cert, key } = selfSignedCertificate();
    expect(load({ crt: cert, key, ca: authority.cert })).toEqual({
      value: { certificate: cert, key, clientCa: authority.cert },
    });
  });

  test("must belong together, be there and be readable, and all faults are found at once", () => {
    const [one, other] = [selfSignedCertificate(), selfSignedCertificate()];
    expect(load({ crt: one.cert, key: other.key, ca: "junk" })).toEqual({
      faults: [
        expect.stringMatching(/^ROWLOCK_TLS_KEY is not the key/),
        expect.stringMatching(/^ROWLOCK_TLS_CLIENT_CA does not hold certificates/),
      ],
    });
    expect(load({ crt: one.cert, key: one.key })).toEqual({
      faults: [expect.stringMatching(/^ROWLOCK_TLS_CLIENT_CA .*ENOENT/)],
    });
  });

  test("must be valid today: there is something better in force", () => {
    const expired = signedCertificate(authority, "localhost", { untilMs: Date.now() - 1_000 });
    const early = signedCertificate(authority, "localhost", { fromMs: Date.now() + HOUR_MS });
    expect(load({ crt: expired.cert, key: expired.key, ca: authority.cert })).toEqual({
      faults: [expect.stringMatching(/^ROWLOCK_TLS_CERT expired at \d{4}-/)],
    });
    expect(load({ crt: early.cert, key: early.key, ca: authority.cert })).toEqual({
      faults: [expect.stringMatching(/^ROWLOCK_TLS_CERT is not valid before \d{4}-/)],
    });
  });

  test("must be one that TLS accepts", () => {
    const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 1_024 });
    const cert = certificateFor(authority, "localhost", publicKey);
    const key = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
    expect(load({ crt: cert, key, ca: authority.cert })).toEqual({
      faults: [expect.stringMatching(/^ROWLOCK_TLS_CERT cannot be used for TLS \(.*KEY_TOO_SMALL\)/)],
    });
  });
});

describe("a file of tokens", () => {
  const load = (text?: string) =>
    metricsTokenFile({ metricsTokenFile: "tokens" })?.load(
      reading(text === undefined ? {} : { tokens: text }),
    );

  test("has one a line", () => {
    expect(load("0123456789abcdef\n")).toEqual({ value: ["0123456789abcdef"] });
    expect(load("\n0123456789abcdef\r\n  AAAA._~+/-BBBBCCCC==  \n\n")).toEqual({
      value: ["0123456789abcdef", "AAAA._~+/-BBBBCCCC=="],
    });
  });

  test("without a token, or with one that is short or no token, is refused without quoting it", () => {
    expect(load()).toEqual({ faults: [expect.stringContaining("ENOENT")] });
    expect(load(" \n")).toEqual({ faults: [expect.stringContaining("is empty")] });
    const faulty = load("0123456789abcdef\nshort\nwith a space in it\n");
    expect(faulty).toEqual({
      faults: [expect.stringMatching(/^Line 2 of/), expect.stringMatching(/^Line 3 of/)],
    });
    expect(JSON.stringify(faulty)).not.toMatch(/short|space/);
  });
});
