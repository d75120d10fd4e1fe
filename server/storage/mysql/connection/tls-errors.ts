// What a failed TLS handshake with the database server means. Decides by codes, because messages contain names and may
// change. None of these faults passes by waiting.

import { StoreError } from "../../store.ts";

/** StoreError.reason when this server and the database server do not agree about TLS. */
export const TLS = "tls";

const BY_CODE: Readonly<Record<string, string>> = {
  ERR_TLS_CERT_ALTNAME_INVALID:
    "The certificate of the database server does not name the host of ROWLOCK_DATABASE_URL: connect under a name or " +
    "address that it names, or give the server another certificate. If only that server has certificates of your " +
    "authority, ROWLOCK_DATABASE_VERIFY_NAME=false accepts it",
  CERT_HAS_EXPIRED:
    "The certificate of the database server, or of its authority, has expired: renew it, and check this machine's clock",
  CERT_NOT_YET_VALID:
    "The certificate of the database server, or of its authority, is not valid yet: check this machine's clock",
};
const UNTRUSTED =
  "The certificate of the database server is not signed by an authority of ROWLOCK_DATABASE_CA: name the file with " +
  "the authority that signed it";
const NOT_OFFERED =
  "The database server offers no TLS, and ROWLOCK_DATABASE_CA asks for it: turn TLS on at the database server, or, if " +
  "the network itself is trusted, leave ROWLOCK_DATABASE_CA out";
const OWN_REFUSED =
  "The database server refuses the certificate of ROWLOCK_DATABASE_CERT: name one that has not expired and that an " +
  "authority of the database server (its ssl_ca) has signed";
const OWN_MISSING =
  "The database server demands a certificate of its clients: set ROWLOCK_DATABASE_CERT and ROWLOCK_DATABASE_KEY";
const FAILED =
  "The TLS handshake with the database server failed: check that it supports TLS 1.2 or 1.3, and what its log says";

/** The alerts of TLS by which a server refuses the certificate of a client. */
const OWN_ALERTS =
  /_ALERT_(BAD_CERTIFICATE|UNSUPPORTED_CERTIFICATE|CERTIFICATE_REVOKED|CERTIFICATE_EXPIRED|CERTIFICATE_UNKNOWN|UNKNOWN_CA|DECRYPT_ERROR|ACCESS_DENIED)$/;
const MISSING_ALERT = /_ALERT_CERTIFICATE_REQUIRED$/;

/** The error for a user that must not connect without TLS. */
export const SECURE_TRANSPORT_REQUIRED =
  "The database server accepts connections over TLS only: set ROWLOCK_DATABASE_CA to the file with the authority that " +
  "signed its certificate, or to system if a public one did.";

/**
 * Returns the error for a handshake that failed; null: it is not about TLS.
 * @param verification why the certificate of the database server was refused; null: it was not.
 */
export function tlsError(cause: unknown, verification: string | null): StoreError | null {
  const found = faultOf(cause, verification);
  if (found === null) return null;
  // The whole certificate, which nobody wants in a log.
  if (cause instanceof Error && "cert" in cause) delete cause.cert;
  return new StoreError("unavailable", TLS, `${found.fault} (${found.code}).`, { cause });
}

function faultOf(cause: unknown, verification: string | null): { fault: string; code: string } | null {
  if (verification !== null) return { fault: BY_CODE[verification] ?? UNTRUSTED, code: verification };
  if (!(cause instanceof Error)) return null;
  const { code, library, reason } = cause as Error & { code?: string; library?: string; reason?: string };
  if (code === "HANDSHAKE_NO_SSL_SUPPORT") return { fault: NOT_OFFERED, code };
  // Only errors of OpenSSL have a library. Without one, the connection was lost in the middle of the handshake.
  if (library === undefined || reason === undefined) return null;
  // As Node makes the code, which the driver overwrites.
  const alert = `ERR_SSL_${reason.toUpperCase().replaceAll(" ", "_")}`;
  if (OWN_ALERTS.test(alert)) return { fault: OWN_REFUSED, code: alert };
  return { fault: MISSING_ALERT.test(alert) ? OWN_MISSING : FAILED, code: alert };
}
