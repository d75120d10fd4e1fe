// Lists of addresses and networks in settings: how they are written, and a list to look addresses up in.

import { BlockList, isIP } from "node:net";
import { type Kind, Refusal } from "./setting-kinds.ts";

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
      const parts = text.split(",").map((part) => part.trim());
      const written = parts.filter((part) => part !== "");
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
