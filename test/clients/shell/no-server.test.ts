// What the shell prints if no Rowlock server answers: what is there instead, and what to do. Never a stack trace.

import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer as createHttp, type Server } from "node:http";
import { createServer as createHttp2, createSecureServer } from "node:http2";
import { createServer as createHttps } from "node:https";
import {
  type AddressInfo,
  connect,
  createServer as createTcp,
  type Server as NetServer,
  type Socket,
} from "node:net";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { Worker } from "node:worker_threads";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ranInProcess } from "../../cli/in-process.ts";
import { selfSignedCertificate } from "../../process/certificate.ts";
import { startServer } from "../../support/harness.ts";

const own = selfSignedCertificate();
const other = selfSignedCertificate("other");
const expired = selfSignedCertificate("localhost", Date.now() - 60_000);
const files: Readonly<Record<string, string>> = {
  "own.crt": own.cert,
  "own.key": own.key,
  "other.crt": other.cert,
  "other.key": other.key,
  "expired.crt": expired.cert,
  junk: "junk",
};
/** The client reads the files itself. */
const folder = mkdtempSync(join(tmpdir(), "rowlock-no-server-"));
for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
const undone: (() => unknown)[] = [() => rmSync(folder, { recursive: true })];
afterAll(async () => {
  for (const undo of undone.splice(0).reverse()) await undo();
});

async function listening(server: NetServer | Server): Promise<number> {
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
  return (server.address() as AddressInfo).port;
}

/** A port whose system drops what asks for a connection: its program accepts none, and its queue is full. */
async function dropping(): Promise<number> {
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
  return port;
}

const saying = (bytes: string | Buffer) => createTcp((socket) => void socket.write(bytes));
const answering404 = (_: unknown, response: { writeHead(code: number): { end(): void } }) =>
  void response.writeHead(404).end();

/** Ports of things that are not Rowlock servers, and of one that is. */
const ports: Record<string, number> = {};
beforeAll(async () => {
  ports["HTTP/1"] = await listening(createHttp((_, response) => void response.end("hello")));
  ports.SSH = await listening(saying("SSH-2.0-OpenSSH_9.2\r\n"));
  ports.MySQL = await listening(saying(Buffer.from("4a0000000a382e302e33330008000000", "hex")));
  ports.chatter = await listening(saying("220 mail.example ESMTP\r\n"));
  ports.silence = await listening(createTcp(() => {}));
  ports["a dropped connection"] = await dropping();
  ports["hanging up"] = await listening(createTcp((socket) => void socket.end()));
  ports["HTTP/2"] = await listening(createHttp2(answering404));
  ports.TLS = await listening(createSecureServer({ cert: own.cert, key: own.key }, answering404));
  ports["HTTPS/1"] = await listening(createHttps({ cert: own.cert, key: own.key }, (_, r) => void r.end()));
  ports.expired = await listening(createSecureServer({ cert: expired.cert, key: expired.key }, answering404));
  const asking = { cert: own.cert, key: own.key, ca: own.cert, requestCert: true };
  ports["asking for a certificate"] = await listening(createSecureServer(asking, answering404));
  const harness = await startServer();
  undone.push(() => harness.stop());
  ports.Rowlock = Number(/\d+$/.exec(harness.address)?.[0]);
});

function readFile(path: string): string {
  const text = files[basename(path)];
  if (text === undefined) throw Object.assign(new Error("ENOENT"), { code: "ENOENT" });
  return text;
}

const ran = (command: string, ...args: string[]) =>
  ranInProcess([command, "--give-up-after", "300ms", ...args], {}, readFile);

describe("in plain text", () => {
  test.each([
    ["HTTP/1", /a web server \(HTTP\/1\) answers there.*check the port/],
    ["SSH", /an SSH server answers there.*check the port/],
    ["MySQL", /a MySQL or MariaDB server answers there.*check the port/],
    ["chatter", /something else answers there.*check the port/],
    ["silence", /does not answer like a Rowlock server: check the port/],
    ["a dropped connection", /it cannot be reached \(no answer to the connection\)/],
    ["hanging up", /does not answer like a Rowlock server: check the port/],
    ["HTTP/2", /not like a Rowlock server, or not in time: check the port/],
    ["TLS", /it wants TLS: add --ca/],
    ["HTTPS/1", /it wants TLS: add --ca|web server/],
  ])("%s", async (kind, what) => {
    const { code, out, err } = await ran("ls", "--addr", `127.0.0.1:${ports[kind]}`);
    expect([code, out]).toEqual([69, ""]);
    expect(err).toMatch(
      /^rowlock: No Rowlock server answered(?: within 300 ms)?: 127\.0\.0\.1:\d+: [^\n]+\.\n$/,
    );
    expect(err).toMatch(what);
  });

  test.each([
    ["127.0.0.1:9", /nobody listens there: start a server with `rowlock serve`/],
    ["no-such-host.invalid:50051", /there is no such host \(\w+\): check its name/],
  ])("no server answers at %s", async (address, what) => {
    // A busy machine takes longer than 300 ms to look a name up.
    const { code, err } = await ran("run", "job", "--addr", address, "--give-up-after", "3s", "--", "true");
    expect([code, err]).toEqual([69, expect.stringMatching(what)]);
  });

  test("each of several addresses is named", async () => {
    const { err } = await ran("show", "x", "--addr", `127.0.0.1:9,127.0.0.1:${ports.SSH}`);
    expect(err).toMatch(
      /^rowlock: No Rowlock server .*:\n {2}- 127\.0\.0\.1:9: .*\n {2}- .*an SSH server.*\n$/,
    );
  });
});

