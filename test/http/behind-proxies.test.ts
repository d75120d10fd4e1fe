// A listener for HTTP behind a proxy that says for whom it opens each connection.

import { once } from "node:events";
import { BlockList, connect } from "node:net";
import { connect as connectTls } from "node:tls";
import { afterEach, expect, test } from "vitest";
import type { TlsMaterial } from "../../server/config/tls-files.ts";
import { CONNECTIONS } from "../../server/http/http-bounds.ts";
import { peerOf } from "../../server/http/http-call.ts";
import { HttpListener } from "../../server/http/listener.ts";
import { selfSignedCertificate } from "../process/certificate.ts";

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

const REQUEST = "GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";

/** A listener that answers with the address of the client. */
async function started(tls: TlsMaterial | null, proxy = "127.0.0.1"): Promise<number> {
  const proxies = new BlockList();
  proxies.addAddress(proxy);
  const listener = new HttpListener({
    ...{ bound: "http_connections", connections: CONNECTIONS, tls, proxies },
    async answer(request, response) {
      response.end(`from ${peerOf(request)}\n`);
    },
    onError(error) {
      throw error;
    },
  });
  ends.push(() => listener.stop());
  return (await listener.start({ host: "127.0.0.1", port: 0 })).port;
}

async function told(port: number, ...parts: readonly string[]): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  for (const part of parts) socket.write(part);
  let text = "";
  socket.on("data", (bytes) => (text += bytes));
  await once(socket, "close");
  return text;
}

test.each([
  ["with its header and the request at once", [`PROXY TCP4 192.0.2.7 10.0.0.1 4711 80\r\n${REQUEST}`]],
  ["with its header in two parts", ["PROXY TCP4 192.0.2.7 10.", `0.0.1 4711 80\r\n${REQUEST}`]],
])("%s, its client is who calls", async (_what, parts) => {
  expect(await told(await started(null), ...parts)).toMatch(/^HTTP\/1.1 200 .*from 192\.0\.2\.7:4711\n$/s);
});

test("over TLS, too", async () => {
  const { cert, key } = selfSignedCertificate();
  const port = await started({ certificate: cert, key, clientCa: null });
  const plain = connect(port, "127.0.0.1");
  plain.write("PROXY TCP4 192.0.2.7 10.0.0.1 4711 443\r\n");
  const socket = connectTls({ socket: plain, ca: cert, servername: "localhost" });
  let text = "";
  socket.on("data", (bytes) => (text += bytes));
  socket.write(REQUEST);
  await once(socket, "close");
  expect(text).toMatch(/from 192\.0\.2\.7:4711\n$/);
});

test("a connection of a proxy without such a header is closed, and one of somebody else needs none", async () => {
  expect(await told(await started(null), REQUEST)).toBe("");
  expect(await told(await started(null, "192.0.2.1"), REQUEST)).toMatch(/from 127\.0\.0\.1:\d+\n$/);
  // What somebody else says of an address is no request.
  const said = `PROXY TCP4 192.0.2.7 10.0.0.1 4711 80\r\n${REQUEST}`;
  expect(await told(await started(null, "192.0.2.1"), said)).toMatch(/^HTTP\/1.1 400 /);
});
