// Where the servers are, how to verify them and who asks: by flags, the environment or the file of named servers, which
// has for each name its addresses and the files of TLS and of the token. Finds all that is wrong with these before anything is sent. Checks
// the file by hand, because a library for that takes longer to load than the rest of a command.

import { isIP } from "node:net";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import type { Command } from "commander";
import type { ConnectOptions } from "../typescript/src/index.ts";
import { type CliContext, WHERE } from "./context.ts";
import { given, timeParser } from "./flags.ts";
import type { TlsFiles } from "./tls-files.ts";
import { checkTokenFile, refuseTokenInPlaintext } from "./token-file.ts";

/** Where a server listens by default. */
export const ADDRESS = "127.0.0.1:50051";
const PORT_MAX = 65_535;
const GIVE_UP_AFTER_MS = 5_000;
/** The path as help shows it. */
const SERVERS_FILE = "~/.config/rowlock/servers.json";
const EXAMPLE = '{"production": {"addresses": ["locks-1:50051", "locks-2:50051"], "ca": "ca.pem"}}';

/** The last paragraph of each command's help. */
export const SERVER_HELP = `
Name the server with --addr or ROWLOCK_ADDR: host:port, or several of them separated by commas, which are tried in turn.
Or use its name in ${SERVERS_FILE} with --server or ROWLOCK_SERVER. Default: ${ADDRESS}.
--ca, --cert, --key, --server-name and --token-file can also be set as ROWLOCK_CA and so on.
`;

/** Where to connect. */
export interface Servers {
  readonly addresses: readonly string[];
  readonly giveUpAfter: number;
  /** The contents of the files when the command began. */
  readonly tls?: true | TlsFiles;
  /** The paths of the same files. */
  readonly files?: TlsFiles;
  readonly tokenFile?: string;
  readonly allowTokenInPlaintext?: true;
}

/**
 * The options of the client's `connect`. The client reads the files itself, again for each connection, because a
 * command may run for longer than a token or a certificate is valid.
 */
export function connectOptionsOf(servers: Servers): ConnectOptions {
  const { addresses, giveUpAfter, tls, files = {}, tokenFile, allowTokenInPlaintext } = servers;
  const { serverName, ...paths } = files;
  const pems = Object.entries(paths).map(([part, file]) => [part, { file }]);
  return {
    addresses,
    giveUpAfter,
    // The commands themselves say what a person should know.
    log: () => {},
    ...given({ allowTokenInPlaintext }),
    ...(tls && { tls: tls === true || { ...Object.fromEntries(pems), ...given({ serverName }) } }),
    ...(tokenFile !== undefined && { token: { file: tokenFile } }),
  };
}

/** What a flag, the environment and a named server can say. */
interface Files extends TlsFiles {
  readonly tokenFile?: string;
}

interface Flags extends Files {
  readonly addr?: string;
  readonly server?: string;
  readonly giveUpAfter?: number;
  readonly tls?: true;
  readonly allowTokenInPlaintext?: true;
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
    .option("--server-name <name>", "the name in the server's certificate, if it differs from the address")
    .option("--token-file <file>", "who asks: a file that contains a token that the server knows")
    .option("--allow-token-in-plaintext", "send the token without TLS, as something else protects it");
}

