// The HTTP listener for operators, over real connections.

import { once } from "node:events";
import { request } from "node:http";
import { get as getByTls } from "node:https";
import { connect } from "node:net";
import type { TLSSocket } from "node:tls";
import { describe, expect, onTestFinished, test } from "vitest";
import { MetricsTokens } from "../../server/access/bearer.ts";
import type { TlsMaterial } from "../../server/config/tls-files.ts";
import { MetricsHttp } from "../../server/ops/http.ts";
import { CONNECTIONS_MAX } from "../../server/ops/ops-bounds.ts";
import { Readiness } from "../../server/ops/readiness.ts";
import { selfSignedCertificate } from "../process/certificate.ts";

interface Guards {
  readonly tls?: TlsMaterial;
  readonly tokens?: readonly string[];
}

const UP = async (accept = "") => ({
  text: accept === "text/x" ? "x\n" : "up 1\n",
  contentType: "text/plain; version=0.0.4",
});

async function serve(
  readiness: Readiness,
  render = UP,
  { tls, tokens }: Guards = {},
  at = { host: "127.0.0.1", port: 0 },
) {
  const errors: unknown[] = [];
  const known = new MetricsTokens(tokens ?? null);
  const http = new MetricsHttp({
    metrics: { render },
    readiness,
    tls: tls ?? null,
    tokens: known,
    more: [],
    onError: (error) => errors.push(error),
  });
  onTestFinished(() => http.stop());
  const address = await http.start(at);
  const get = (path: string, method = "GET", headers: Record<string, string> = {}) =>
    fetch(`http://${address.host}:${address.port}${path}`, { method, headers }).then(async (response) => ({
      status: response.status,
      text: await response.text(),
      headers: response.headers,
    }));
  return { http, known, address, errors, get };
}

const healthy = () => new Readiness({ probe: async () => {} });

