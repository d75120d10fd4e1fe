// The certificate of the gRPC listener, its key, and the authorities of clients: read and checked as a whole, at the
// start, with each change, and by `rowlock doctor`. A wrong file is reported beside all other faults, and not as an
// OpenSSL error at the first handshake.

import { X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import { type CertificateEnd, endsOf, type Reading, readCertificates, readKeyPair } from "./pem-files.ts";
import type { Reloadable } from "./reloaded-files.ts";
import { readCrls, withoutList } from "./revoked-certificates.ts";
import type { Checked } from "./settings.ts";
import { reasonOf } from "./sources.ts";

/** PEM texts. */
export interface TlsMaterial {
  readonly certificate: string;
  readonly key: string;
  /** null: clients need no certificate. */
  readonly clientCa: string | null;
  /** Lists of clients' certificates that were revoked; null or unset: there are none. */
  readonly clientCrls?: readonly string[] | null;
}

/** What Node needs of the material for a listener. */
export function secureOptions({ certificate, key, clientCa, clientCrls }: TlsMaterial) {
  const crl = clientCa !== null && clientCrls ? { crl: [...clientCrls] } : {};
  return { cert: certificate, key, ...(clientCa !== null && { ca: clientCa }), ...crl };
}

/** Of the listener's own certificate, and of the authorities of its clients. */
export function listenerEnds({ certificate, clientCa }: TlsMaterial): CertificateEnd[] {
  return endsOf({ certificate, client_ca: clientCa });
}

/**
 * The result counts only if this adds no faults. null: there is no certificate with a key. A certificate may have expired:
 * a server that starts with it serves at least the clients that do not mind.
 */
export function readTlsMaterial(
  { tlsCert = null, tlsKey = null, tlsClientCa = null, tlsClientCrl = null }: Checked,
  reading: Reading,
): TlsMaterial | null {
  const { faults } = reading;
  if (tlsClientCrl !== null && tlsClientCa === null)
    faults.push(
      "ROWLOCK_TLS_CLIENT_CRL is set without ROWLOCK_TLS_CLIENT_CA: set both, as only certificates of clients can be revoked.",
    );
  if (tlsClientCa !== null && tlsCert === null)
    faults.push(
      "ROWLOCK_TLS_CLIENT_CA is set without ROWLOCK_TLS_CERT: clients can prove who they are over TLS only.",
    );
  const before = faults.length;
  const pair = readKeyPair(["ROWLOCK_TLS_CERT", tlsCert], ["ROWLOCK_TLS_KEY", tlsKey], reading);
  const clientCa = readCertificates("ROWLOCK_TLS_CLIENT_CA", tlsClientCa, reading);
  const clientCrls = readCrls(tlsClientCrl, reading);
  // TLS refuses the clients of an authority without a list, and does not say why.
  if (clientCa !== null && clientCrls !== null)
    for (const subject of withoutList(clientCa, clientCrls))
      faults.push(
        `ROWLOCK_TLS_CLIENT_CRL has no list of the authority "${subject}" in ROWLOCK_TLS_CLIENT_CA: TLS refuses every client of it. Add its list, even if it is empty, or take the authority out.`,
      );
  if (!pair) return null;
  const material = { ...pair, clientCa, ...(clientCrls && { clientCrls }) };
  if (faults.length === before) checkUse(material, faults);
  return material;
}

/** Adds a fault if TLS refuses the material, as it does with keys that are too short. */
function checkUse(material: TlsMaterial, faults: string[]): void {
  try {
    createSecureContext(secureOptions(material));
  } catch (error) {
    faults.push(
      `ROWLOCK_TLS_CERT cannot be used for TLS (${reasonOf(error)}): name a certificate and a key that OpenSSL accepts.`,
    );
  }
}

/** Unlike at the start, there is something better in force than a certificate that is not valid today. */
export function tlsFiles(values: Checked): Reloadable<TlsMaterial> | null {
  const { tlsCert, tlsKey, tlsClientCa, tlsClientCrl } = values;
  const paths = [tlsCert, tlsKey, tlsClientCa, tlsClientCrl].filter((path) => typeof path === "string");
  if (paths.length === 0) return null;
  return {
    what: "certificate",
    paths,
    ifNever: "the certificate of the start is served all the same, as no better one has been in force",
    load(readFile) {
      const faults: string[] = [];
      const material = readTlsMaterial(values, { readFile, faults });
      if (material && faults.length === 0) checkDates(material, faults);
      return material && faults.length === 0 ? { value: material } : { faults };
    },
  };
}

function checkDates({ certificate }: TlsMaterial, faults: string[]): void {
  const { validFromDate, validToDate } = new X509Certificate(certificate);
  const nowMs = Date.now();
  if (validToDate.getTime() < nowMs)
    faults.push(`ROWLOCK_TLS_CERT expired at ${validToDate.toISOString()}: renew it.`);
  if (validFromDate.getTime() > nowMs)
    faults.push(
      `ROWLOCK_TLS_CERT is not valid before ${validFromDate.toISOString()}: wait, or correct this machine's clock.`,
    );
}
