// A page of another web site, in a browser: the program of docs/http.md takes a lock and waits for it, if the server names its site.

import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { HAS_CHROMIUM, startChromium } from "../support/chromium.ts";
import { startServer, type TestServer } from "../support/harness.ts";
import { type DoorStage, startDoor } from "./door-stage.ts";

const DOCUMENT = readFileSync(new URL("../../docs/http.md", import.meta.url), "utf8");
const [, PROGRAM = ""] = /```js\n([\s\S]*?)\n```/.exec(DOCUMENT) ?? [];

describe.skipIf(!HAS_CHROMIUM)("a page of another site", () => {
  let server: TestServer;
  let named: DoorStage;
  let unnamed: DoorStage;
  let site: Server;
  let browser: Browser;
  let origin: string;
  beforeAll(async () => {
    site = createServer((request, response) => {
      const door = request.url === "/named" ? named : unnamed;
      const program = PROGRAM.replace(/http:\/\/127\.0\.0\.1:8080\/[\w.]+/, door.url);
      response.setHeader("content-type", "text/html");
      response.end(`<!doctype html><script>${program}; window.withLock = withLock;</script>`);
    }).listen(0, "127.0.0.1");
    await once(site, "listening");
    origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
    server = await startServer();
    named = await startDoor(server.grpc, [origin]);
    unnamed = await startDoor(server.grpc);
    browser = await startChromium();
  });
  afterAll(async () => {
    await browser?.close();
    for (const door of [named, unnamed]) await door.stop();
    await server.stop();
    site.close();
  });

  const run = (path: string) =>
    browser.newPage().then(async (page) => {
      await page.goto(`${origin}${path}`);
      return (await page.evaluate(`(async () => {
        const places = [];
        try {
          const done = await withLock("etl/load", async ({ fencingToken }) => "token " + fencingToken, (ahead) => places.push(ahead));
          return { done, places };
        } catch (error) {
          return { error: String(error) };
        }
      })()`)) as { readonly done?: string; readonly places?: readonly number[]; readonly error?: string };
    });

  test("that the server names waits for a lock with its place told, takes it and gives it back", async () => {
    const { leaseId } = await server.client.lease({ name: "etl/load" });
    const running = run("/named");
    await expect.poll(async () => (await server.client.shown("etl/load")).waiterCount).toBe(1);
    await server.client.call("release", { leaseId });
    expect(await running).toEqual({ done: "token 2", places: [0] });
    expect((await server.client.shown("etl/load")).holderCount).toBe(0);
  });

  test("that it does not name gets nothing, and takes nothing", async () => {
    expect((await run("/unnamed")).error).toMatch(/Failed to fetch/);
    expect((await server.client.shown("etl/load")).lastFencingToken).toBe(2n);
  });
});
