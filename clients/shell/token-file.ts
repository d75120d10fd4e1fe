// Checks the file of the token by which a server knows who asks, before anything is sent. The client reads it again for
// each connection. There is no flag for the token itself, as any user of the machine could see it in the list of
// processes; and ROWLOCK_TOKEN is the fencing token of a lock.

import { isIP } from "node:net";
import type { CliContext } from "./context.ts";

type Fault = (sentence: string) => void;

/** Calls `fault` for each thing that is wrong. No sentence shows what is in the file. */
export function checkTokenFile(path: string, { readFile }: CliContext, fault: Fault): void {
  const where = `--token-file ${path}`;
  let token: string;
  try {
    token = readFile(path).trim();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why = code === "ENOENT" ? "there is no such file" : `it cannot be read (${code ?? message})`;
    fault(`${where}: ${why}: name one that can be read`);
    return;
  }
  if (token === "") fault(`${where}: it is empty: write the token into it`);
  else if (!/^[\x21-\x7e]+$/.test(token))
    fault(
      `${where}: this is not a token, as it has spaces or special characters: write only the token into it`,
    );
}

/** Calls `fault` if the token would go over a connection that others could read. */
export function refuseTokenInPlaintext(hosts: readonly string[], fault: Fault): void {
  const exposed = hosts.find((host) => !isWithinMachine(host));
  if (exposed !== undefined)
    fault(
      `--token-file: the connection to ${exposed} is not encrypted, so others could read the token: add --ca or --tls, or --allow-token-in-plaintext if something else protects the connection`,
    );
}

function isWithinMachine(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}
