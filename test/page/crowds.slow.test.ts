// Strangers crowd the port for operators with what they leave half done. Probes are answered at once all the time, and
// operators are served. How fast, is measured by the clock.

import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { IDLE_MS_MAX, LATE_CHECK_MS } from "../../server/http/http-bounds.ts";
import { CONNECTIONS_MAX } from "../../server/ops/ops-bounds.ts";
import { until } from "../support/harness.ts";
import { knownCallers, type PageServer, startPageServer } from "./page-stage.ts";
import { OWN, posted } from "./requests.ts";

/** More than there are places. */
const CROWD = CONNECTIONS_MAX + 50;
/** What an orchestrator waits for a probe, at least. */
const PROBE_MS_MAX = 1_000;
const PROBES = 10;
/** How often each stranger sends more, or comes again: what matters here is what they leave open, and not their number. */
const AGAIN_MS = 1_000;

const sockets = new Set<Socket>();
afterEach(() => {
  for (const socket of sockets) socket.destroy();
  sockets.clear();
});

const post = (path: string, headers: Readonly<Record<string, string>>) => {
  const all = { host: "127.0.0.1", "content-type": "application/json", ...OWN, ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST /api/${path} HTTP/1.1\r\n${lines.join("")}\r\n`;
};
const ENDLESS = { "content-length": "1000" };

interface Attack {
  readonly text: string;
  /** Sent again and again. */
  readonly often?: string;
  readonly isUnread?: boolean;
}

const ATTACKS: Readonly<Record<string, Attack>> = {
  "connections that say nothing": { text: "" },
  "half a request line": { text: "GET /readyz HT" },
  "half a head, and a byte more now and then": { text: "GET /readyz HTTP/1.1\r\nx: ", often: "y" },
  "GETs whose bodies never come": { text: "GET /healthz HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n" },
  "requests one after the other": { text: "", often: "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n" },
  "pages of metrics that nobody reads": {
    text: "GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n",
    isUnread: true,
  },
  "many requests at once": { text: "GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n".repeat(20) },
  "POSTs whose bodies never end": { text: post("GetLock", ENDLESS), often: " " },
  "POSTs with a wrong token whose bodies never end": {
    text: post("ForceRelease", { ...ENDLESS, authorization: "Bearer wrong" }),
    often: " ",
  },
  "POSTs in chunks, byte by byte": {
    text: post("GetLock", { "transfer-encoding": "chunked" }),
    often: "1\r\n \r\n",
  },
  "POSTs that wait to be asked for their bodies": {
    text: post("GetLock", { ...ENDLESS, expect: "100-continue" }),
  },
  "watches without a token": { text: `${post("WatchLocks", { "content-length": "2" })}{}` },
};

const ADDRESSES: Readonly<Record<string, (at: number) => string>> = {
  "the operators' own address": () => "127.0.0.1",
  "an address each": (at) => `127.0.1.${1 + at}`,
};

/** Opens the crowd, and opens what the server closes again and again. Resolves once all have come, with what ends that. */
async function crowd(
  port: number,
  { text, often, isUnread }: Attack,
  from: (at: number) => string,
): Promise<() => void> {
  let isOver = false;
  let came = 0;
  const open = (at: number): void => {
    const socket = connect({ port, host: "127.0.0.1", localAddress: from(at) });
    sockets.add(socket);
    const repeated = often && setInterval(() => socket.write(often), AGAIN_MS);
    socket.on("error", () => {});
    socket.once("connect", () => {
      came += 1;
      if (isUnread) socket.pause();
      else socket.resume();
      socket.write(text);
    });
    socket.once("close", () => {
      if (repeated) clearInterval(repeated);
      sockets.delete(socket);
      if (!isOver) setTimeout(open, AGAIN_MS, at);
    });
  };
  for (let at = 0; at < CROWD; at++) open(at);
  await until(() => came >= CROWD);
  return () => {
    isOver = true;
  };
}

async function timed<Result>(work: () => Promise<Result>): Promise<{ result: Result; tookMs: number }> {
  const startMs = performance.now();
  const result = await work();
  return { result, tookMs: performance.now() - startMs };
}

async function started(): Promise<{ server: PageServer; token: string }> {
  const { access, tokens } = knownCallers(["ops"], null);
  const server = await startPageServer({ gate: access, metrics: "x".repeat(300_000) });
  return { server, token: tokens.ops as string };
}

describe.each(Object.entries(ADDRESSES))("from %s", (_from, from) => {
  test.each(Object.entries(ATTACKS))("%s keep no probe and no operator out", async (_what, attack) => {
    const { server, token } = await started();
    const watch = await server.watch("", token);
    await watch.until(({ events }) => events.length > 0);
    const over = await crowd(server.port, attack, from);
    const tookMs: number[] = [];
    for (let probe = 0; probe < PROBES; probe++) {
      const probed = await timed(() => server.ask("/readyz"));
      expect(probed.result.text).toBe("ready\n");
      tookMs.push(probed.tookMs);
      const call = await server.ask("/rowlock.v1.LockService/GetLock", posted({ name: "etl/load" }, token));
      expect(call.status).toBe(200);
    }
    // None failed. What the code makes wait shows in each; what other work on the machine delays does not.
    expect(Math.min(...tookMs)).toBeLessThan(PROBE_MS_MAX);
    expect(server.connections()).toBeLessThanOrEqual(CONNECTIONS_MAX);
    over();
    // The operator's watch has outlasted the crowd.
    await server.call("UpdateRecord", { name: "etl/load", status: "seen" }, token);
    await watch.until(({ locks }) => locks.has("etl/load"));
    expect(server.errors).toEqual([]);
  });
});

test("connections that say nothing, or too little, are closed within seconds", async () => {
  const { server, token } = await started();
  const silent = ["", "GET /rea", `GET /readyz HTTP/1.1\r\nx: y`].map((text) => {
    const socket = connect(server.port, "127.0.0.1");
    sockets.add(socket);
    socket.write(text);
    return timed(() => once(socket.resume(), "close"));
  });
  // An idle one whose client is known, too.
  const known = server.ask("/api/about", { token, headers: { connection: "keep-alive" } });
  expect((await known).status).toBe(200);
  for (const { tookMs } of await Promise.all(silent))
    expect(tookMs).toBeLessThan(IDLE_MS_MAX + 3 * LATE_CHECK_MS);
  await until(() => server.connections() === 0);
});
