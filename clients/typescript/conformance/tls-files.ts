// Reads the TLS files that the protocol names, for the client's options.

import { readFile } from "node:fs/promises";
import type { TlsOptions } from "../src/index.ts";

interface TlsFiles {
  readonly caFile?: string;
  readonly certFile?: string;
  readonly keyFile?: string;
  readonly serverName?: string;
}

export async function readTls({ caFile, certFile, keyFile, serverName }: TlsFiles): Promise<TlsOptions> {
  return {
    ...(caFile !== undefined && { ca: await readFile(caFile) }),
    ...(certFile !== undefined && { cert: await readFile(certFile) }),
    ...(keyFile !== undefined && { key: await readFile(keyFile) }),
    ...(serverName !== undefined && { serverName }),
  };
}
