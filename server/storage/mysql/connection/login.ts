// Logs in to a database server: over TLS if the settings ask for it, with the password that is right now. Every refusal
// says what to do about it, and no message contains the password.

import { connect, isIP, type Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { type ConnectionOptions, createConnection, type Connection as Driver, type SslOptions } from "mysql2";
import type { DatabaseTls, MysqlAddress } from "../../database-url.ts";
import { TCP_KEEPALIVE_MS } from "../../storage-bounds.ts";
import { StoreError } from "../../store.ts";
import { ACCESS_DENIED, classify, reworded, TLS } from "./errors.ts";

/** The error number for a wrong password, and for a user that must use TLS or show a certificate and does not. */
const LOGIN_REFUSED = 1045;

export function connectTo({ host, port, socket }: MysqlAddress): Socket {
  if (socket !== null) return connect({ path: socket });
  const options = { noDelay: true, keepAlive: true, keepAliveInitialDelay: TCP_KEEPALIVE_MS };
  const connecting = connect({ host, port, ...options });
  // The driver gives Node no host if it is an IP address, and Node would then verify the certificate for the name of the
  // socket under it. That is `localhost` unless it is set here; Node itself sets it only for names.
  return isIP(host) === 0 ? connecting : Object.assign(connecting, { _host: host });
}

export function loginOptions(address: MysqlAddress, socket: () => Socket) {
  const { host, port, user, password, database, login } = address;
  const tls = login?.tls ?? null;
  return { stream: socket, host, port, user, password, database, ...(tls && { ssl: sslOf(tls) }) } as const;
}

/** Logs in over this socket. Rejects with a StoreError. The caller bounds the time, and destroys the socket after a failure. */
export function logIn(address: MysqlAddress, socket: Socket, options: ConnectionOptions): Promise<Driver> {
  const driver = createConnection({ ...loginOptions(address, () => socket), ...options });
  return new Promise((resolve, reject) => {
    const refuse = (cause: unknown) => reject(refusal(cause, driver, address));
    // Never removed: an `error` event without a listener would end the process.
    driver.on("error", refuse);
    driver.connect((error) => {
      if (error) refuse(error);
      else resolve(driver);
    });
  });
}

/**
 * Runs `attempt` with the address and its present password. If that password comes from a file and is refused, reads the
 * file again, and runs `attempt` once more if the password in it has changed.
 */
export async function withPassword<Answer>(
  address: MysqlAddress,
  attempt: (address: MysqlAddress) => Promise<Answer>,
): Promise<Answer> {
  const file = address.login?.passwordFile ?? null;
  if (file === null) return await attempt(address);
  const tried = file.current;
  try {
    return await attempt({ ...address, password: tried });
  } catch (error) {
    if (!(error instanceof StoreError) || error.reason !== ACCESS_DENIED) throw error;
    const password = file.renew();
    if (password instanceof Error) throw reworded(error, `${error.message} ${password.message}`);
    if (password === tried) throw error;
    return await attempt({ ...address, password });
  }
}

/** The driver keeps what it can reuse of handshakes by this object, so all connections get the same. */
const SSL = new WeakMap<DatabaseTls, SslOptions>();

function sslOf(tls: DatabaseTls): SslOptions {
  const { ca, own, verifyName } = tls;
  const ssl: SslOptions = SSL.get(tls) ?? {
    ca,
    ...(own && { cert: own.certificate, key: own.key }),
    rejectUnauthorized: true,
    verifyIdentity: verifyName,
  };
  SSL.set(tls, ssl);
  return ssl;
}

function refusal(cause: unknown, driver: Driver, address: MysqlAddress): StoreError {
  // The driver replaces the code of the error by one of its own.
  const { stream } = driver as unknown as { readonly stream: Partial<TLSSocket> };
  const ofTls = tlsError(cause, stream.authorizationError);
  if (ofTls) return ofTls;
  const { error } = classify(cause);
  const isRefused = (cause as { errno?: unknown }).errno === LOGIN_REFUSED;
  return isRefused ? reworded(error, `${error.message} ${hint(address)}`) : error;
}

/** What else than a wrong password may be the reason: servers do not say which. */
function hint({ login }: MysqlAddress): string {
  const tls = login?.tls ?? null;
  if (tls === null)
    return "If the server or this user demands TLS (require_secure_transport, REQUIRE SSL), set ROWLOCK_DATABASE_CA.";
  if (tls.own === null)
    return "If this user has to show a certificate (REQUIRE X509), set ROWLOCK_DATABASE_CERT and ROWLOCK_DATABASE_KEY.";
  return "If this user has to show a certain certificate (REQUIRE SUBJECT, REQUIRE ISSUER), name it in ROWLOCK_DATABASE_CERT.";
}

// What a failed TLS handshake means, by codes, because messages contain names and may change. None of these faults passes by
// waiting.
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

const OWN_ALERTS =
  /_ALERT_(BAD_CERTIFICATE|UNSUPPORTED_CERTIFICATE|CERTIFICATE_REVOKED|CERTIFICATE_EXPIRED|CERTIFICATE_UNKNOWN|UNKNOWN_CA|DECRYPT_ERROR|ACCESS_DENIED)$/;
const MISSING_ALERT = /_ALERT_CERTIFICATE_REQUIRED$/;

/** Returns the error for a handshake that failed; null: it is not about TLS. */
function tlsError(cause: unknown, authorizationError: unknown): StoreError | null {
  const found = faultOf(cause, authorizationError);
  if (found === null) return null;
  // The whole certificate, which nobody wants in a log.
  if (cause instanceof Error && "cert" in cause) delete cause.cert;
  return new StoreError("unavailable", TLS, `${found.fault} (${found.code}).`, { cause });
}

/** `authorizationError`: why the certificate of the database server was refused, if it was. */
function faultOf(cause: unknown, authorizationError: unknown): { fault: string; code: string } | null {
  if (typeof authorizationError === "string")
    return { fault: BY_CODE[authorizationError] ?? UNTRUSTED, code: authorizationError };
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