/** Calls `fault` for each thing that is wrong. The result counts only if nothing is. */
export async function serversOf(flags: Flags, context: CliContext, fault: Fault): Promise<Servers> {
  const named = whichNamed(flags, context, fault);
  const [where, addresses] = addressesOf(flags, named, context);
  for (const address of addresses) {
    const wrong = wrongAddress(address);
    if (wrong) fault(`${where}: ${wrong}`);
  }
  const { tokenFile, ...files } = filesOf(flags, named, context);
  const isEncrypted = (flags.tls ?? named?.tls) || Object.keys(files).length > 0;
  // Loaded only here, because node:crypto takes longer to load than the rest of this file.
  const tls = isEncrypted ? (await import("./tls-files.ts")).tlsOf(files, context, fault) : undefined;
  const unnamed = addresses.find((address) => isIP(hostOf(address)) !== 0);
  if (tls && unnamed !== undefined && files.serverName === undefined)
    fault(
      `${where}: with TLS, the server's certificate must match its name, and ${unnamed} is an IP address: use the name in the certificate, or add --server-name`,
    );
  if (files.serverName !== undefined && isIP(files.serverName) !== 0)
    fault(`--server-name ${files.serverName}: this is an IP address: use a name that is in the certificate`);
  const allowTokenInPlaintext = (flags.allowTokenInPlaintext ?? named?.allowTokenInPlaintext) || undefined;
  if (tokenFile !== undefined) checkTokenFile(tokenFile, context, fault);
  if (tokenFile !== undefined && !tls && !allowTokenInPlaintext)
    refuseTokenInPlaintext(addresses.filter((address) => !wrongAddress(address)).map(hostOf), fault);
  const giveUpAfter = flags.giveUpAfter ?? GIVE_UP_AFTER_MS;
  return { addresses, giveUpAfter, files, ...given({ tls, tokenFile, allowTokenInPlaintext }) };
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
function filesOf(flags: Flags, named: NamedServer | undefined, { env }: CliContext): Files {
  const file = (part: keyof Files) => flags[part] ?? (named ? named[part] : env[WHERE[part]] || undefined);
  return given({
    ca: file("ca"),
    cert: file("cert"),
    key: file("key"),
    serverName: file("serverName"),
    tokenFile: file("tokenFile"),
  });
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

/** Relative paths in the file start from its folder; here, all are absolute. */
interface NamedServer extends Files {
  readonly addresses: readonly string[];
  /** Encrypt, and trust the authorities that Node trusts. */
  readonly tls?: boolean;
  readonly allowTokenInPlaintext?: true;
}

const isText = (value: unknown) => typeof value === "string" && value !== "";
const PATH = { wanted: "the path of a file", isRight: isText };

/** What each field of a server is. */
const FIELDS: Readonly<Record<string, { wanted: string; isRight: (value: unknown) => boolean }>> = {
  addresses: {
    wanted: "host:port, or a list of them",
    isRight: (value) => isText(value) || (Array.isArray(value) && value.length > 0 && value.every(isText)),
  },
  tls: { wanted: "true or false", isRight: (value) => typeof value === "boolean" },
  ca: PATH,
  cert: PATH,
  key: PATH,
  serverName: { wanted: "a name", isRight: isText },
  tokenFile: PATH,
  allowTokenInPlaintext: { wanted: "true or false", isRight: (value) => typeof value === "boolean" },
};

/** The names in the file; none if there is no file that can be read. */
export function serverNames(context: CliContext): string[] {
  return Object.keys(readServers(context, () => {}));
}

/** Returns the servers of this name; calls `fault` for each thing that is wrong with the file. */
function namedServer(name: string, context: CliContext, fault: Fault): NamedServer | undefined {
  let isWrong = false;
  const servers = readServers(context, (sentence) => {
    isWrong = true;
    fault(sentence);
  });
  if (isWrong) return undefined;
  if (Object.hasOwn(servers, name)) return servers[name];
  const known = Object.keys(servers);
  const there = known.length > 0 ? `it has ${known.join(", ")}` : "it is empty";
  fault(`${serversPath(context)} has no server "${name}", ${there}: name one of these, or add it`);
  return undefined;
}

/** The path of the file, by the rules of XDG. */
function serversPath({ env }: CliContext): string {
  const home = env.XDG_CONFIG_HOME || join(env.HOME || homedir(), ".config");
  return join(home, "rowlock", "servers.json");
}

function readServers(context: CliContext, fault: Fault): Record<string, NamedServer> {
  const path = serversPath(context);
  const wrong = (what: string) => fault(`${path}: ${what}`);
  let content: unknown;
  try {
    content = JSON.parse(context.readFile(path));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") wrong(`there is no such file: write it, like ${EXAMPLE}`);
    else if (error instanceof SyntaxError) wrong(`this is not JSON (${message}): correct it`);
    else wrong(`it cannot be read (${code ?? message}): check its permissions`);
    return {};
  }
  const servers: Record<string, NamedServer> = {};
  if (!isObject(content)) wrong(`it is not an object of names and servers: write it like ${EXAMPLE}`);
  for (const [name, fields] of Object.entries(isObject(content) ? content : {})) {
    if (!isObject(fields)) {
      wrong(`"${name}" is not an object: write it like ${EXAMPLE}`);
      continue;
    }
    for (const what of faultsOf(fields)) wrong(`"${name}": ${what}`);
    servers[name] = serverOf(fields, dirname(path));
  }
  return servers;
}

/** Says what is wrong with one server, and what to do. */
function* faultsOf(fields: Readonly<Record<string, unknown>>): Generator<string> {
  if (!("addresses" in fields)) yield "it has no addresses: add them, as host:port";
  for (const [field, value] of Object.entries(fields)) {
    const known = Object.hasOwn(FIELDS, field) ? FIELDS[field] : undefined;
    if (!known) yield `"${field}" is not a field: use ${Object.keys(FIELDS).join(", ")}`;
    else if (!known.isRight(value)) yield `${field} is ${JSON.stringify(value)}: write ${known.wanted}`;
  }
}

function serverOf(fields: Readonly<Record<string, unknown>>, folder: string): NamedServer {
  const entries = Object.entries(fields).map(([field, value]) => [
    field,
    FIELDS[field] === PATH ? resolve(folder, String(value)) : value,
  ]);
  return { ...Object.fromEntries(entries), addresses: [fields.addresses ?? []].flat() };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
