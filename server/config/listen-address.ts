// Where a server listens: how such an address is written and read.

/** Port 0 takes a free one. An IPv6 host is kept without its brackets. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** As it is written in settings and URLs. */
export function formatListenAddress(address: ListenAddress): string {
  const host = address.host.includes(":") ? `[${address.host}]` : address.host;
  return `${host}:${address.port}`;
}

/** null for what is no address. */
export function parseListenAddress(text: string): ListenAddress | null {
  const parts = /^(?:\[([0-9A-Fa-f:.%a-z]+)\]|([^\s:[\]/@]+)):(\d{1,5})$/.exec(text);
  if (!parts) return null;
  const port = Number(parts[3]);
  return port <= 65_535 ? { host: (parts[1] ?? parts[2]) as string, port } : null;
}

/** Whether it stands for all addresses of the machine. */
export function isAnyHost(host: string): boolean {
  return host === "0.0.0.0" || host === "::";
}

/** Whether only programs of the same machine can reach it. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}
