// How a server and its database prove to each other who they are: TLS, and a password from a file. Checks that the
// settings fit each other and the database URL.

import { getCACertificates } from "node:tls";
import { type CertificateEnd, endsOf, type Reading, readCertificates, readKeyPair } from "./pem-files.ts";
import { Refusal } from "./setting-kinds.ts";
import type { Checked } from "./settings.ts";
import { type ReadFile, readSecret } from "./sources.ts";

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
  reading: Reading,
): DatabaseLogin {
  reading.faults.push(...contradictions(values, place));
  const {
    databaseCa: ca = null,
    databaseCert = null,
    databaseKey = null,
    databaseVerifyName = true,
  } = values;
  const own = readKeyPair(
    ["ROWLOCK_DATABASE_CERT", databaseCert],
    ["ROWLOCK_DATABASE_KEY", databaseKey],
    reading,
  );
  const trusted = ca === SYSTEM ? systemAuthorities() : readCertificates("ROWLOCK_DATABASE_CA", ca, reading);
  return {
    tls: trusted === null ? null : { ca: trusted, own, verifyName: databaseVerifyName },
    passwordFile: readPassword(values, reading),
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

/** Of its authorities, unless they are those that the machine trusts, and of what this server shows. */
export function databaseEnds(tls: DatabaseTls | null): CertificateEnd[] {
  if (tls === null) return [];
  const ca = tls.ca === systemAuthorities() ? null : tls.ca;
  return endsOf({ database_ca: ca, database_certificate: tls.own?.certificate });
}

/** Also Node's own list, because small containers have none. */
function systemAuthorities(): string {
  return [...new Set([...getCACertificates("system"), ...getCACertificates("default")])].join("\n");
}

function readPassword(
  { databasePasswordFile: path }: Checked,
  { readFile, faults }: Reading,
): PasswordFile | null {
  if (!path) return null;
  const opened = PasswordFile.open(path, readFile);
  if (!(opened instanceof Refusal)) return opened;
  faults.push(opened.message);
  return null;
}

/** A file that holds the password of the database user, which may change while the server runs. */
export class PasswordFile {
  /** As last read. It stays until a login is refused, as the file may change before the database. No message quotes it. */
  current = "";
  readonly #path: string;
  readonly #readFile: ReadFile;

  /** Reads the file; a Refusal says why there is no password in it, in a sentence. */
  static open(path: string, readFile: ReadFile): PasswordFile | Refusal {
    const opened = new PasswordFile(path, readFile);
    const password = opened.renew();
    return password instanceof Refusal ? password : opened;
  }

  private constructor(path: string, readFile: ReadFile) {
    this.#path = path;
    this.#readFile = readFile;
  }

  /** Reads the file again, and returns what it holds now. A Refusal changes nothing. */
  renew(): string | Refusal {
    const password = readSecret("ROWLOCK_DATABASE_PASSWORD_FILE", this.#path, "the password", this.#readFile);
    if (!(password instanceof Refusal)) this.current = password;
    return password;
  }
}
