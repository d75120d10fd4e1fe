// Reads and checks the files that TLS needs, so that a faulty file is named, and not only a connection refused.

import { createPrivateKey, X509Certificate } from "node:crypto";
import type { CliContext } from "../context.ts";

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
  context: CliContext,
  fault: (sentence: string) => void,
): true | TlsFiles {
  if (cert !== undefined && key === undefined)
    fault("there is a --cert and no --key: add the file of its key");
  if (key !== undefined && cert === undefined)
    fault("there is a --key and no --cert: add the file of its certificate");
  const authority = ca === undefined ? undefined : read("--ca", ca, context, fault);
  const own = cert === undefined ? undefined : read("--cert", cert, context, fault);
  const secret = key === undefined ? undefined : read("--key", key, context, fault);
  const authorityOf = authority === undefined ? undefined : certificate("--ca", ca, authority, fault);
  const ownOf = own === undefined ? undefined : certificate("--cert", cert, own, fault);
  if (authorityOf && isOver(authorityOf))
    fault(`--ca ${ca}: this certificate expired on ${authorityOf.validTo}: use its successor`);
  if (ownOf && isOver(ownOf)) fault(`--cert ${cert}: this certificate expired on ${ownOf.validTo}: renew it`);
  if (secret !== undefined && ownOf && !isKeyOf(secret, ownOf))
    fault(`--key ${key}: this is not the key of ${cert}: name the file that was made with that certificate`);
  const parts = {
    ...(authority !== undefined && { ca: authority }),
    ...(own !== undefined && { cert: own }),
    ...(secret !== undefined && { key: secret }),
    ...(serverName !== undefined && { serverName }),
  };
  return Object.keys(parts).length === 0 ? true : parts;
}

function read(
  flag: string,
  path: string,
  { readFile }: CliContext,
  fault: (sentence: string) => void,
): string | undefined {
  try {
    return readFile(path);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why = code === "ENOENT" ? "there is no such file" : `it cannot be read (${code ?? message})`;
    fault(`${flag} ${path}: ${why}: name one that can be read`);
    return undefined;
  }
}

/** Parses the first certificate of the file. */
function certificate(
  flag: string,
  path: string | undefined,
  pem: string,
  fault: (sentence: string) => void,
): X509Certificate | undefined {
  try {
    return new X509Certificate(pem);
  } catch {
    fault(
      `${flag} ${path}: this is not a certificate: name a file in PEM, which begins with -----BEGIN CERTIFICATE-----`,
    );
    return undefined;
  }
}

function isOver({ validToDate }: X509Certificate): boolean {
  return validToDate.getTime() < Date.now();
}

function isKeyOf(pem: string, own: X509Certificate): boolean {
  try {
    return own.checkPrivateKey(createPrivateKey(pem));
  } catch {
    return false;
  }
}