describe("pages", () => {
  test("metrics, health and readiness", async () => {
    const { get } = await serve(healthy());
    const metrics = await get("/metrics?x=1");
    expect([metrics.status, metrics.text]).toEqual([200, "up 1\n"]);
    expect(await get("/metrics", "GET", { accept: "text/x" })).toMatchObject({ text: "x\n" });
    expect(metrics.headers.get("content-type")).toBe("text/plain; version=0.0.4");
    expect(await get("/healthz")).toMatchObject({ status: 200, text: "ok\n" });
    expect(await get("/readyz")).toMatchObject({ status: 200, text: "ready\n" });
    expect(await get("/readyz", "HEAD")).toMatchObject({ status: 200, text: "" });
  });

  test("any other page lists the pages that exist", async () => {
    const { get } = await serve(healthy());
    expect(await get("/")).toMatchObject({
      status: 404,
      text: "Not found. There are /metrics, /healthz, /readyz.\n",
    });
    const posted = await get("/metrics", "POST");
    expect([posted.status, posted.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  });

  test("a page that fails does not show the reason", async () => {
    const { get, errors } = await serve(healthy(), () => Promise.reject(new Error("hush")));
    expect(await get("/metrics")).toMatchObject({ status: 500, text: expect.not.stringContaining("hush") });
    expect(errors).toHaveLength(1);
  });
});

describe("tokens", () => {
  const [OLD, NEW] = ["0123456789abcdef", "fedcba9876543210"];
  const bearing = (token: string, scheme = "Bearer") => ({ authorization: `${scheme} ${token}` });

  test("open /metrics, any of them and nothing else", async () => {
    const { get } = await serve(healthy(), undefined, { tokens: [OLD, NEW] });
    for (const headers of [bearing(OLD), bearing(NEW), bearing(NEW, "bearer")])
      expect(await get("/metrics", "GET", headers)).toMatchObject({ status: 200, text: "up 1\n" });
    const wrong = [bearing(`${OLD}0`), bearing(OLD.slice(1)), bearing(OLD, "Basic"), bearing("")];
    for (const headers of [{}, ...wrong]) {
      const refused = await get("/metrics", "GET", headers);
      expect(refused.status, JSON.stringify(headers)).toBe(401);
      expect(refused.headers.get("www-authenticate")).toBe('Bearer realm="rowlock"');
      expect(refused.text).not.toContain("up 1");
    }
    expect((await get("/metrics", "HEAD")).status).toBe(401);
  });

  test("leave the probes open", async () => {
    const { get } = await serve(healthy(), undefined, { tokens: [OLD] });
    expect(await get("/healthz")).toMatchObject({ status: 200 });
    expect(await get("/readyz")).toMatchObject({ status: 200 });
  });

  test("are replaced while it runs", async () => {
    const { known, get } = await serve(healthy(), undefined, { tokens: [OLD] });
    known.replace([NEW]);
    expect(await get("/metrics", "GET", bearing(OLD))).toMatchObject({ status: 401 });
    expect(await get("/metrics", "GET", bearing(NEW))).toMatchObject({ status: 200 });
  });
});

describe("TLS", () => {
  const material = ({ cert, key }: { cert: string; key: string }): TlsMaterial => ({
    certificate: cert,
    key,
    // The authority of gRPC's clients: not for these pages.
    clientCa: selfSignedCertificate("clients").cert,
  });

  /** Gets a page over a new connection; resolves with its text and the certificate, as PEM, that was shown. */
  async function getPage(port: number, ca: string) {
    const asked = getByTls({ host: "localhost", port, path: "/healthz", ca, agent: false });
    const [answer] = await once(asked, "response");
    const shown = (answer.socket as TLSSocket).getPeerX509Certificate()?.toString();
    const [text] = await once(answer.setEncoding("utf8"), "data");
    return { text, shown };
  }

  test("serves the pages with the certificate, and no plain text", async () => {
    const own = selfSignedCertificate();
    const { address } = await serve(healthy(), undefined, { tls: material(own) });
    expect(await getPage(address.port, own.cert)).toEqual({ text: "ok\n", shown: own.cert });
    await expect(fetch(`http://localhost:${address.port}/healthz`)).rejects.toThrow();
  });

  test("shows a new certificate to new connections", async () => {
    const [old, renewed] = [selfSignedCertificate(), selfSignedCertificate()];
    const { http, address } = await serve(healthy(), undefined, { tls: material(old) });
    http.setTls(material(renewed));
    expect(await getPage(address.port, renewed.cert)).toEqual({ text: "ok\n", shown: renewed.cert });
    await expect(getPage(address.port, old.cert)).rejects.toThrow();
  });

  test("a stop does not wait for handshakes", async () => {
    const { http, address } = await serve(healthy(), undefined, { tls: material(selfSignedCertificate()) });
    const silent = connect(address.port, address.host);
    const closed = once(silent, "close");
    await once(silent, "connect");
    // Connections are accepted in order.
    await expect(fetch(`http://localhost:${address.port}/healthz`)).rejects.toThrow();
    await http.stop();
    await closed;
    expect(silent.destroyed).toBe(true);
  });
});

describe("a crowd", () => {
  const FROM = (at: number) => `127.0.2.${1 + at}`;

  async function crowded({ address }: Awaited<ReturnType<typeof serve>>, text: string) {
    const sockets = Array.from({ length: CONNECTIONS_MAX + 20 }, (_, at) =>
      connect({ ...address, localAddress: FROM(at) }).on("error", () => {}),
    );
    await Promise.all(sockets.map((socket) => once(socket, "connect")));
    for (const socket of sockets) socket.write(text);
    return sockets;
  }

  test("of silent connections keeps no request out, and those that came first go", async () => {
    const server = await serve(healthy());
    const sockets = await crowded(server, "");
    expect((await server.get("/readyz")).text).toBe("ready\n");
    expect(server.http.bounds).toMatchObject([{ bound: "ops_connections", used: CONNECTIONS_MAX }]);
    await Promise.all(sockets.slice(0, 20).map((socket) => socket.closed || once(socket, "close")));
    for (const socket of sockets) socket.destroy();
  });

  test("of handshakes of TLS that stall keeps no request out", async () => {
    const own = selfSignedCertificate();
    const material = { certificate: own.cert, key: own.key, clientCa: null };
    const server = await serve(healthy(), undefined, { tls: material });
    // A record of TLS whose end never comes.
    const sockets = await crowded(server, "\x16\x03\x01\x02\x00");
    const asked = getByTls({
      host: "localhost",
      port: server.address.port,
      path: "/readyz",
      ca: own.cert,
      agent: false,
    });
    const [answer] = await once(asked, "response");
    expect(answer.statusCode).toBe(200);
    answer.resume();
    await Promise.all(sockets.slice(0, 20).map((socket) => socket.closed || once(socket.resume(), "close")));
    for (const socket of sockets) socket.destroy();
  });

  test("of requests on one connection is refused", async () => {
    const { address, errors, get } = await serve(healthy(), () => new Promise(() => {}));
    const socket = connect(address);
    socket.write("GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n".repeat(3));
    await once(socket.resume(), "close");
    expect((await get("/healthz")).status).toBe(200);
    expect(errors).toEqual([]);
  });
});

describe("start and stop", () => {
  test("can be repeated", async () => {
    const { http, address } = await serve(healthy());
    expect(await http.start({ host: "127.0.0.1", port: 0 })).toEqual(address);
    await http.stop();
    await http.stop();
    await expect(fetch(`http://127.0.0.1:${address.port}/healthz`)).rejects.toThrow();
  });

  test("ends connections that are open", async () => {
    const { http, address } = await serve(healthy(), () => new Promise(() => {}));
    const ended = Promise.withResolvers<Error>();
    const pending = request({ ...address, path: "/metrics" }).on("error", ended.resolve);
    pending.end();
    await fetch(`http://127.0.0.1:${address.port}/healthz`);
    await http.stop();
    expect(await ended.promise).toMatchObject({ code: "ECONNRESET" });
  });

  test("an address in use is an error", async () => {
    const { address } = await serve(healthy());
    await expect(serve(healthy(), UP, {}, address)).rejects.toThrow("EADDRINUSE");
  });
});

describe("readiness", () => {
  test("a database that cannot be written is 503, with the label of the fault alone", async () => {
    const fault = Object.assign(new Error("hush"), { reason: "read_only" });
    const { get } = await serve(new Readiness({ probe: () => Promise.reject(fault) }));
    expect(await get("/readyz")).toMatchObject({
      status: 503,
      text: "not ready: the database cannot be written: read_only\n",
    });
    expect(await get("/healthz")).toMatchObject({ status: 200 });
  });

  test("draining is 503 whatever the database answers", async () => {
    const readiness = healthy();
    const { get } = await serve(readiness);
    readiness.drain();
    expect(await get("/readyz")).toMatchObject({ status: 503, text: "not ready: draining\n" });
  });
});
