// Makes certificates for tests with Node alone, so that the repository contains no private key and no certificate
// expires.

import type { KeyObject } from "node:crypto";
import { createPublicKey, generateKeyPairSync, randomBytes, sign, X509Certificate } from "node:crypto";
import { isIPv4 } from "node:net";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** PEM texts. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

const OID_COMMON_NAME = "0603550403";
const OID_SUBJECT_ALT_NAME = "0603551d11";
const OID_BASIC_CONSTRAINTS = "0603551d13";
const OID_ECDSA_WITH_SHA256 = "06082a8648ce3d040302";

/** A certificate that can sign others. */
export interface Authority extends Certificate {
  readonly name: Buffer;
  readonly privateKey: KeyObject;
}

/** A self-signed certificate for `localhost` and 127.0.0.1, valid from an hour ago for a day, or until `untilMs`. */
export function selfSignedCertificate(commonName = "localhost", untilMs?: number): Certificate {
  const own = keyPair();
  const name = nameOf(commonName);
  const cert = certificate({
    name,
    publicKey: own.publicKey,
    issuer: name,
    issuerKey: own.privateKey,
    ...(untilMs !== undefined && { untilMs }),
  });
  return { cert, key: keyPem(own.privateKey) };
}

/** A certificate authority, valid for a day. */
export function certificateAuthority(): Authority {
  return authorityWith(keyPair().privateKey);
}

/** The same authority with a certificate that is valid until `untilMs`. */
export function authorityUntil({ privateKey }: Authority, untilMs: number): Authority {
  return authorityWith(privateKey, untilMs);
}

/** An authority that another one has signed. */
export function authorityUnder(
  { name: issuer, privateKey: issuerKey }: Authority,
  commonName: string,
): Authority {
  const { publicKey, privateKey } = keyPair();
  const name = nameOf(commonName);
  const cert = certificate({ name, publicKey, issuer, issuerKey, isAuthority: true });
  return { cert, key: keyPem(privateKey), name, privateKey };
}

function authorityWith(privateKey: KeyObject, untilMs?: number): Authority {
  const name = nameOf("authority of a test");
  const cert = certificate({
    name,
    publicKey: createPublicKey(privateKey),
    issuer: name,
    issuerKey: privateKey,
    isAuthority: true,
    ...(untilMs !== undefined && { untilMs }),
  });
  return { cert, key: keyPem(privateKey), name, privateKey };
}

/** What differs from the usual: valid from an hour ago for a day, for `localhost` and 127.0.0.1. */
export interface Unusual {
  readonly fromMs?: number;
  readonly untilMs?: number;
  /** Further names of its subject. */
  readonly uris?: readonly string[];
  /** Names and IPv4 addresses. */
  readonly hosts?: readonly string[];
}

/** A certificate signed by the authority. */
export function signedCertificate(
  authority: Authority,
  commonName: string,
  unusual: Unusual = {},
): Certificate {
  const own = keyPair();
  return { cert: certificateFor(authority, commonName, own.publicKey, unusual), key: keyPem(own.privateKey) };
}

/** The same for a key that the caller has, as PEM. */
export function certificateFor(
  authority: Authority,
  commonName: string,
  publicKey: KeyObject,
  unusual: Unusual = {},
): string {
  const { name: issuer, privateKey: issuerKey } = authority;
  return certificate({ name: nameOf(commonName), publicKey, issuer, issuerKey, ...unusual });
}

interface Contents extends Unusual {
  readonly name: Buffer;
  readonly publicKey: KeyObject;
  readonly issuer: Buffer;
  readonly issuerKey: KeyObject;
  readonly isAuthority?: boolean;
}

/** The certificate as PEM. */
function certificate(contents: Contents): string {
  const { name, publicKey, issuer, issuerKey, isAuthority = false, uris = [] } = contents;
  const { fromMs = Date.now() - HOUR_MS, untilMs = Date.now() + DAY_MS } = contents;
  const { hosts = ["localhost", "127.0.0.1"] } = contents;
  const algorithm = sequence(hex(OID_ECDSA_WITH_SHA256));
  const validity = sequence(generalizedTime(fromMs), generalizedTime(untilMs));
  const altNames = sequence(
    ...hosts.map((host) =>
      isIPv4(host) ? der(0x87, Buffer.from(host.split(".").map(Number))) : der(0x82, Buffer.from(host)),
    ),
    ...uris.map((uri) => der(0x86, Buffer.from(uri))),
  );
  const extension = isAuthority
    ? sequence(hex(OID_BASIC_CONSTRAINTS), der(0x01, Buffer.from([0xff])), der(0x04, sequence(hex("0101ff"))))
    : sequence(hex(OID_SUBJECT_ALT_NAME), der(0x04, altNames));
  const unsigned = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    algorithm,
    issuer,
    validity,
    name,
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, sequence(extension)),
  );
  const signature = Buffer.concat([Buffer.from([0]), sign("sha256", unsigned, issuerKey)]);
  return pem(sequence(unsigned, algorithm, der(0x03, signature)));
}

/** The authority's list of revoked certificates as PEM, valid until `untilMs`. */
export function revocationList(
  { name, privateKey }: Authority,
  revoked: readonly Certificate[],
  untilMs = Date.now() + DAY_MS,
): string {
  const algorithm = sequence(hex(OID_ECDSA_WITH_SHA256));
  const entries = revoked.map(({ cert }) =>
    sequence(der(0x02, hex(new X509Certificate(cert).serialNumber)), generalizedTime(Date.now() - HOUR_MS)),
  );
  const unsigned = sequence(
    der(0x02, Buffer.from([1])),
    algorithm,
    name,
    generalizedTime(Date.now() - HOUR_MS),
    generalizedTime(untilMs),
    ...(entries.length === 0 ? [] : [sequence(...entries)]),
  );
  const signature = Buffer.concat([Buffer.from([0]), sign("sha256", unsigned, privateKey)]);
  return pem(sequence(unsigned, algorithm, der(0x03, signature)), "X509 CRL");
}

const keyPair = () => generateKeyPairSync("ec", { namedCurve: "P-256" });

function nameOf(commonName: string): Buffer {
  return sequence(der(0x31, sequence(hex(OID_COMMON_NAME), der(0x0c, Buffer.from(commonName)))));
}

function keyPem(key: KeyObject): string {
  return key.export({ type: "pkcs8", format: "pem" }).toString();
}

function pem(contents: Buffer, kind = "CERTIFICATE"): string {
  const lines = contents.toString("base64").match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${kind}-----`, ...lines, `-----END ${kind}-----`, ""].join("\n");
}

/** Encodes a DER element: tag, length, contents. */
function der(tag: number, contents: Buffer): Buffer {
  const { length } = contents;
  // DER requires the shortest length form; some parsers accept others, but Go's does not.
  const long = length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  const head = length < 0x80 ? [tag, length] : [tag, ...long];
  return Buffer.concat([Buffer.from(head), contents]);
}

function sequence(...parts: Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts));
}

function generalizedTime(epochMs: number): Buffer {
  const text = new Date(epochMs).toISOString().replace(/\.\d+|[-:T]/g, "");
  return der(0x18, Buffer.from(text));
}

function hex(text: string): Buffer {
  return Buffer.from(text, "hex");
}
