// Says what is at each address when no server has answered, in the words of the shell. Runs only after a failure, so that
// a command that works pays nothing for it.

import { type DiagnosisManner, diagnose as look } from "../typescript/src/index.ts";
import type { Servers } from "./servers.ts";

const MANNER: DiagnosisManner = {
  words: {
    silent:
      "something listens there, but does not answer like a Rowlock server: check the port, and whether the server is overloaded",
    silentToTls: "something listens there, but speaks no TLS that this client understands: check the port",
    silentInHttp2:
      "a server answers, but not like a Rowlock server, or not in time: check the port and any proxies, or raise --give-up-after",
    tlsWithoutHttp2: "it speaks TLS, but not HTTP/2, so it is not a Rowlock server: check the port",
    wantsTls: "it wants TLS: add --ca with the certificate of its authority, or --tls",
    wantsPlainText: "it speaks plain text: leave --tls, --ca and --server-name out",
    wantsCertificate: "it requires a client certificate that it trusts: name one with --cert and --key",
    wrongName:
      "its certificate is for another name: use the name in it, or give that name with --server-name",
    untrusted: "its certificate is not from a trusted authority: name its authority with --ca",
  },
  // A person waits for it in front of a screen.
  probeMs: 1_000,
};

/** Returns for each address a sentence without its full stop, which says what is there and what to do. */
export async function diagnose({ addresses, tls }: Servers): Promise<string[]> {
  const found = await look(addresses, tls === true ? {} : (tls ?? false), MANNER);
  return found.map(({ address, sentence }) => `${address}: ${sentence}`);
}
