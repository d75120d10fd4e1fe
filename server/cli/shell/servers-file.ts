// The file of named servers: for each name its addresses, and the files that TLS needs. Checks the file by hand,
// because a library for that takes longer to load than the rest of a command.

import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import type { CliContext } from "../context.ts";

/** The path as help shows it. */
export const SERVERS_FILE = "~/.config/rowlock/servers.json";
const EXAMPLE = '{"production": {"addresses": ["locks-1:50051", "locks-2:50051"], "ca": "ca.pem"}}';

export interface NamedServer {
  readonly addresses: readonly string[];
  /** Encrypt, and trust the authorities that Node trusts. */
  readonly tls?: boolean;
  /** Paths of files. In the file of servers, relative paths start from its folder. */
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly serverName?: string;
}

const FILES = ["ca", "cert", "key"];
const FIELDS: Readonly<Record<string, string>> = {
  addresses: "host:port, or a list of them",
  tls: "true or false",
  ca: "the path of a file",
  cert: "the path of a file",
  key: "the path of a file",
  serverName: "a name",
};

/** The path of the file, by the rules of XDG. */
export function serversPath({ env }: CliContext): string {
  const home = env.XDG_CONFIG_HOME || join(env.HOME || homedir(), ".config");
  return join(home, "rowlock", "servers.json");
}

/** The names in the file; none if there is no file that can be read. */
export function serverNames(context: CliContext): string[] {
  const { servers } = readServers(context);
  return Object.keys(servers);
}

/** Returns the servers of this name, or all that is wrong with the file. */
export function namedServer(
  name: string,
  context: CliContext,
): { readonly found?: NamedServer; readonly faults: readonly string[] } {
  const path = serversPath(context);
  const { servers, faults } = readServers(context);
  if (faults.length > 0) return { faults };
  const found = Object.hasOwn(servers, name) ? servers[name] : undefined;
  if (found) return { found, faults };
  const known = Object.keys(servers);
  const there = known.length > 0 ? `it has ${known.join(", ")}` : "it is empty";
  return { faults: [`${path} has no server "${name}", ${there}: name one of these, or add it`] };
}

function readServers(context: CliContext): { servers: Record<string, NamedServer>; faults: string[] } {
  const path = serversPath(context);
  const faults: string[] = [];
  const servers: Record<string, NamedServer> = {};
  const wrong = (what: string) => void faults.push(`${path}: ${what}`);
  let content: unknown;
  try {
    content = JSON.parse(context.readFile(path));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") wrong(`there is no such file: write it, like ${EXAMPLE}`);
    else if (error instanceof SyntaxError) wrong(`this is not JSON (${message}): correct it`);
    else wrong(`it cannot be read (${code ?? message}): check its permissions`);
    return { servers, faults };
  }
  if (!isObject(content)) {
    wrong(`it is not an object of names and servers: write it like ${EXAMPLE}`);
    return { servers, faults };
  }
  for (const [name, fields] of Object.entries(content)) {
    if (!isObject(fields)) {
      wrong(`"${name}" is not an object: write it like ${EXAMPLE}`);
      continue;
    }
    for (const fault of faultsOf(fields)) wrong(`"${name}": ${fault}`);
    servers[name] = serverOf(fields, dirname(path));
  }
  return { servers, faults };
}

/** Says what is wrong with one server, and what to do. */
function* faultsOf(fields: Readonly<Record<string, unknown>>): Generator<string> {
  if (!("addresses" in fields)) yield "it has no addresses: add them, as host:port";
  for (const [field, value] of Object.entries(fields)) {
    const wanted = Object.hasOwn(FIELDS, field) ? FIELDS[field] : undefined;
    if (wanted === undefined) {
      yield `"${field}" means nothing here: use ${Object.keys(FIELDS).join(", ")}`;
    } else if (!isRight(field, value)) {
      yield `${field} is ${JSON.stringify(value)}: write ${wanted}`;
    }
  }
}

function isRight(field: string, value: unknown): boolean {
  const isText = (each: unknown) => typeof each === "string" && each !== "";
  if (field === "tls") return typeof value === "boolean";
  if (field !== "addresses") return isText(value);
  return isText(value) || (Array.isArray(value) && value.length > 0 && value.every(isText));
}

function serverOf(fields: Readonly<Record<string, unknown>>, folder: string): NamedServer {
  const entries = Object.entries(fields).map(([field, value]) => [
    field,
    FILES.includes(field) ? resolve(folder, String(value)) : value,
  ]);
  return { ...Object.fromEntries(entries), addresses: [fields.addresses ?? []].flat() };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
