// The file of named servers: for each name its addresses, and the files that TLS needs. Checks the file by hand,
// because a library for that takes longer to load than the rest of a command.

import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import type { CliContext } from "./context.ts";
import type { TlsFiles } from "./tls-files.ts";

/** The path as help shows it. */
export const SERVERS_FILE = "~/.config/rowlock/servers.json";
const EXAMPLE = '{"production": {"addresses": ["locks-1:50051", "locks-2:50051"], "ca": "ca.pem"}}';

/** Relative paths in the file start from its folder; here, all are absolute. */
export interface NamedServer extends TlsFiles {
  readonly addresses: readonly string[];
  /** Encrypt, and trust the authorities that Node trusts. */
  readonly tls?: boolean;
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
};

/** The names in the file; none if there is no file that can be read. */
export function serverNames(context: CliContext): string[] {
  return Object.keys(readServers(context, () => {}));
}

/** Returns the servers of this name; calls `fault` for each thing that is wrong with the file. */
export function namedServer(
  name: string,
  context: CliContext,
  fault: (sentence: string) => void,
): NamedServer | undefined {
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

function readServers(context: CliContext, fault: (sentence: string) => void): Record<string, NamedServer> {
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
