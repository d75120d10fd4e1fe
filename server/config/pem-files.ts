// Reads PEM files that settings name, and checks that they hold what they should. Adds a fault for each one that does
// not, and never quotes a file.

import { createPrivateKey, X509Certificate } from "node:crypto";
import { reasonOf } from "./sources.ts";

type ReadFile = (path: string) => string;
/** The name of a setting, and the file that it names; null: none. */
type Named = readonly [name: string, path: string | null];

/** The certificate and key of one side of TLS, as PEM texts. null: none is set, or there are faults. */
export function readKeyPair(
  [certName, certPath]: Named,
  [keyName, keyPath]: Named,
  readFile: ReadFile,
  faults: string[],
): { readonly certificate: string; readonly key: string } | null {
  if (keyPath !== null && certPath === null)
    faults.push(`${keyName} is set without ${certName}: set both, or neither.`);
  if (certPath !== null && keyPath === null)
    faults.push(`${certName} is set without ${keyName}: set both, or neither.`);
  const cert = readPem(certName, certPath, "a certificate", asCertificate, readFile, faults);
  const key = readPem(
    keyName,
    keyPath,
    "a private key without a passphrase",
    createPrivateKey,
    readFile,
    faults,
  );
  if (cert && key && !cert.parsed.checkPrivateKey(key.parsed))
    faults.push(`${keyName} is not the key of ${certName}: name the two files that were made together.`);
  return cert && key && { certificate: cert.pem, key: key.pem };
}

/** The certificates of authorities as PEM. null: none are set, or there are faults. */
export function readCertificates(
  name: string,
  path: string | null,
  readFile: ReadFile,
  faults: string[],
): string | null {
  return readPem(name, path, "certificates", asCertificate, readFile, faults)?.pem ?? null;
}

const asCertificate = (pem: string) => new X509Certificate(pem);

function readPem<Parsed>(
  name: string,
  path: string | null,
  what: string,
  parse: (pem: string) => Parsed,
  readFile: ReadFile,
  faults: string[],
): { readonly pem: string; readonly parsed: Parsed } | null {
  const pem = readPemText(name, path, readFile, faults);
  if (pem === null) return null;
  try {
    return { pem, parsed: parse(pem) };
  } catch {
    // OpenSSL's message helps nobody, and may quote the file.
    faults.push(`${name} does not hold ${what} in PEM form: name a file that begins with -----BEGIN.`);
    return null;
  }
}

/** The text of the file. null: none is named, or it cannot be read, which adds a fault. */
export function readPemText(
  name: string,
  path: string | null,
  readFile: ReadFile,
  faults: string[],
): string | null {
  if (path === null) return null;
  try {
    return readFile(path);
  } catch (error) {
    faults.push(
      `${name} is "${path}", which cannot be read (${reasonOf(error)}): name a PEM file that this user may read.`,
    );
    return null;
  }
}
