// Whether an address is on this machine, so that nothing that is sent there leaves it. Must not open a connection.

import { lookup } from "node:dns/promises";
import { BlockList, isIP } from "node:net";

/** How long the names of the system may take. A name that is not found by then counts as another machine's. */
const LOOKUP_MS_MAX = 1_000;

const OWN = new BlockList();
OWN.addSubnet("127.0.0.0", 8);
OWN.addAddress("::1", "ipv6");
/** These stand for every address of a machine, and lead to this one. */
const ANY = new BlockList();
ANY.addAddress("0.0.0.0");
ANY.addAddress("::", "ipv6");

/** The host of an address, without the brackets of IPv6. */
export function hostOf(address: string): string {
  return address.replace(/:\d+$/, "").replace(/^\[|\]$/g, "");
}

export function isSocketFile(address: string): boolean {
  return /^unix(-abstract)?:/.test(address);
}

/** By the address alone: a file, an IP address of loopback, or the name that means loopback by its standard. */
export function isOnThisMachine(address: string): boolean {
  if (isSocketFile(address)) return true;
  const host = hostOf(address).toLowerCase();
  return host === "localhost" || isIn(OWN, host);
}

/** The same, or an address or a name by which connections, although none should, reach this machine. */
export function reachesThisMachine(address: string): boolean {
  const host = hostOf(address);
  return isOnThisMachine(address) || isIn(ANY, host) || /(^|\.)localhost\.?$/i.test(host);
}

/** The same, or a name that the system resolves to loopback, as by /etc/hosts. Takes a second at most. */
export async function leadsToThisMachine(address: string): Promise<boolean> {
  if (reachesThisMachine(address)) return true;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never[]>((resolve) => {
    timer = setTimeout(resolve, LOOKUP_MS_MAX, []);
  });
  const found = lookup(hostOf(address), { all: true }).catch(() => []);
  const addresses = await Promise.race([found, late]).finally(() => clearTimeout(timer));
  return addresses.length > 0 && addresses.every((each) => isIn(OWN, each.address));
}

function isIn(list: BlockList, host: string): boolean {
  const kind = isIP(host);
  return kind !== 0 && list.check(host, kind === 6 ? "ipv6" : "ipv4");
}
