// Reads PEM files that settings name, and checks that they hold what they should. Adds a fault for each one that does
// not, and never quotes a file. Says until when certificates are valid.

import { createPrivateKey, X509Certificate } from "node:crypto";
import { Refusal } from "./setting-kinds.ts";
import { type ReadFile, readNamed } from "./sources.ts";

/** How files are read, and what is wrong with them and with the settings that name them, each a sentence for an operator. */
export interface Reading {
  readonly readFile: ReadFile;
  readonly faults: string[];
}

/** The name of a setting, and the file that it names; null: none. */
type Named = readonly [name: string, path: string | null];

/** The certificate and key of one side of TLS, as PEM texts. null: none is set, or there are faults. */
export function readKeyPair([certName, certPath]: Named, [keyName, keyPath]: Named, reading: Reading) {
  const { faults } = reading;
  if (keyPath !== null && certPath === null)
    faults.push(`${keyName} is set without ${certName}: set both, or neither.`);
  if (certPath !== null && keyPath === null)
    faults.push(`${certName} is set without ${keyName}: set both, or neither.`);
  const cert = readPem(certName, certPath, "a certificate", asCertificate, reading);
  const key = readPem(keyName, keyPath, "a private key without a passphrase", createPrivateKey, reading);
  if (cert && key && !cert.parsed.checkPrivateKey(key.parsed))
    faults.push(`${keyName} is not the key of ${certName}: name the two files that were made together.`);
  return cert && key && { certificate: cert.pem, key: key.pem };
}

/** The certificates of authorities as PEM. null: none are set, or there are faults. */
export function readCertificates(name: string, path: string | null, reading: Reading): string | null {
  return readPem(name, path, "certificates", asCertificate, reading)?.pem ?? null;
}

const asCertificate = (pem: string) => new X509Certificate(pem);

function readPem<Parsed>(
  name: string,
  path: string | null,
  what: string,
  parse: (pem: string) => Parsed,
  reading: Reading,
): { readonly pem: string; readonly parsed: Parsed } | null {
  const pem = readPemText(name, path, reading);
  if (pem === null) return null;
  try {
    return { pem, parsed: parse(pem) };
  } catch {
    // OpenSSL's message helps nobody, and may quote the file.
    reading.faults.push(
      `${name} does not hold ${what} in PEM form: name a file that begins with -----BEGIN.`,
    );
    return null;
  }
}

/** The text of the file. null: none is named, or it cannot be read, which adds a fault. */
export function readPemText(name: string, path: string | null, { readFile, faults }: Reading): string | null {
  if (path === null) return null;
  const text = readNamed(name, path, readFile, "name a PEM file that this user may read");
  if (!(text instanceof Refusal)) return text;
  faults.push(text.message);
  return null;
}

/** Until when a file is valid. Its word for metrics is stable. */
export interface CertificateEnd {
  readonly file: string;
  readonly end: Date;
}

/** Of several certificates in a file, the one that ends first counts: a chain is as good as its weakest part. */
export function endsOf(pems: Readonly<Record<string, string | null | undefined>>): CertificateEnd[] {
  return Object.entries(pems).flatMap(([file, pem]) => (pem ? [{ file, end: firstEnd(pem) }] : []));
}

/** `pem` holds at least one certificate: it was checked when it was read. */
function firstEnd(pem: string): Date {
  const certificates =
    pem.match(/-----BEGIN [A-Z ]*CERTIFICATE-----[\s\S]+?-----END [A-Z ]*CERTIFICATE-----/g) ?? [];
  return new Date(Math.min(...certificates.map((each) => asCertificate(each).validToDate.getTime())));
}
