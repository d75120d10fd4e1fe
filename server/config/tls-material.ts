// The PEM files of the gRPC listener: reads them and checks that they belong together before anything listens, so that
// a wrong file is reported beside all other faults of the settings, and not as an OpenSSL error at the first handshake.

import { createPrivateKey, X509Certificate } from "node:crypto";
import { reasonOf } from "./sources.ts";

/** PEM texts. */
export interface TlsMaterial {
  readonly certificate: string;
  readonly key: string;
  /** null: clients need no certificate. */
  readonly clientCa: string | null;
}

interface TlsFileNames {
  readonly cert: string | null;
  readonly key: string | null;
  readonly clientCa: string | null;
}

/**
 * Reads and checks the files, and adds what is wrong to `faults`: the result counts only if this adds none. null: there
 * is no certificate with a key.
 */
export function readTlsMaterial(
  files: TlsFileNames,
  readFile: (path: string) => string,
  faults: string[],
): TlsMaterial | null {
  if (files.key !== null && files.cert === null) {
    faults.push("ROWLOCK_TLS_KEY is set without ROWLOCK_TLS_CERT: set both, or neither.");
  }
  if (files.cert !== null && files.key === null) {
    faults.push("ROWLOCK_TLS_CERT is set without ROWLOCK_TLS_KEY: set both, or neither.");
  }
  if (files.clientCa !== null && files.cert === null) {
    faults.push(
      "ROWLOCK_TLS_CLIENT_CA is set without ROWLOCK_TLS_CERT: clients can prove who they are over TLS only.",
    );
  }
  const cert = read("ROWLOCK_TLS_CERT", files.cert, "a certificate", asCertificate);
  const key = read("ROWLOCK_TLS_KEY", files.key, "a private key without a passphrase", createPrivateKey);
  const clientCa = read("ROWLOCK_TLS_CLIENT_CA", files.clientCa, "certificates", asCertificate);
  if (cert && key && !cert.parsed.checkPrivateKey(key.parsed)) {
    faults.push(
      "ROWLOCK_TLS_KEY is not the key of ROWLOCK_TLS_CERT: name the two files that were made together.",
    );
  }
  return cert && key && { certificate: cert.pem, key: key.pem, clientCa: clientCa?.pem ?? null };

  function read<Parsed>(name: string, path: string | null, what: string, parse: (pem: string) => Parsed) {
    if (path === null) return null;
    let pem: string;
    try {
      pem = readFile(path);
    } catch (error) {
      faults.push(
        `${name} is "${path}", which cannot be read (${reasonOf(error)}): name a PEM file that this user may read.`,
      );
      return null;
    }
    try {
      return { pem, parsed: parse(pem) };
    } catch {
      // OpenSSL's message helps nobody, and may quote the file.
      faults.push(`${name} does not hold ${what} in PEM form: name a file that begins with -----BEGIN.`);
      return null;
    }
  }
}

function asCertificate(pem: string): X509Certificate {
  return new X509Certificate(pem);
}
