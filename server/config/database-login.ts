// How a server and its database prove to each other who they are: TLS, and a password from a file. Checks that the
// settings fit each other and the database URL.

import { getCACertificates } from "node:tls";
import { PasswordFile } from "./password-file.ts";
import { readCertificates, readKeyPair } from "./pem-files.ts";
import { Refusal } from "./setting-kinds.ts";
import type { Checked } from "./settings.ts";

/** The value of ROWLOCK_DATABASE_CA that is no file. */
const SYSTEM = "system";

/** What a database URL says that these settings depend on. */
export type DatabasePlace =
  | { readonly dialect: "sqlite" }
  | { readonly dialect: "mysql"; readonly socket: string | null; readonly password: string };

/** PEM texts. */
export interface DatabaseTls {
  readonly ca: string;
  /** What this server shows of itself; null: nothing. */
  readonly own: { readonly certificate: string; readonly key: string } | null;
  /** Whether the certificate of the database server has to name the host of the URL. */
  readonly verifyName: boolean;
}

export interface DatabaseLogin {
  /** null: plain text. */
  readonly tls: DatabaseTls | null;
  /** null: the URL has the password, or there is none. */
  readonly passwordFile: PasswordFile | null;
}

/** The result counts only if this adds no faults. `place` is null if the URL has a fault of its own. */
export function readDatabaseLogin(
  values: Checked,
  place: DatabasePlace | null,
  readFile: (path: string) => string,
  faults: string[],
): DatabaseLogin {
  faults.push(...contradictions(values, place));
  const { databaseCa: ca = null, databaseCert = null, databaseKey = null, databaseVerifyName } = values;
  const own = readKeyPair(
    ["ROWLOCK_DATABASE_CERT", databaseCert],
    ["ROWLOCK_DATABASE_KEY", databaseKey],
    readFile,
    faults,
  );
  const trusted =
    ca === SYSTEM ? systemAuthorities() : readCertificates("ROWLOCK_DATABASE_CA", ca, readFile, faults);
  return {
    tls: trusted === null ? null : { ca: trusted, own, verifyName: databaseVerifyName ?? true },
    passwordFile: readPassword(values, readFile, faults),
  };
}

function contradictions(values: Checked, place: DatabasePlace | null): string[] {
  const { databaseCa: ca, databaseCert: cert, databaseVerifyName, databasePasswordFile } = values;
  const faults: string[] = [];
  if (ca === null && cert)
    faults.push(
      "ROWLOCK_DATABASE_CERT is set without ROWLOCK_DATABASE_CA: a certificate is shown over TLS only.",
    );
  if (ca === null && databaseVerifyName === false)
    faults.push(
      "ROWLOCK_DATABASE_VERIFY_NAME is false without ROWLOCK_DATABASE_CA: without TLS there is no certificate, so " +
        "set ROWLOCK_DATABASE_CA, or leave it out.",
    );
  if (ca === SYSTEM && databaseVerifyName === false)
    faults.push(
      "ROWLOCK_DATABASE_VERIFY_NAME is false and ROWLOCK_DATABASE_CA is system: these authorities sign certificates " +
        "for everybody, so name the file of your database's own authority, or leave ROWLOCK_DATABASE_VERIFY_NAME out.",
    );
  if (place?.dialect === "sqlite" && (ca || databasePasswordFile))
    faults.push(
      `${ca ? "ROWLOCK_DATABASE_CA" : "ROWLOCK_DATABASE_PASSWORD_FILE"} is set and ROWLOCK_DATABASE_URL leads to ` +
        "SQLite, which has no server to log in to: set ROWLOCK_DATABASE_URL=mysql://user@host/database, or leave it out.",
    );
  if (place?.dialect === "mysql" && place.socket !== null && ca)
    faults.push(
      "ROWLOCK_DATABASE_CA is set and ROWLOCK_DATABASE_URL has a Unix socket, which stays on this machine and has no " +
        "TLS: leave out one of them.",
    );
  if (place?.dialect === "mysql" && place.password !== "" && databasePasswordFile)
    faults.push(
      "ROWLOCK_DATABASE_PASSWORD_FILE is set and ROWLOCK_DATABASE_URL has a password, too: leave out one of them.",
    );
  return faults;
}

/** Whether it trusts what ROWLOCK_DATABASE_CA=system stands for. */
export function isSystems({ ca }: DatabaseTls): boolean {
  return ca === systemAuthorities();
}

/** Also Node's own list, because small containers have none. */
function systemAuthorities(): string {
  return [...new Set([...getCACertificates("system"), ...getCACertificates("default")])].join("\n");
}

function readPassword(
  { databasePasswordFile: path = null }: Checked,
  readFile: (path: string) => string,
  faults: string[],
): PasswordFile | null {
  if (path === null) return null;
  const opened = PasswordFile.open(path, readFile);
  if (!(opened instanceof Refusal)) return opened;
  faults.push(opened.message);
  return null;
}
