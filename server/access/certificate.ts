// The name of a client in the certificate of its connection. TLS has already checked who signed the certificate.

import { X509Certificate } from "node:crypto";
import { credentialsWrong } from "./access-error.ts";
import { type Principal, principalName } from "./principal.ts";

/** What of a certificate names its client: its SPIFFE URI, its first DNS name, or its common name. */
export const CERTIFICATE_NAMES = ["spiffe", "dns", "cn"] as const;

export type CertificateNames = (typeof CERTIFICATE_NAMES)[number];

const WHAT = { spiffe: "SPIFFE URI", dns: "DNS name", cn: "common name" } as const;

/** Throws CREDENTIALS_WRONG if the certificate does not name exactly one client in this way. */
export function principalOfCertificate(raw: Buffer, names: CertificateNames): Principal {
  const certificate = new X509Certificate(raw);
  const what = WHAT[names];
  const found = namesIn(certificate, names);
  if (found.length !== 1)
    throw credentialsWrong(`the certificate has ${found.length} names of the kind ${what}`);
  const name = principalName("cert", found[0] as string);
  if (name === null) throw credentialsWrong(`the ${what} of the certificate is empty or too long`);
  return { name, endsMs: certificate.validToDate.getTime(), isKnown: () => true };
}

function namesIn(certificate: X509Certificate, names: CertificateNames): string[] {
  if (names === "cn") return commonNames(certificate);
  if (names === "dns") return alternativesOf(certificate, "DNS:").slice(0, 1);
  return alternativesOf(certificate, "URI:spiffe://").map((rest) => `spiffe://${rest}`);
}

/** Names that need quotes, because they contain separators, are left out: they could pass for others. */
function alternativesOf({ subjectAltName = "" }: X509Certificate, kind: string): string[] {
  const entries = subjectAltName.split(", ");
  const plain = entries.filter((entry) => entry.startsWith(kind) && !entry.includes('"'));
  return plain.map((entry) => entry.slice(kind.length));
}

/** `subject` has a line for each part; a value with a line break is escaped. */
function commonNames({ subject }: X509Certificate): string[] {
  const lines = subject.split("\n");
  return lines.filter((line) => line.startsWith("CN=")).map((line) => line.slice("CN=".length));
}
