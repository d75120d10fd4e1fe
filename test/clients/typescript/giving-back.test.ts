// The client gives back grants that nobody received or that nobody wants any more, whatever happens to the
// connection.

import { describe, expect, test } from "vitest";
import type { RowlockClient } from "../../../clients/typescript/src/index.ts";
import { replacing } from "../../support/harness.ts";
import { startLateProxy } from "../../support/late-proxy.ts";
import { afterwards, client, start } from "./stage.ts";

/**
 * A server behind a proxy. It grants at once, but answers Acquire only while the gate is open; the gate starts open.
 */
async function stage() {
  let gate = Promise.withResolvers<void>();
  gate.resolve();
  const server = await start({
    wrapEngine: (engine) =>
      replacing(engine, {
        acquire: async (...asked) => {
          const answer = await engine.acquire(...asked);
          await gate.promise;
          return answer;
        },
      }),
  });
  afterwards(() => gate.resolve());
  const [host, port] = server.address.split(":") as [string, string];
  const proxy = await startLateProxy(host, Number(port));
  afterwards(() => proxy.close());
  const address = `127.0.0.1:${proxy.port}`;
  const shut = () => {
    gate = Promise.withResolvers();
  };
  return { server, proxy, shut, open: () => gate.resolve(), address, looking: client(server.address) };
}

const held = async (rowlock: RowlockClient, name: string) => (await rowlock.getLock(name)).holderCount;
const failed = (call: Promise<unknown>) => call.then(() => undefined).catch((error) => error);

describe("a lease without end", () => {
  test.each(["lives on", "is closed"])(
    "whose grant got no answer is given back, if its client %s",
    async (how) => {
      const { server, shut, open, address, looking } = await stage();
      const rowlock = client(address, { giveUpAfter: 2_000 });
      await rowlock.getLock("unheard");
      shut();
      const error = await failed(rowlock.lock("unheard", { ttl: "forever" }));
      expect(error).toMatchObject({ reason: "NO_SERVER", metadata: { request_id: expect.any(String) } });
      expect(error.message).toContain(
        `"unheard" may be held, under the request id ${error.metadata.request_id}`,
      );
      await server.event(({ kind }) => kind === "granted");
      if (how === "is closed") await rowlock.close();
      open();
      await server.event((event) => event.kind === "ended" && event.claim.endReason === "released");
      expect(await held(looking, "unheard")).toBe(0);
    },
  );

  test("of a client that is closed before an answer could come is given back afterwards", async () => {
    const { server, shut, open, address, looking } = await stage();
    const rowlock = client(address);
    shut();
    const asked = failed(rowlock.lock("closed", { ttl: "forever" }));
    await server.event(({ kind }) => kind === "granted");
    await rowlock.close();
    expect(await asked).toMatchObject({ reason: "CLOSED" });
    expect(await held(looking, "closed")).toBe(1);
    open();
    await server.event(({ kind }) => kind === "ended");
    expect(await held(looking, "closed")).toBe(0);
  });

  test("whose release got no answer is released as soon as a server answers", async () => {
    const { server, proxy, address, looking } = await stage();
    // Enough time to get the lock on a busy machine; the release uses all of it.
    const rowlock = client(address, { giveUpAfter: 2_000, connectTimeout: 2_000 });
    const lock = await rowlock.lock("kept", { ttl: "forever" });
    // From now on the server hears nothing of this session.
    proxy.freeze();
    expect(await failed(lock.release())).toMatchObject({ reason: "NO_SERVER" });
    expect(await held(looking, "kept")).toBe(1);
    proxy.thaw();
    await server.event(({ kind }) => kind === "ended");
  });
});

describe("on a connection too slow for its TTL", () => {
  const ANSWERED_AFTER_MS = 250;
  const SHORT = { ttl: 1_000, margin: 490 };

  test("a lock is an error that explains it, and is given back", async () => {
    const { proxy, address, looking } = await stage();
    const rowlock = client(address);
    proxy.delayAnswers(ANSWERED_AFTER_MS);
    expect(await failed(rowlock.lock("slow", SHORT))).toMatchObject({ reason: "TTL_TOO_SHORT" });
    await rowlock.close();
    expect(await held(looking, "slow")).toBe(0);
    const patient = client(address);
    expect((await patient.lock("slow", { ttl: 30_000 })).state).toBe("held");
  });
});
