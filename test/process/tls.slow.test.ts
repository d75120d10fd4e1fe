// A server with a certificate: clients that trust it connect, others do not.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import type { BareOptions } from "../../clients/typescript/src/bare/index.ts";
import { newToken } from "../../server/access/tokens-file.ts";
import { queued, TestCalls } from "../support/test-calls.ts";
import { selfSignedCertificate } from "./certificate.ts";
import { type RunningServer, screenOf, serveArgs } from "./server-process.ts";
import { answered, processStage } from "./stage.ts";

const server = selfSignedCertificate();
const trusted = selfSignedCertificate("client");
const stranger = selfSignedCertificate("stranger");
const stage = processStage("after all");
const folder = stage.folder();
const path = (name: string) => join(folder, name);
const ENV = {
  ROWLOCK_TLS_CERT: path("server.crt"),
  ROWLOCK_TLS_KEY: path("server.key"),
  ROWLOCK_TLS_CLIENT_CA: path("clients.crt"),
};
let running: RunningServer;

beforeAll(async () => {
  const files = { "server.crt": server.cert, "server.key": server.key, "clients.crt": trusted.cert };
  for (const [name, text] of Object.entries(files)) writeFileSync(path(name), text);
  running = await screenOf(stage.rowlock(serveArgs(`sqlite:${folder}/test.db`), ENV));
});

async function acquire(tls: BareOptions["tls"]): Promise<string | undefined> {
  // By name, because the TLS server name cannot be an address.
  const client = new TestCalls(running.grpcAddress.replace("127.0.0.1", "localhost"), { tls });
  try {
    return (await client.call("acquire", { name: "demo" })).outcome.case;
  } finally {
    client.close();
  }
}

test("the banner shows that it is TLS, and how to call it", () => {
  expect(running.screen).toContain("TLS, clients by certificate");
  expect(running.screen).toContain("--cacert");
});

test("the command of the banner takes a lock, with the token of a caller", async () => {
  const { token, line } = newToken("a");
  const files = { tokens: line, token, "own.crt": trusted.cert, "own.key": trusted.key };
  for (const [name, text] of Object.entries(files)) writeFileSync(path(name), text);
  const asking = serveArgs("sqlite::memory:", "--tokens-file", path("tokens"));
  const { screen } = await screenOf(stage.rowlock(asking, ENV));
  expect(screen).toMatch(/buf curl .* --servername localhost .* -H 'authorization: Bearer <your token>' /);
  const [, printed = ""] = /npx rowlock (run demo .*) -- echo "my turn"/.exec(screen) ?? [];
  const own = { ca: "server.crt", cert: "own.crt", key: "own.key", "token-file": "token" };
  const given = printed.replace(
    /--([\w-]+) <[^>]+>/g,
    (_, flag: keyof typeof own) => `--${flag} ${path(own[flag])}`,
  );
  const taking = stage.rowlock([...given.split(" "), "--", "echo", "my turn"]);
  expect(await taking.exited).toMatchObject({ code: 0, out: "my turn\n" });
});

test("a client with a known certificate gets a lock", async () => {
  expect(await acquire({ ca: server.cert, ...trusted })).toBe("lease");
});

test("a client that cancels many calls keeps its connection with TLS, too", async () => {
  const tls = { ca: server.cert, ...trusted };
  const client = new TestCalls(running.grpcAddress.replace("127.0.0.1", "localhost"), { tls });
  await client.call("acquire", { name: "busy" });
  const request = queued({ name: "busy" });
  const witness = client.wait(request);
  await witness.position();
  // More than Node allows by default.
  for (let round = 0; round < 3; round++) {
    const streams = Array.from({ length: 500 }, () => client.wait(request));
    const failed = streams.map((stream) => stream.failure());
    // Not in the turn that starts the call: grpc-js does not report such a cancellation to the server.
    await new Promise(setImmediate);
    for (const stream of streams) stream.cancel();
    await Promise.all(failed);
  }
  // The server refuses it while it still works on too many of the cancelled calls.
  const target = { case: "name", value: "busy" } as const;
  const release = () => client.call("forceRelease", { target, reason: "it is over" });
  await answered(release, { reason: "OVERLOADED" });
  expect(await witness.granted()).toBeDefined();
  client.close();
});

test("a client without a certificate, with another one, or without TLS gets none", async () => {
  const unavailable = { code: "UNAVAILABLE" };
  await expect(acquire({ ca: server.cert })).rejects.toMatchObject(unavailable);
  await expect(acquire({ ca: server.cert, ...stranger })).rejects.toMatchObject(unavailable);
  await expect(acquire(false)).rejects.toMatchObject(unavailable);
});
