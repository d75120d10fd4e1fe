// Visits of the page in a headless Chromium: each in a context of its own, which notes what goes wrong in it. A visit in
// which the page failed, broke its content security policy or asked another server fails its test.

import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import type { RunningServer } from "../../process/server-process.ts";
import { startChromium } from "../../support/chromium.ts";

/** A busy machine takes long; what hangs ends all the same. */
const PATIENCE_MS = 60_000;
export const PHONE = { width: 360, height: 740 };

export interface Visit {
  readonly page: Page;
  /** Bytes that came over the wire, with their headers. */
  bytes(): Promise<number>;
  /** The processor time that pages have used so far, which other work on the machine does not change. */
  processorMs(): Promise<number>;
}

export interface VisitOptions extends BrowserContextOptions {
  /** The server goes away during the visit, so that requests fail. */
  readonly isAbsenceExpected?: boolean;
  /** Calls that the server refuses are part of the test. */
  readonly isRefusalExpected?: boolean;
}

export interface Visits {
  visit(server: Pick<RunningServer, "metricsUrl">, hash?: string, options?: VisitOptions): Promise<Visit>;
}

/** Call this once per test file. */
export function visits(): Visits {
  let browser: Browser;
  const ends: (() => Promise<void>)[] = [];
  beforeAll(async () => {
    browser = await startChromium();
  });
  afterAll(() => browser?.close());
  afterEach(async () => {
    for (const end of ends.splice(0)) await end();
  });
  return {
    async visit({ metricsUrl }, hash = "", { isAbsenceExpected, isRefusalExpected, ...options } = {}) {
      const context = await browser.newContext(options);
      context.setDefaultTimeout(PATIENCE_MS);
      const page = await context.newPage();
      const wrong: string[] = [];
      const sizes: Promise<number>[] = [];
      page.on("pageerror", (error) => wrong.push(String(error)));
      page.on("dialog", (dialog) => wrong.push(`a dialog: ${dialog.message()}`));
      page.on("console", (message) => {
        const text = message.text();
        const isExpected =
          (isAbsenceExpected && /ERR_/.test(text)) || (isRefusalExpected && /status of 4\d\d/.test(text));
        if (message.type() === "error" && !isExpected) wrong.push(text);
      });
      page.on("request", (request) => {
        if (!request.url().startsWith(metricsUrl) && !request.url().startsWith("data:"))
          wrong.push(`asked ${request.url()}`);
      });
      page.on("requestfinished", (request) => {
        const size = request.sizes().then(
          (all) => all.responseBodySize + all.responseHeadersSize,
          () => 0,
        );
        sizes.push(size);
      });
      ends.push(async () => {
        await context.close();
        expect(wrong, "what went wrong in the page").toEqual([]);
      });
      await page.goto(`${metricsUrl}/${hash}`);
      return {
        page,
        processorMs: async () => {
          const session = await browser.newBrowserCDPSession();
          const { processInfo } = await session.send("SystemInfo.getProcessInfo");
          await session.detach();
          const pages = processInfo.filter(({ type }) => type === "renderer");
          return pages.reduce((sum, { cpuTime }) => sum + cpuTime * 1_000, 0);
        },
        bytes: async () => (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0),
      };
    },
  };
}

/** A port that was free a moment ago, for a server that goes and comes back at the same address. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
