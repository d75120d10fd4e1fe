// The certificates of a TLS server, as files. An authority signs them, because not every language checks the expiry
// of a certificate that is trusted directly.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { certificateAuthority, signedCertificate } from "../../process/certificate.ts";

const HALF_AN_HOUR_MS = 1_800_000;

export interface Certificates {
  /** Flags for `rowlock serve`. */
  readonly flags: readonly string[];
  /** The paths that clients receive, by their names in scenarios. */
  readonly files: Readonly<Record<string, string>>;
  remove(): Promise<void>;
}

export async function makeCertificates(tls: "valid" | "expired", ofClients: boolean): Promise<Certificates> {
  const folder = await mkdtemp(join(tmpdir(), "rowlock-tls-"));
  const write = async (name: string, pem: string) => {
    const path = join(folder, `${name}.pem`);
    await writeFile(path, pem);
    return path;
  };
  const authority = certificateAuthority();
  const untilMs = tls === "expired" ? Date.now() - HALF_AN_HOUR_MS : undefined;
  const server = signedCertificate(authority, "localhost", untilMs === undefined ? {} : { untilMs });
  const ca = await write("ca", authority.cert);
  const otherCa = await write("other-ca", certificateAuthority().cert);
  const flags = [
    "--tls-cert",
    await write("server", server.cert),
    "--tls-key",
    await write("server-key", server.key),
  ];
  const remove = () => rm(folder, { recursive: true, force: true });
  if (!ofClients) return { flags, files: { ca, otherCa }, remove };
  const client = signedCertificate(authority, "client");
  const clientCert = await write("client", client.cert);
  const clientKey = await write("client-key", client.key);
  const expired = signedCertificate(authority, "client", { untilMs: Date.now() - HALF_AN_HOUR_MS });
  const expiredCert = await write("expired", expired.cert);
  const expiredKey = await write("expired-key", expired.key);
  const files = { ca, otherCa, clientCert, clientKey, expiredCert, expiredKey };
  return { flags: [...flags, "--tls-client-ca", ca], files, remove };
}