describe("with TLS", () => {
  const NAMED = ["--ca", join(folder, "own.crt")];
  test.each([
    [
      "a server in plain text",
      "Rowlock",
      NAMED,
      /it speaks plain text: leave --tls, --ca and --server-name out/,
    ],
    ["SSH", "SSH", NAMED, /an SSH server answers there/],
    [
      "another authority",
      "TLS",
      ["--ca", join(folder, "other.crt")],
      /is not from a trusted authority: name its authority/,
    ],
    ["no authority", "TLS", ["--tls"], /is not from a trusted authority: name its authority/],
    ["another name", "TLS", [...NAMED, "--server-name", "elsewhere.example"], /is for another name/],
    [
      "an expired certificate",
      "expired",
      ["--tls"],
      /its certificate has expired: have it renewed on the server/,
    ],
    ["no HTTP/2", "HTTPS/1", NAMED, /speaks TLS, but not HTTP\/2/],
    ["no Rowlock behind it", "TLS", NAMED, /not like a Rowlock server/],
    ["no certificate of one's own", "asking for a certificate", NAMED, /name one with --cert and --key/],
  ])("%s", async (_, kind, flags, what) => {
    const { code, err } = await ran("ls", "--addr", `localhost:${ports[kind]}`, ...flags);
    expect([code, err]).toEqual([69, expect.stringMatching(what)]);
    expect(err).not.toContain("    at ");
  });
});

describe("an impossible command line fails before anything is sent", () => {
  const at = ["--addr", "localhost:50051"];
  test.each([
    [["--addr", "localhost"], /"localhost" has no port: write localhost:50051/],
    [["--addr", "http://localhost:50051"], /not an address: write host:port, without a scheme/],
    [["--addr", "localhost:99999"], /a number from 1 to 65535/],
    [["--addr", "::1:50051"], /an IPv6 address in brackets/],
    [["--addr", "a:1,,b:2"], /an address is empty/],
    [[...at, "--ca", "none"], /--ca none: there is no such file/],
    [[...at, "--ca", "junk"], /--ca junk: this is not a certificate/],
    [[...at, "--ca", "expired.crt"], /--ca expired\.crt: this certificate expired at/],
    [[...at, "--cert", "own.crt"], /add the file of its key/],
    [[...at, "--key", "own.key"], /add the file of its certificate/],
    [[...at, "--cert", "own.crt", "--key", "other.key"], /other\.key: this is not the key of own\.crt/],
    [
      ["--addr", "127.0.0.1:1", "--ca", "own.crt"],
      /and 127\.0\.0\.1:1 is an IP address: use the name in the certificate/,
    ],
    [[...at, "--tls", "--server-name", "127.0.0.1"], /--server-name 127.0.0.1: this is an IP address/],
    [["--give-up-after", "0"], /--give-up-after "0": write a time from 1 ms/],
  ])("%j", async (flags, what) => {
    const { code, err } = await ranInProcess(["ls", ...flags], {}, readFile);
    expect([code, err]).toEqual([64, expect.stringMatching(what)]);
  });

  test("with all its mistakes at once", async () => {
    const line = ["run", "n".repeat(300), "--ttl", "0", "--permits", "0", "--wait", "soon", "--label", "=x"];
    const where = ["--addr", "a,b:0", "--ca", "none", "--", "true"];
    const { code, err } = await ranInProcess([...line, ...where], {}, readFile);
    expect(code).toBe(64);
    expect(err.trim().split("\n")).toEqual([
      "error: 8 things are wrong with this command:",
      expect.stringMatching(/--ttl "0": write a time from 1 s to 24 d/),
      expect.stringMatching(/--permits "0": write a whole number from 1/),
      expect.stringMatching(/--wait "soon": write a time such as 30s/),
      expect.stringMatching(/--label "=x": write key=value/),
      expect.stringMatching(/the name "n{60}…": it is 300 bytes long: name the lock in 1 to 255 bytes/),
      expect.stringMatching(/"a" has no port/),
      expect.stringMatching(/"b:0" has no valid port/),
      expect.stringMatching(/--ca none: there is no such file/),
      "(the command follows the lock; --help lists the options)",
    ]);
  });

  test("and a mistake that only the server finds has the shell's name for it", async () => {
    const label = `${"k".repeat(100)}=v`;
    const { code, err } = await ranInProcess(
      ["acquire", "x", "--owner", "o".repeat(300), "--label", label, "--addr", `127.0.0.1:${ports.Rowlock}`],
      {},
    );
    expect(code).toBe(1);
    expect(err).toMatch(
      /rejected this request:\n {2}- --owner is 300 bytes long.*\n {2}- --label "k+.*100 bytes/,
    );
  });
});
