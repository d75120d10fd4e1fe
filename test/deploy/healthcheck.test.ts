// The image's health check, run as Docker runs it, against both listeners of a server.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, test } from "vitest";
import { MetricsTokens } from "../../server/access/bearer.ts";
import type { TlsMaterial } from "../../server/config/tls-files.ts";
import type { LockEngine } from "../../server/engine/engine.ts";
import { createGrpcServer } from "../../server/grpc/server.ts";
import { MetricsHttp } from "../../server/ops/http.ts";
import { selfSignedCertificate } from "../process/certificate.ts";
import { silentObserver } from "../support/harness.ts";
import { NO_BOUND } from "../support/no-bound.ts";

const HEALTHCHECK = fileURLToPath(new URL("../../deploy/healthcheck.mjs", import.meta.url));
const NOBODY_LISTENS = "127.0.0.1:1";

const stops: (() => unknown)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

async function check(args: readonly string[], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [HEALTHCHECK, "serve", ...args], {
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  const [code] = await once(child, "close");
  return [code, said.trim()];
}

async function grpcServer(host = "127.0.0.1", tls: TlsMaterial | null = null) {
  const server = createGrpcServer({
    engine: {} as LockEngine,
    observer: silentObserver,
    logger: { debug() {}, info() {}, warn() {}, error() {} },
    tls,
    graceMs: 10_000,
    capacity: NO_BOUND,
    streamsMax: 1,
    replica: "1",
    sessionWaitsMax: 1,
    sessionCommandsMax: 1,
    receiveBytesMax: 1_024,
    reflection: false,
  });
  const { port } = await server.start({ host, port: 0 });
  stops.push(() => server.drain(0));
  return { server, port };
}

async function metricsListener(
  host = "127.0.0.1",
  ready = true,
  tls: TlsMaterial | null = null,
): Promise<number> {
  const http = new MetricsHttp({
    metrics: { render: async () => ({ text: "", contentType: "text/plain" }) },
    readiness: { check: async () => (ready ? { ready } : { ready, reason: "no database" }) },
    tls,
    tokens: new MetricsTokens(["a token that probes need not know"]),
    more: [],
    onError() {},
  });
  stops.push(() => http.stop());
  return (await http.start({ host, port: 0 })).port;
}

const hasIpv6 = Object.values(networkInterfaces()).some((list) =>
  list?.some(({ address }) => address === "::1"),
);

describe("with a metrics listener", () => {
  test("asks it whether the server is ready", async () => {
    expect(await check(["--metrics-listen", `127.0.0.1:${await metricsListener()}`])).toEqual([0, "ready"]);
    const port = await metricsListener("127.0.0.1", false);
    expect(await check([`--metrics-listen=127.0.0.1:${port}`])).toEqual([1, "not ready: no database"]);
    expect(await check(["--metrics-listen", NOBODY_LISTENS])).toEqual([1, expect.any(String)]);
  });

  test("asks over TLS if it is set so, whatever the certificate says", async () => {
    const { cert, key } = selfSignedCertificate("elsewhere");
    const port = await metricsListener("127.0.0.1", true, { certificate: cert, key, clientCa: null });
    const listen = ["--metrics-listen", `127.0.0.1:${port}`];
    expect(await check([...listen, "--metrics-tls"])).toEqual([0, "ready"]);
    expect(await check(["--metrics-tls", ...listen])).toEqual([0, "ready"]);
    expect(await check(listen, { ROWLOCK_METRICS_TLS: "true" })).toEqual([0, "ready"]);
    expect(await check(listen, { ROWLOCK_METRICS_TLS: "false" })).toEqual([1, expect.any(String)]);
  });

  test("finds it by flag, then environment, then file", async () => {
    const folder = mkdtempSync(join(tmpdir(), "rowlock-healthcheck-"));
    stops.push(() => rmSync(folder, { recursive: true }));
    const file = join(folder, "rowlock.env");
    const found = `127.0.0.1:${await metricsListener()}`;
    writeFileSync(file, `ROWLOCK_METRICS_LISTEN=${found}\n`);
    expect(await check(["--config", file])).toEqual([0, "ready"]);
    expect(await check([], { ROWLOCK_CONFIG: file, ROWLOCK_METRICS_LISTEN: "" })).toEqual([0, "ready"]);
    writeFileSync(file, `ROWLOCK_METRICS_LISTEN=${NOBODY_LISTENS}\n`);
    expect(await check(["--config", file], { ROWLOCK_METRICS_LISTEN: found })).toEqual([0, "ready"]);
    expect(await check(["--metrics-listen", found], { ROWLOCK_METRICS_LISTEN: NOBODY_LISTENS })).toEqual([
      0,
      "ready",
    ]);
  });

  test.runIf(hasIpv6)("reaches it by IPv6", async () => {
    const port = await metricsListener("::1");
    expect(await check([], { ROWLOCK_METRICS_LISTEN: `[::1]:${port}` })).toEqual([0, "ready"]);
    expect(await check([], { ROWLOCK_METRICS_LISTEN: `[::]:${port}` })).toEqual([0, "ready"]);
  });
});

describe("with the metrics listener off", () => {
  const off = { ROWLOCK_METRICS_LISTEN: "off" };

  test("asks gRPC health", async () => {
    const { server, port } = await grpcServer();
    const env = { ...off, ROWLOCK_LISTEN: `0.0.0.0:${port}` };
    expect(await check([], env)).toEqual([0, "SERVING"]);
    server.setServing(false);
    expect(await check([], env)).toEqual([1, "not SERVING"]);
    expect(await check(["--metrics-listen", "off", "--listen", NOBODY_LISTENS])).toEqual([
      1,
      expect.any(String),
    ]);
  });

  test.runIf(hasIpv6)("reaches it by IPv6", async () => {
    const { port } = await grpcServer("::1");
    expect(await check([], { ...off, ROWLOCK_LISTEN: `[::1]:${port}` })).toEqual([0, "SERVING"]);
  });

  test("asks over TLS, and only connects if clients need a certificate", async () => {
    const { cert, key } = selfSignedCertificate();
    const files = { ROWLOCK_TLS_CERT: "own.crt", ROWLOCK_TLS_KEY: "own.key" };
    const tls = await grpcServer("127.0.0.1", { certificate: cert, key, clientCa: null });
    const env = { ...off, ...files, ROWLOCK_LISTEN: `127.0.0.1:${tls.port}` };
    expect(await check([], env)).toEqual([0, "SERVING"]);
    const mutual = { ...off, ...files, ROWLOCK_TLS_CLIENT_CA: "own.crt" };
    const { port } = await grpcServer("127.0.0.1", { certificate: cert, key, clientCa: cert });
    expect(await check([], { ...mutual, ROWLOCK_LISTEN: `127.0.0.1:${port}` })).toEqual([0, "listens"]);
    expect(await check([], { ...mutual, ROWLOCK_LISTEN: NOBODY_LISTENS })).toEqual([1, expect.any(String)]);
  });
});
