// The middleware for Express and for fetch-style handlers, on a real server.

import { once } from "node:events";
import { createServer, get } from "node:http";
import type { AddressInfo } from "node:net";
import express from "express";
import { describe, expect, test, vi } from "vitest";
import { locked as lockedExpress } from "../../../clients/typescript/src/express.ts";
import { locked as lockedFetch } from "../../../clients/typescript/src/fetch.ts";
import type { Lock, LockOptions, Refusal } from "../../../clients/typescript/src/index.ts";
import { until } from "../../support/harness.ts";
import { afterwards, client, start, waiting } from "./stage.ts";

type Options = Omit<LockOptions, "signal"> & { readonly refused?: (refusal: Refusal) => string };

interface Service {
  /** Sends a request to the handler. */
  readonly ask: (
    path: string,
    signal?: AbortSignal,
  ) => Promise<{ status: number; text: string; headers: Headers }>;
  /** The errors that the framework got. */
  readonly errors: unknown[];
}

/** Serves a handler under the lock that the path names, in a framework. */
type Serve = (options: Options, handle: (lock: Lock) => Promise<string>) => Promise<Service>;

const frameworks: Readonly<Record<string, (address: string) => Serve>> = {
  Express: (address) => async (options, handle) => {
    const { refused, ...asked } = options;
    const errors: unknown[] = [];
    const app = express();
    const rowlock = client(address);
    app.post(
      "/:name",
      lockedExpress(
        rowlock,
        (request: express.Request) => request.params.name as string,
        {
          ...asked,
          ...(refused && { refused: (why, _, response: express.Response) => response.send(refused(why)) }),
        },
        async (_, response: express.Response, lock) => response.send(await handle(lock)),
      ),
    );
    const failed: express.ErrorRequestHandler = (error, _, response, next) => {
      errors.push(error);
      if (response.headersSent) next(error);
      else response.status(500).send(String(error.reason));
    };
    app.use(failed);
    const server = app.listen(0, "127.0.0.1");
    await once(server, "listening");
    afterwards(() => {
      server.closeAllConnections();
      server.close();
    });
    const { port } = server.address() as AddressInfo;
    const ask: Service["ask"] = async (path, signal) => {
      const answer = await fetch(`http://127.0.0.1:${port}/${path}`, {
        method: "POST",
        signal: signal ?? null,
      });
      return { status: answer.status, text: await answer.text(), headers: answer.headers };
    };
    return { ask, errors };
  },
  "a fetch-style handler": (address) => async (options, handle) => {
    const { refused, ...asked } = options;
    const errors: unknown[] = [];
    const handler = lockedFetch(
      client(address),
      ({ url }) => new URL(url).pathname.slice(1),
      { ...asked, ...(refused && { refused: (why) => new Response(refused(why)) }) },
      async (_, lock, answers: string) => new Response(`${answers}${await handle(lock)}`),
    );
    const ask: Service["ask"] = async (path, signal) => {
      const request = new Request(`http://here/${path}`, { method: "POST", signal: signal ?? null });
      try {
        const answer = await handler(request, "");
        return { status: answer.status, text: await answer.text(), headers: answer.headers };
      } catch (error) {
        if (signal?.aborted) throw error;
        errors.push(error);
        return { status: 500, text: String((error as { reason?: string }).reason), headers: new Headers() };
      }
    };
    return { ask, errors };
  },
};

describe.each(Object.entries(frameworks))("in %s, a handler under a lock", (_, frameworkOf) => {
  async function stage() {
    const server = await start();
    return { server, serve: frameworkOf(server.address), rowlock: client(server.address) };
  }

  test("runs one request after the other, each with its token, and frees the lock", async () => {
    const { serve, rowlock } = await stage();
    let atOnce = 0;
    const { ask } = await serve({}, async ({ name, token }) => {
      atOnce += 1;
      await until(async () => token > 1n || (await waiting(rowlock, name)) === 1);
      const text = `${name} ${token} ${atOnce}`;
      atOnce -= 1;
      return text;
    });
    const answers = await Promise.all([ask("load"), ask("load")]);
    expect(answers.map(({ status, text }) => [status, text]).sort()).toEqual([
      [200, "load 1 1"],
      [200, "load 2 1"],
    ]);
    expect((await rowlock.getLock("load")).holderCount).toBe(0);
  });

  test("answers 503 and when to come again if it is busy, or what the program wants", async () => {
    const { serve, rowlock } = await stage();
    await rowlock.lock("load");
    const run = async () => "never";
    const { ask } = await serve({ wait: 0 }, run);
    const { status, text, headers } = await ask("load");
    expect([status, text]).toEqual([503, "Busy: try again later.\n"]);
    expect(Number(headers.get("retry-after"))).toBeGreaterThan(10);
    const own = await serve({ wait: 0, refused: ({ reason }) => `sorry: ${reason}` }, run);
    expect(await own.ask("load")).toMatchObject({ status: 200, text: "sorry: BUSY" });
  });

  test("gives its place up when the caller goes away", async () => {
    const { serve, rowlock } = await stage();
    await rowlock.lock("load");
    const { ask, errors } = await serve({}, async () => "never");
    const gone = new AbortController();
    const answer = ask("load", gone.signal);
    answer.catch(() => {});
    await until(async () => (await waiting(rowlock, "load")) === 1);
    gone.abort();
    await expect(answer).rejects.toMatchObject({ name: "AbortError" });
    await until(async () => (await waiting(rowlock, "load")) === 0);
    expect(errors).toEqual([]);
  });

  test("that throws has failed, and frees the lock", async () => {
    const { serve, rowlock } = await stage();
    const thrown = new Error("a bug");
    const { ask, errors } = await serve({}, () => Promise.reject(thrown));
    expect(await ask("load")).toMatchObject({ status: 500 });
    expect(errors).toEqual([thrown]);
    expect((await rowlock.getLock("load")).holderCount).toBe(0);
  });

  test("whose lock is lost has failed as LEASE_LOST", async () => {
    const { serve, rowlock } = await stage();
    const { errors, ask } = await serve({}, async ({ name, signal }) => {
      await rowlock.forceRelease({ name }, "test");
      await until(() => signal.aborted);
      throw new Error("the work stopped");
    });
    expect(await ask("load")).toMatchObject({ status: 500, text: "LEASE_LOST" });
    expect(errors).toMatchObject([{ reason: "LEASE_LOST", cause: { message: "the work stopped" } }]);
  });
});

test("in Express, a caller who has gone before the middleware begins has no lock, and its handler does not run", async () => {
  const rowlock = client((await start()).address);
  const handler = vi.fn();
  const next = vi.fn();
  const over = Promise.withResolvers<void>();
  const server = createServer(async (request, response) => {
    await once(response, "close");
    await lockedExpress(rowlock, "load", {}, handler)(request, response, next);
    over.resolve();
  });
  afterwards(() => void server.close());
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const gone = get({ port, host: "127.0.0.1" }).on("error", () => {});
  await once(server, "request");
  gone.destroy();
  await over.promise;
  expect([handler.mock.calls, next.mock.calls]).toEqual([[], []]);
  expect(await rowlock.getLock("load")).toMatchObject({ holderCount: 0 });
});
