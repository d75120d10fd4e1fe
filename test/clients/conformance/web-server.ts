// A web server, as it stands at many a port that somebody takes for Rowlock's.

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export async function startWebServer(): Promise<{ readonly address: string; close(): void }> {
  const server = createServer((_, response) => response.end("It works."));
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
