// A client that is closed at any moment leaves nothing behind: neither its locks nor those that it has only asked
// for.

import { expect, test } from "vitest";
import { startLateProxy } from "../../support/late-proxy.ts";
import { startRefusingProxy } from "../../support/refusing-proxy.ts";
import { afterwards, client, start } from "./stage.ts";

const CLIENTS = 40;
/** So few at a time that a busy machine also answers them before they have closed, which takes 2 s at most. */
const CLIENTS_AT_ONCE = 5;
const LOCKS = 8;
const CLOSED_WITHIN_MS = 40;
/** Clients are closed after the server has heard them, and before its answers arrive. */
const ANSWERED_AFTER_MS = 60;

test.each(["a session", "calls of their own"])(
  "over %s, clients that are closed 0 to 40 ms after the server has heard them leave no lock held or waited for",
  async (via) => {
    const server = await start();
    const proxy = via === "a session" ? undefined : await startRefusingProxy(server.address, 403);
    if (proxy) afterwards(() => proxy.close());
    const [host, port] = (proxy ?? server).address.split(":") as [string, string];
    const late = await startLateProxy(host, Number(port));
    afterwards(() => late.close());
    late.delayAnswers(ANSWERED_AFTER_MS);
    const closedAfter = async (index: number) => {
      const owner = `hasty ${index}`;
      const hasty = client(`127.0.0.1:${late.port}`, { owner });
      const asked = Array.from({ length: LOCKS }, (_, at) =>
        hasty.lock(`hasty/${index}/${at}`, { ttl: at % 2 ? "forever" : 600_000 }).catch(() => {}),
      );
      await server.event((event) => event.kind === "granted" && event.claim.owner === owner);
      await new Promise((resolve) => setTimeout(resolve, (index * CLOSED_WITHIN_MS) / CLIENTS));
      await hasty.close();
      await Promise.all(asked);
    };
    for (let first = 0; first < CLIENTS; first += CLIENTS_AT_ONCE)
      await Promise.all(Array.from({ length: CLIENTS_AT_ONCE }, (_, at) => closedAfter(first + at)));
    const options = { prefix: "hasty/", busyOnly: true, pageSize: 1_000 };
    const busy = await Array.fromAsync(client(server.address).listLocks(options), ({ name }) => name);
    expect(busy).toEqual([]);
  },
);
