// A server whose files change while it runs: certificate, key and authorities.

import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { get as getByTls } from "node:https";
import { join } from "node:path";
import { connect, type TLSSocket } from "node:tls";
import { expect, test } from "vitest";
import { freshSqlite } from "../support/database.ts";
import { queued, TestCalls } from "../support/test-calls.ts";
import { type Certificate, selfSignedCertificate } from "./certificate.ts";
import type { RowlockProcess } from "./server-process.ts";
import { serveArgs } from "./server-process.ts";
import { processStage } from "./stage.ts";

const FIRST_TOKEN = "first-token-of-a-test";
const { afterwards, database, rowlock, folder: emptyFolder } = processStage();

/** A server with a certificate and a token, whose files the test writes. */
async function serving({ first = selfSignedCertificate(), env = {} } = {}) {
  const folder = emptyFolder();
  const path = (name: string) => join(folder, name);
  const write = ({ cert, key }: Certificate) => {
    writeFileSync(path("server.crt"), cert);
    writeFileSync(path("server.key"), key);
  };
  const writeToken = (token: string) => writeFileSync(path("token"), `${token}\n`);
  write(first);
  writeToken(FIRST_TOKEN);
  const process = rowlock(serveArgs(await database(freshSqlite)), {
    ROWLOCK_TLS_CERT: path("server.crt"),
    ROWLOCK_TLS_KEY: path("server.key"),
    ROWLOCK_METRICS_TLS: "true",
    ROWLOCK_METRICS_TOKEN_FILE: path("token"),
    ...env,
  });
  await process.said(/LockService\/Acquire\n\n/);
  const [, grpc = ""] = await process.said(/gRPC +127\.0\.0\.1:(\d+) \(TLS\)/);
  const [, metrics = ""] = await process.said(/metrics +https:\/\/127\.0\.0\.1:(\d+)\/metrics/);
  return { process, path, write, writeToken, first, grpc: Number(grpc), metrics: Number(metrics) };
}

/** The certificate that a new connection is shown. */
async function shown(port: number): Promise<string | undefined> {
  const socket: TLSSocket = connect({
    port,
    host: "127.0.0.1",
    ALPNProtocols: ["h2", "http/1.1"],
    rejectUnauthorized: false,
  });
  await once(socket, "secureConnect");
  const certificate = socket.getPeerX509Certificate()?.toString();
  socket.destroy();
  return certificate;
}

async function scrape(port: number, token: string) {
  const headers = { authorization: `Bearer ${token}` };
  const asked = getByTls({
    port,
    host: "127.0.0.1",
    path: "/metrics",
    headers,
    agent: false,
    rejectUnauthorized: false,
  });
  const [answer] = await once(asked, "response");
  let text = "";
  for await (const part of answer.setEncoding("utf8")) text += part;
  return { status: answer.statusCode, text };
}

const gauge = (text: string, file: string) =>
  new RegExp(`^rowlock_reload_failed\\{file="${file}"\\} (\\d)$`, "m").exec(text)?.[1];

const IN_FORCE = "changed files are in force";
const count = ({ err }: RowlockProcess, text: string) => err.split(text).length - 1;

test("a new certificate is shown to new connections of both listeners, and old ones go on", async () => {
  const server = await serving();
  const client = new TestCalls(`localhost:${server.grpc}`, { tls: { ca: server.first.cert } });
  afterwards(() => client.close());
  const { leaseId } = await client.lease({ name: "held" });
  const stream = client.wait(queued({ name: "held" }));
  await stream.position();

  const second = selfSignedCertificate();
  server.write(second);
  await server.process.logged(new RegExp(`"files":"certificate","msg":"${IN_FORCE}"`));
  expect(await shown(server.grpc)).toBe(second.cert);
  expect(await shown(server.metrics)).toBe(second.cert);
  await client.call("release", { leaseId });
  expect(await stream.granted()).toBeDefined();
  const { text } = await scrape(server.metrics, FIRST_TOKEN);
  expect(gauge(text, "certificate")).toBe("0");
  const expires = /^rowlock_certificate_expires_timestamp_seconds\{file="certificate"\} (\S+)$/m.exec(
    text,
  )?.[1];
  expect(Number(expires)).toBeGreaterThan(Date.now() / 1e3);
});

test("SIGHUP reads the files at once, and reports faults again", async () => {
  const server = await serving();
  const hangUp = async (times: number) => {
    server.process.kill("SIGHUP");
    await server.process.logged(new RegExp(`(?:"signal":"SIGHUP"[^]*){${times}}`));
  };
  const second = selfSignedCertificate();
  server.write(second);
  await hangUp(1);
  expect(await shown(server.grpc)).toBe(second.cert);
  server.writeToken("short");
  await hangUp(2);
  await hangUp(3);
  expect(count(server.process, "is not a token")).toBeGreaterThanOrEqual(2);
  expect(server.process.err).not.toContain("short");
  server.process.kill("SIGTERM");
  expect(await server.process.exited).toMatchObject({ code: 0 });
});
