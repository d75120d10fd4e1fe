// Until when the certificates that settings name are valid, by a stable word for each file, for metrics. Of several
// certificates in one file, the one that ends first counts: a chain is as good as its weakest part, and an authority that
// ends refuses all whom it has signed.

import { X509Certificate } from "node:crypto";
import { type DatabaseTls, isSystems } from "./database-login.ts";
import type { TlsMaterial } from "./tls-files.ts";

export interface CertificateEnd {
  readonly file: string;
  readonly end: Date;
}

/** Of the listener: its own certificate, and the authorities of its clients. */
export function listenerEnds({ certificate, clientCa }: TlsMaterial): CertificateEnd[] {
  return endsOf({ certificate, client_ca: clientCa });
}

/** For the database: its authorities, unless they are those that the machine trusts, and what this server shows. */
export function databaseEnds(tls: DatabaseTls | null): CertificateEnd[] {
  if (tls === null) return [];
  const ca = isSystems(tls) ? null : tls.ca;
  return endsOf({ database_ca: ca, database_certificate: tls.own?.certificate ?? null });
}

function endsOf(pems: Readonly<Record<string, string | null>>): CertificateEnd[] {
  return Object.entries(pems).flatMap(([file, pem]) => (pem === null ? [] : [{ file, end: firstEnd(pem) }]));
}

/** `pem` holds at least one certificate: it was checked when it was read. */
function firstEnd(pem: string): Date {
  const certificates =
    pem.match(/-----BEGIN [A-Z ]*CERTIFICATE-----[\s\S]+?-----END [A-Z ]*CERTIFICATE-----/g) ?? [];
  const ends = certificates.map((each) => new X509Certificate(each).validToDate.getTime());
  return new Date(Math.min(...ends));
}
