// The door of a real server at an address of its own: over TLS, with callers whom the server knows, and until it stops.

import { execFileSync, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { expect, test } from "vitest";
import { newToken } from "../../server/access/tokens-file.ts";
import { freshSqlite } from "../support/database.ts";
import { selfSignedCertificate } from "./certificate.ts";
import { screenOf, serveArgs } from "./server-process.ts";
import { processStage } from "./stage.ts";

const stage = processStage();

function addressOf(screen: string): string {
  const [, address = ""] = /^ +HTTP +(\S+)/m.exec(screen) ?? [];
  return address;
}

test("the verbs are there, and neither the page nor the metrics", async () => {
  const url = await stage.database(freshSqlite);
  const { screen } = await screenOf(stage.rowlock(serveArgs(url, "--http-listen", "127.0.0.1:0")));
  const address = addressOf(screen);
  expect(address).toMatch(/^http:\/\/127\.0\.0\.1:\d+/);
  const answer = await fetch(`${address}/rowlock.v1.LockService/Acquire`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: '{"name": "a"}',
  });
  expect([answer.status, await answer.json()]).toMatchObject([200, { lease: { fencingToken: "1" } }]);
  // As the screen says it.
  const [line = ""] = /curl -sS .*/.exec(screen) ?? [];
  expect(line).toContain(address);
  if (spawnSync("curl", ["--version"]).status === 0)
    expect(JSON.parse(execFileSync("sh", ["-c", line], { encoding: "utf8" }))).toMatchObject({
      lease: { lockName: "demo" },
    });
  for (const path of ["/", "/metrics", "/readyz", "/api/about", "/grpc.health.v1.Health/Check"])
    expect((await fetch(`${address}${path}`)).status).toBe(404);
});

test("over TLS it takes a token from anywhere, and knows who calls; a wait ends when the server stops", async () => {
  const folder = stage.folder();
  const { cert, key } = selfSignedCertificate();
  const { token, line } = newToken("anna");
  const put = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const url = await stage.database(freshSqlite);
  const args = serveArgs(url, "--http-listen", "127.0.0.1:0", "--tokens-file", put("tokens", line));
  const started = stage.rowlock([...args, "--tls-cert", put("crt", cert), "--tls-key", put("key", key)]);
  const { screen } = await screenOf(started);
  const { port, protocol } = new URL(addressOf(screen));
  expect(protocol).toBe("https:");

  interface Told {
    readonly status: number | undefined;
    readonly text: string;
  }
  function post(verb: string, body: object, headers: Record<string, string> = {}) {
    const begun = Promise.withResolvers<void>();
    const told = Promise.withResolvers<Told>();
    const sent = request(
      {
        ...{ host: "127.0.0.1", port, servername: "localhost", ca: cert, method: "POST" },
        path: `/rowlock.v1.LockService/${verb}`,
        headers: { "content-type": "application/json", ...headers },
      },
      (response) => {
        let text = "";
        response.on("data", (bytes) => {
          text += bytes;
          begun.resolve();
        });
        response.on("end", () => told.resolve({ status: response.statusCode, text }));
      },
    );
    sent.on("error", told.reject);
    sent.end(JSON.stringify(body));
    return { begun: begun.promise, told: told.promise };
  }
  const signedIn = { authorization: `Bearer ${token}` };
  expect(await post("Acquire", { name: "a" }).told).toMatchObject({
    status: 401,
    text: expect.stringContaining("CREDENTIALS_MISSING"),
  });
  const taken = await post("Acquire", { name: "a" }, signedIn).told;
  expect([taken.status, JSON.parse(taken.text)]).toMatchObject([200, { lease: { lockName: "a" } }]);
  const shown = await post("GetLock", { name: "a" }, signedIn).told;
  expect(JSON.parse(shown.text)).toMatchObject({ lock: { holders: [{ principal: "token:anna" }] } });

  const waits = post("WaitInQueue", { request: { name: "a" } }, signedIn);
  await waits.begun;
  started.kill("SIGTERM");
  expect((await waits.told).text).toMatch(/"position".*\nevent: end\ndata: .*SHUTTING_DOWN/s);
  expect(await started.exited).toMatchObject({ code: 0 });
});
