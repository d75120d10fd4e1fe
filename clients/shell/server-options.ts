// Where the server is and how to verify it: by flags, the environment or the file of named servers. Finds all that is
// wrong with these before anything is sent.

import { isIP } from "node:net";
import type { Command } from "commander";
import { type CliContext, WHERE } from "./context.ts";
import { type NamedServer, namedServer, SERVERS_FILE } from "./servers-file.ts";
import type { TlsFiles } from "./tls-files.ts";
import { given, timeParser } from "./values.ts";

const ADDRESS = "127.0.0.1:50051";
const PORT_MAX = 65_535;
const GIVE_UP_AFTER_MS = 5_000;

/** The last paragraph of each command's help. */
export const SERVER_HELP = `
Name the server with --addr or ROWLOCK_ADDR: host:port, or several of them separated by commas, which are tried in turn.
Or use its name in ${SERVERS_FILE} with --server or ROWLOCK_SERVER. Default: ${ADDRESS}.
--ca, --cert, --key and --server-name can also be set as ROWLOCK_CA and so on.
`;

/** Where to connect: the options of the client's `connect`. */
export interface Servers {
  readonly addresses: readonly string[];
  readonly giveUpAfter: number;
  readonly tls?: true | TlsFiles;
}

interface Flags extends TlsFiles {
  readonly addr?: string;
  readonly server?: string;
  readonly giveUpAfter?: number;
  readonly tls?: true;
}

type Fault = (sentence: string) => void;

export function addServerOptions(command: Command): Command {
  return command
    .option("--addr <host:port,...>", `the servers (default ${ADDRESS})`)
    .option("--server <name>", "the servers of this name in the file of named servers")
    .option("--give-up-after <time>", "how long to try if no server answers (default 5s)", timeParser(1))
    .option("--tls", "encrypt, and trust the authorities that Node trusts")
    .option("--ca <file>", "encrypt, and trust the authority with this certificate")
    .option("--cert <file>", "a client certificate, for a server that requires one")
    .option("--key <file>", "the client certificate's key")
    .option("--server-name <name>", "the name in the server's certificate, if it differs from the address");
}

/** Calls `fault` for each thing that is wrong. The result counts only if nothing is. */
export async function serversOf(flags: Flags, context: CliContext, fault: Fault): Promise<Servers> {
  const named = whichNamed(flags, context, fault);
  const [where, addresses] = addressesOf(flags, named, context);
  for (const address of addresses) {
    const wrong = wrongAddress(address);
    if (wrong) fault(`${where}: ${wrong}`);
  }
  const files = filesOf(flags, named, context);
  const isEncrypted = (flags.tls ?? named?.tls) || Object.keys(files).length > 0;
  // Loaded only here, because node:crypto takes longer to load than the rest of this file.
  const tls = isEncrypted ? (await import("./tls-files.ts")).tlsOf(files, context, fault) : undefined;
  const unnamed = addresses.find((address) => isIP(hostOf(address)) !== 0);
  if (tls && unnamed !== undefined && files.serverName === undefined)
    fault(
      `${where}: with TLS, the server's certificate must match its name, and ${unnamed} is an IP address: use the name in the certificate, or add --server-name`,
    );
  return { addresses, giveUpAfter: flags.giveUpAfter ?? GIVE_UP_AFTER_MS, ...given({ tls }) };
}

function whichNamed({ addr, server }: Flags, context: CliContext, fault: Fault): NamedServer | undefined {
  const { env } = context;
  if (addr !== undefined && server !== undefined)
    fault("--addr and --server both say where the server is: leave one of them out");
  const isByEnvironment = addr === undefined && server === undefined;
  if (isByEnvironment && env[WHERE.addr] && env[WHERE.server])
    fault(`${WHERE.addr} and ${WHERE.server} are both set: unset one of them, or use --addr or --server`);
  const name = isByEnvironment ? env[WHERE.server] || undefined : server;
  return name === undefined ? undefined : namedServer(name, context, fault);
}

/** Returns the addresses, and the flag or variable that they come from. */
function addressesOf(
  { addr }: Flags,
  named: NamedServer | undefined,
  { env }: CliContext,
): [string, readonly string[]] {
  if (named) return ["addresses", named.addresses];
  const [where, text] = addr !== undefined ? ["--addr", addr] : [WHERE.addr, env[WHERE.addr] || ADDRESS];
  return [where, text.split(",").map((address) => address.trim())];
}

/** Flags come first. A named server has files of its own and does not use those of the environment. */
function filesOf(flags: Flags, named: NamedServer | undefined, { env }: CliContext): TlsFiles {
  const file = (part: keyof TlsFiles) => flags[part] ?? (named ? named[part] : env[WHERE[part]] || undefined);
  return given({ ca: file("ca"), cert: file("cert"), key: file("key"), serverName: file("serverName") });
}

/** Says what is wrong with the address and what to do; undefined: nothing. */
function wrongAddress(address: string): string | undefined {
  if (address === "") return "an address is empty: write host:port, or several separated by commas";
  if (address.includes("/"))
    return `"${address}" is not an address: write host:port, without a scheme or a path`;
  const [, host = "", port = ""] = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/.exec(address) ?? [];
  if (host === "") return `"${address}" is not an address: write host:port, and an IPv6 address in brackets`;
  if (port === "") return `"${address}" has no port: write ${host}:50051, if that is the server's`;
  if (!/^\d+$/.test(port) || Number(port) < 1 || Number(port) > PORT_MAX)
    return `"${address}" has no valid port: write a number from 1 to ${PORT_MAX} after the colon`;
  return undefined;
}

/** The host of an address, without the brackets of an IPv6 host. */
export function hostOf(address: string): string {
  return address.replace(/:\d+$/, "").replace(/^\[|\]$/g, "");
}
