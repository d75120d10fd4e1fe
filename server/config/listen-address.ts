// The addresses on which servers listen: how they are written, and whom they let in.

import { type Kind, Refusal } from "./setting-kinds.ts";

/** Port 0 stands for any free port. An IPv6 host is stored without its brackets. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** Writes the address as settings and URLs do. */
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
