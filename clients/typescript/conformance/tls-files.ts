// Converts the TLS files that the protocol names to the client's options. The client reads the files.

import type { TlsOptions } from "../src/index.ts";

interface TlsFiles {
  readonly caFile?: string;
  readonly certFile?: string;
  readonly keyFile?: string;
  readonly serverName?: string;
}

export function tlsOf({ caFile, certFile, keyFile, serverName }: TlsFiles): TlsOptions {
  return {
    ...(caFile !== undefined && { ca: { file: caFile } }),
    ...(certFile !== undefined && { cert: { file: certFile } }),
    ...(keyFile !== undefined && { key: { file: keyFile } }),
    ...(serverName !== undefined && { serverName }),
  };
}
