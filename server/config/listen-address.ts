// The addresses on which servers listen: writes and reads them.

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

/** Whether the host stands for all addresses of the machine. */
export function isAnyHost(host: string): boolean {
  return host === "0.0.0.0" || host === "::";
}

/** Whether only programs on the same machine can reach the host. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}
