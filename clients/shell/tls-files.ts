// Reads and checks the files that TLS needs, so that a faulty file is named, and not only a connection refused.

import { createPrivateKey, X509Certificate } from "node:crypto";
import type { CliContext } from "./context.ts";
import { given } from "./flags.ts";
import { localTime } from "./past-times.ts";

/** Paths, and the name in the server's certificate. */
export interface TlsFiles {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly serverName?: string;
}

/**
 * Returns the client's TLS options; calls `fault` for each thing that is wrong. The result counts only if nothing is.
 */
export function tlsOf(
  { ca, cert, key, serverName }: TlsFiles,
  { readFile }: CliContext,
  fault: (sentence: string) => void,
): true | TlsFiles {
  if (cert !== undefined && key === undefined)
    fault("there is a --cert and no --key: add the file of its key");
  if (key !== undefined && cert === undefined)
    fault("there is a --key and no --cert: add the file of its certificate");
  const read = (flag: string, path: string | undefined): string | undefined => {
    if (path === undefined) return undefined;
    try {
      return readFile(path);
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      const why = code === "ENOENT" ? "there is no such file" : `it cannot be read (${code ?? message})`;
      fault(`${flag} ${path}: ${why}: name one that can be read`);
      return undefined;
    }
  };
  const parts = { ca: read("--ca", ca), cert: read("--cert", cert), key: read("--key", key) };
  checkCertificate(`--ca ${ca}`, parts.ca, "use its successor", fault);
  const own = checkCertificate(`--cert ${cert}`, parts.cert, "renew it", fault);
  if (parts.key !== undefined && own && !isKeyOf(parts.key, own))
    fault(`--key ${key}: this is not the key of ${cert}: name the file that was made with that certificate`);
  const options = given({ ...parts, serverName });
  return Object.keys(options).length === 0 ? true : options;
}

/** Returns the first certificate of the file; undefined: there is none. */
function checkCertificate(
  where: string,
  pem: string | undefined,
  ifExpired: string,
  fault: (sentence: string) => void,
): X509Certificate | undefined {
  if (pem === undefined) return undefined;
  try {
    const certificate = new X509Certificate(pem);
    if (certificate.validToDate.getTime() < Date.now())
      fault(`${where}: this certificate expired at ${localTime(certificate.validToDate)}: ${ifExpired}`);
    return certificate;
  } catch {
    fault(
      `${where}: this is not a certificate: name a file in PEM, which begins with -----BEGIN CERTIFICATE-----`,
    );
    return undefined;
  }
}

function isKeyOf(pem: string, own: X509Certificate): boolean {
  try {
    return own.checkPrivateKey(createPrivateKey(pem));
  } catch {
    return false;
  }
}
