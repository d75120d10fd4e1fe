// Addresses in settings: on which servers listen, and whom that lets in; and lists of addresses and networks, to look others
// up in.

import { BlockList, isIP } from "node:net";
import { type Kind, partsOf, Refusal } from "./setting-kinds.ts";

/** Port 0 stands for any free port. An IPv6 host is stored without its brackets. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

export function formatListenAddress(address: ListenAddress): string {
  const host = address.host.includes(":") ? `[${address.host}]` : address.host;
  return `${host}:${address.port}`;
}

/** null: the text is no address. */
export function parseListenAddress(text: string): ListenAddress | null {
  const parts = /^(?:\[([0-9A-Fa-f:.%a-z]+)\]|([^\s:[\]/@]+)):(\d{1,5})$/.exec(text);
  if (!parts) return null;
  const port = Number(parts[3]);
  return port <= 65_535 ? { host: (parts[1] ?? parts[2]) as string, port } : null;
}

const EXAMPLES = "127.0.0.1:50051, 0.0.0.0:50051 or [::1]:50051";

export const listenAddress: Kind<ListenAddress> = {
  placeholder: "<host:port>",
  bound: "host:port or [IPv6]:port, port 0 to 65535",
  read: (text) =>
    parseListenAddress(text) ?? new Refusal(`write host:port, such as ${EXAMPLES} (port 0 takes a free one)`),
};

/** Whether the host stands for all addresses of the machine. */
export function isAnyHost(host: string): boolean {
  return host === "0.0.0.0" || host === "::";
}

/** Whether only programs on the same machine can reach the host. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}

export interface Network {
  readonly address: string;
  readonly prefix: number;
  readonly family: "ipv4" | "ipv6";
}

/** Addresses and networks, separated by commas: `10.0.0.7,10.1.0.0/16,2001:db8::/32`. */
export function networks(most: number): Kind<readonly Network[]> {
  return {
    placeholder: "<networks>",
    bound: `at most ${most}`,
    read(text) {
      const written = partsOf(text);
      if (written.length > most)
        return new Refusal(`it has ${written.length} networks: keep at most ${most}`);
      const read = written.map(readNetwork);
      const wrong = written.find((_, index) => read[index] === undefined);
      if (wrong === undefined) return read as Network[];
      return new Refusal(
        `write "${wrong.slice(0, 50)}" as an address or a network, such as 10.0.0.7 or 10.1.0.0/16`,
      );
    },
  };
}

/** Web sites, as browsers name them: https://app.example. */
export function origins(most: number): Kind<readonly string[]> {
  return {
    placeholder: "<origins>",
    bound: `at most ${most}`,
    read(text) {
      const written = partsOf(text);
      if (written.length > most) return new Refusal(`it has ${written.length} origins: keep at most ${most}`);
      const wrong = written.find((each) => !URL.canParse(each) || new URL(each).origin !== each);
      if (wrong === undefined) return written;
      return new Refusal(
        `write "${wrong.slice(0, 50)}" as an origin, such as https://app.example, without a path`,
      );
    },
  };
}

function readNetwork(text: string): Network | undefined {
  const [address = "", bits, ...more] = text.split("/");
  const version = isIP(address);
  if (version === 0 || more.length > 0) return undefined;
  const longest = version === 4 ? 32 : 128;
  const prefix = bits === undefined ? longest : /^\d{1,3}$/.test(bits) ? Number(bits) : Number.NaN;
  if (!(prefix <= longest)) return undefined;
  return { address, prefix, family: version === 4 ? "ipv4" : "ipv6" };
}

/** undefined: there is none. IPv4 addresses are found also as IPv6 writes them. */
export function blockListOf(all: readonly Network[]): BlockList | undefined {
  if (all.length === 0) return undefined;
  const list = new BlockList();
  for (const { address, prefix, family } of all) list.addSubnet(address, prefix, family);
  return list;
}
