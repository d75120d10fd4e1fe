// Which proxy of the environment a connection uses, if any. What stays on this machine, and what is not encrypted, never
// goes through a proxy, as the proxy could read it. gRPC itself connects through the proxy.

import { BlockList, isIP } from "node:net";
import type { ChannelOptions } from "@grpc/grpc-js";
import { hostOf, leadsToThisMachine, reachesThisMachine } from "./machine.ts";

/** The variables that gRPC heeds for TLS, the first one that is set. */
const PROXIES = ["grpc_proxy", "https_proxy", "http_proxy"];
const EXCEPTIONS = ["no_grpc_proxy", "no_proxy", "NO_PROXY"];
const HTTP_PORT = 80;
export const DIRECTLY: ChannelOptions = { "grpc.enable_http_proxy": 0 };

type Env = Readonly<Record<string, string | undefined>>;

/** An HTTP proxy, and the variable of the environment that names it. */
export interface HttpProxy {
  readonly variable: string;
  readonly host: string;
  readonly port: number;
  /** User and password, if its URL has them: no error shows them. */
  readonly login: string | undefined;
}

/** By the address alone, without looking names up. */
export function proxyNamedFor(address: string, isEncrypted: boolean, env: Env): HttpProxy | undefined {
  if (!isEncrypted || reachesThisMachine(address) || isExcepted(address, env)) return undefined;
  const variable = PROXIES.find((name) => env[name]);
  return variable === undefined ? undefined : parsed(variable, env[variable] as string);
}

/** The same, but not if the system resolves the name to this machine. Takes a second at most. */
export async function proxyFor(
  address: string,
  isEncrypted: boolean,
  env: Env = process.env,
): Promise<HttpProxy | undefined> {
  const proxy = proxyNamedFor(address, isEncrypted, env);
  return proxy && !(await leadsToThisMachine(address)) ? proxy : undefined;
}

/** The channel options by which gRPC uses the proxy, or none. */
export function wayOf(proxy: HttpProxy | undefined): ChannelOptions {
  return proxy ? {} : DIRECTLY;
}

function parsed(variable: string, text: string): HttpProxy | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  // gRPC speaks to proxies in plain text only.
  if (url?.protocol !== "http:") return undefined;
  const login = [url.username, url.password].filter((part) => part !== "").map(plain);
  return {
    variable,
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: Number(url.port || HTTP_PORT),
    login: login.length === 0 ? undefined : login.join(":"),
  };
}

function plain(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Whether an exception of any of the variables is for this address. */
function isExcepted(address: string, env: Env): boolean {
  const host = hostOf(address).toLowerCase().replace(/\.$/, "");
  const [port] = /\d+$/.exec(address) ?? [];
  return EXCEPTIONS.flatMap((name) => (env[name] ?? "").split(/[\s,]+/))
    .filter((entry) => entry !== "")
    .some((entry) => covers(entry.toLowerCase(), host, port));
}

/** `entry`: `*`, a name (with all names below it), an IP address or a range of them, any of them with a port. */
function covers(entry: string, host: string, port: string | undefined): boolean {
  if (entry === "*") return true;
  if (entry.includes("/")) return isInRange(entry, host);
  const [, bracketed, plain = "", itsPort] = /^(?:\[(.*)\]|([^:]*))(?::(\d+))?$/.exec(entry) ?? [];
  if (itsPort !== undefined && itsPort !== port) return false;
  // An IPv6 address may come without brackets.
  const its = bracketed ?? (isIP(entry) === 6 ? entry : plain);
  if (isIP(its) !== 0) return isInRange(`${its}/${isIP(its) === 6 ? 128 : 32}`, host);
  const name = its.replace(/^\*?\./, "").replace(/\.$/, "");
  return name !== "" && (host === name || host.endsWith(`.${name}`));
}

function isInRange(range: string, host: string): boolean {
  const [, network = "", bits = ""] = /^\[?([^[\]/]+)\]?\/(\d{1,3})$/.exec(range) ?? [];
  const kind = isIP(network);
  if (kind === 0 || isIP(host) === 0 || Number(bits) > (kind === 6 ? 128 : 32)) return false;
  const list = new BlockList();
  list.addSubnet(network, Number(bits), kind === 6 ? "ipv6" : "ipv4");
  return list.check(host, isIP(host) === 6 ? "ipv6" : "ipv4");
}
