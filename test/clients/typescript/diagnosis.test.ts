// What the client says of an address where no Rowlock server answers it; and that a call fails at once if no waiting
// helps.

import { once } from "node:events";
import { createServer as createHttp, type Server } from "node:http";
import { createSecureServer } from "node:http2";
import { createServer as createHttps } from "node:https";
import {
  type AddressInfo,
  connect,
  createServer as createTcp,
  type Server as NetServer,
  type Socket,
} from "node:net";
import { Worker } from "node:worker_threads";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type DiagnosisKind, diagnose } from "../../../clients/typescript/src/diagnosis.ts";
import { selfSignedCertificate } from "../../process/certificate.ts";
import { startServer } from "../../support/harness.ts";

const own = selfSignedCertificate();
const other = selfSignedCertificate("other");
const expired = selfSignedCertificate("localhost", Date.now() - 60_000);
const undone: (() => unknown)[] = [];
afterAll(async () => {
  for (const undo of undone.splice(0).reverse()) await undo();
});

async function listening(server: NetServer | Server): Promise<string> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
  });
  undone.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `localhost:${(server.address() as AddressInfo).port}`;
}

/** An address whose system drops what asks for a connection: its program accepts none, and its queue is full. */
async function dropping(): Promise<string> {
  const program = `
    const { parentPort } = require("node:worker_threads");
    const server = require("node:net").createServer().listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => {
      parentPort.postMessage(server.address().port);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    });`;
  const worker = new Worker(program, { eval: true });
  undone.push(() => worker.terminate());
  const [port] = await once(worker, "message");
  // The queue holds one more than it was asked for.
  for (const _ of [1, 2]) {
    const socket = connect(port, "127.0.0.1").on("error", () => {});
    undone.push(() => socket.destroy());
    await once(socket, "connect");
  }
  return `127.0.0.1:${port}`;
}

const saying = (bytes: string | Buffer) => createTcp((socket) => void socket.write(bytes));
const addresses: Record<string, string> = {
  "a closed port": "127.0.0.1:9",
  "an unknown host": "no-such-host.invalid:1",
  "no socket": "unix:/no/such/socket",
};
beforeAll(async () => {
  addresses["a web server"] = await listening(createHttp((_, response) => void response.end("hello")));
  addresses.SSH = await listening(saying("SSH-2.0-OpenSSH_9.2\r\n"));
  addresses.MySQL = await listening(saying(Buffer.from("4a0000000a382e302e33330008000000", "hex")));
  addresses.mail = await listening(saying("220 mail.example ESMTP\r\n"));
  addresses.silence = await listening(createTcp(() => {}));
  addresses["a dropped connection"] = await dropping();
  addresses.TLS = await listening(createSecureServer({ cert: own.cert, key: own.key }));
  addresses["HTTPS/1"] = await listening(createHttps({ cert: own.cert, key: own.key }));
  addresses["an expired certificate"] = await listening(
    createSecureServer({ cert: expired.cert, key: expired.key }),
  );
  const asking = { cert: own.cert, key: own.key, ca: own.cert, requestCert: true };
  addresses["one that asks for a certificate"] = await listening(createSecureServer(asking));
  const harness = await startServer();
  undone.push(() => harness.stop());
  addresses.Rowlock = harness.address;
});

const TLS = {
  "plain text": false,
  "its authority": { ca: own.cert },
  "another authority": { ca: other.cert },
  "another name": { ca: own.cert, serverName: "elsewhere" },
  "the expired one's": { ca: expired.cert },
} as const;
const TABLE: readonly [string, keyof typeof TLS, DiagnosisKind, string][] = [
  ["a closed port", "plain text", "nobody_listens", "nobody listens there"],
  ["no socket", "plain text", "nobody_listens", "nobody listens there"],
  ["an unknown host", "plain text", "no_such_host", "there is no such host"],
  [
    "a web server",
    "plain text",
    "other_protocol",
    "a web server (HTTP/1) answers there, not a Rowlock server",
  ],
  ["a web server", "its authority", "other_protocol", "a web server (HTTP/1) answers there"],
  ["SSH", "plain text", "other_protocol", "an SSH server answers there"],
  ["MySQL", "plain text", "other_protocol", "a MySQL or MariaDB server answers there"],
  ["mail", "plain text", "other_protocol", "something else answers there"],
  ["silence", "plain text", "silent", "something listens there, but does not answer like a Rowlock server"],
  ["silence", "its authority", "silent", "something listens there"],
  ["a dropped connection", "plain text", "unreachable", "it cannot be reached (no answer to the connection)"],
  ["a dropped connection", "its authority", "unreachable", "it cannot be reached"],
  ["TLS", "plain text", "wants_tls", "it wants TLS: set the option tls"],
  ["TLS", "another authority", "untrusted", "its certificate is not from a trusted authority: set tls.ca"],
  ["TLS", "another name", "wrong_name", "its certificate is for another name"],
  ["HTTPS/1", "its authority", "other_protocol", "something that speaks TLS, but not HTTP/2, answers there"],
  ["an expired certificate", "the expired one's", "expired", "its certificate has expired"],
  [
    "one that asks for a certificate",
    "its authority",
    "wants_client_certificate",
    "set tls.cert and tls.key",
  ],
  ["Rowlock", "its authority", "wants_plain_text", "it speaks plain text: leave the option tls out"],
];

test.each(TABLE)("%s, with %s, is found to be %s: %s", async (what, tls, kind, words) => {
  const address = addresses[what] as string;
  const found = await diagnose([address], TLS[tls]);
  expect(found).toEqual([{ address, kind, sentence: expect.stringContaining(words) }]);
});
