// Where the server is and how to verify it: by flags, the environment or the file of named servers. Finds all that is
// wrong with these before anything is sent.

import { isIP } from "node:net";
import { WHERE } from "../../config/shell-names.ts";
import { DURATION_US_MAX } from "../../core/bounds.ts";
import type { CliContext } from "../context.ts";
import { parseDuration } from "./durations.ts";
import { type NamedServer, namedServer, SERVERS_FILE } from "./servers-file.ts";
import type { ShellCommand } from "./shell-command.ts";
import { type TlsFiles, tlsOf } from "./tls-files.ts";

const ADDRESS = "127.0.0.1:50051";
const PORT_MAX = 65_535;
const GIVE_UP_AFTER_MS = 5_000;
const MS_MAX = DURATION_US_MAX / 1_000;

export const SERVER_HELP = `
Name the server with --addr or ROWLOCK_ADDR: host:port, or several of them separated by commas, which are tried in turn.
Or use its name in ${SERVERS_FILE} with --server or ROWLOCK_SERVER. Default: ${ADDRESS}.
--ca, --cert, --key and --server-name can also be set as ROWLOCK_CA and so on.
`;

/** Where to connect: the options of the client's `connect`. */
export interface Servers {
  readonly addresses: readonly string[];
  readonly giveUpAfter: number;
  readonly tls?: true | { readonly [Part in keyof TlsFiles]?: string };
}

interface Flags extends TlsFiles {
  readonly addr?: string;
  readonly server?: string;
  readonly giveUpAfter?: number;
  readonly tls?: true;
}

export function addServerOptions(command: ShellCommand): ShellCommand {
  return command
    .option("--addr <host:port,...>", `the servers (default ${ADDRESS})`)
    .option("--server <name>", "the servers of this name in the file of named servers")
    .option("--give-up-after <time>", "how long to try if no server answers (default 5s)", (text) =>
      parseDuration(text, { minMs: 1, maxMs: MS_MAX }),
    )
    .option("--tls", "encrypt, and trust the authorities that Node trusts")
    .option("--ca <file>", "encrypt, and trust the authority with this certificate")
    .option("--cert <file>", "a client certificate, for a server that requires one")
    .option("--key <file>", "the client certificate's key")
    .option("--server-name <name>", "the name in the server's certificate, if it differs from the address");
}

/** Adds what is wrong to the faults of the command. */
export function serversOf(command: ShellCommand, context: CliContext): Servers {
  const flags: Flags = command.opts();
  const named = whichNamed(flags, command, context);
  const [where, addresses] = addressesOf(flags, named, context);
  for (const address of addresses) {
    const wrong = wrongAddress(address);
    if (wrong) command.fault(`${where}: ${wrong}`);
  }
  const files = filesOf(flags, named, context);
  const isEncrypted = (flags.tls ?? named?.tls) || Object.keys(files).length > 0;
  const tls = isEncrypted && tlsOf(files, context, (sentence) => command.fault(sentence));
  const unnamed = addresses.find((address) => isIP(hostOf(address)) !== 0);
  if (tls && unnamed !== undefined && files.serverName === undefined)
    command.fault(
      `${where}: with TLS, the server's certificate must match its name, and ${unnamed} is an IP address: use the name in the certificate, or add --server-name`,
    );
  return {
    addresses,
    giveUpAfter: flags.giveUpAfter ?? GIVE_UP_AFTER_MS,
    ...(tls && { tls }),
  };
}

function whichNamed({ addr, server }: Flags, command: ShellCommand, context: CliContext) {
  const { env } = context;
  if (addr !== undefined && server !== undefined)
    command.fault("--addr and --server both say where the server is: leave one of them out");
  const isByEnvironment = addr === undefined && server === undefined;
  if (isByEnvironment && env[WHERE.addr] && env[WHERE.server])
    command.fault(
      `${WHERE.addr} and ${WHERE.server} are both set: unset one of them, or use --addr or --server`,
    );
  const name = server ?? (isByEnvironment ? env[WHERE.server] || undefined : undefined);
  if (name === undefined) return undefined;
  const { found, faults } = namedServer(name, context);
  for (const fault of faults) command.fault(fault);
  return found;
}

/** Returns the addresses, and the flag or variable that they come from. */
function addressesOf(
  { addr }: Flags,
  named: NamedServer | undefined,
  { env }: CliContext,
): [string, string[]] {
  if (named) return ["addresses", [...named.addresses]];
  const [where, text] = addr !== undefined ? ["--addr", addr] : [WHERE.addr, env[WHERE.addr] || ADDRESS];
  return [where, text.split(",").map((address) => address.trim())];
}

/** Flags come first. A named server has files of its own and does not use those of the environment. */
function filesOf(flags: Flags, named: NamedServer | undefined, { env }: CliContext): TlsFiles {
  const files: { -readonly [Part in keyof TlsFiles]: string } = {};
  for (const part of ["ca", "cert", "key", "serverName"] as const) {
    const value = flags[part] ?? (named ? named[part] : env[WHERE[part]] || undefined);
    if (value !== undefined) files[part] = value;
  }
  return files;
}

/** Says what is wrong with the address and what to do; undefined: nothing. */
export function wrongAddress(address: string): string | undefined {
  if (address === "") return "an address is empty: write host:port, or several separated by commas";
  if (address.includes("/")) return `"${address}" is no address: write host:port, without a scheme or a path`;
  const [, host = "", port = ""] = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/.exec(address) ?? [];
  if (host === "") return `"${address}" is no address: write host:port, and an IPv6 address in brackets`;
  if (port === "") return `"${address}" has no port: write ${host}:50051, if that is the server's`;
  if (!/^\d+$/.test(port) || Number(port) < 1 || Number(port) > PORT_MAX)
    return `"${address}" has no valid port: write a number from 1 to ${PORT_MAX} after the colon`;
  return undefined;
}

/** The host of an address, without the brackets of an IPv6 host. */
export function hostOf(address: string): string {
  return address.replace(/:\d+$/, "").replace(/^\[|\]$/g, "");
}
