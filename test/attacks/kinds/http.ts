// Attacks on the address for calls over HTTP: connections that say little, bodies of strangers, and streams that nobody reads.

import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { type Attack, atOnce, type Target } from "../target.ts";

const MANY = 1_000;
const BODY_BYTES = 65_536;
const head = (verb: string, bytes: number, more = "") =>
  `POST /rowlock.v1.LockService/${verb} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n` +
  `content-length: ${bytes}\r\n${more}\r\n`;
const post = (verb: string, body: object) => {
  const text = JSON.stringify(body);
  return `${head(verb, text.length)}${text}`;
};

async function opened(target: Target): Promise<Socket> {
  const [, host = "", port] = /^(.*):(\d+)$/.exec(target.address) ?? [];
  const socket = connect(Number(port), host);
  socket.on("error", () => {});
  socket.once("close", () => target.note("closed"));
  await Promise.race([once(socket, "connect").catch(() => {}), once(socket, "close")]);
  return socket;
}

/** Opens connections, does the same on each until it ends, and opens another one instead. */
function again(target: Target, count: number, act: (socket: Socket) => Promise<unknown>): Promise<unknown> {
  setTimeout(() => target.begun(), 500);
  return atOnce(count, async () => {
    for (;;) {
      const socket = await opened(target);
      const closed = once(socket, "close");
      await Promise.race([act(socket), closed]).catch(() => {});
      socket.destroy();
    }
  });
}

const forever = () => new Promise<never>(() => {});

/** One byte a second. */
async function slowly(socket: Socket, text: string): Promise<void> {
  for (const letter of text) {
    socket.write(letter);
    await sleep(1_000);
  }
}

/** As fast as the server reads. Reads what it says, unless it must not be read. */
async function flood(socket: Socket, text: string): Promise<void> {
  socket.resume();
  for (;;) if (!socket.write(text)) await once(socket, "drain");
}

export const HTTP: Readonly<Record<string, Attack>> = {
  "http connections that say nothing": (target) => again(target, MANY, forever),
  "http heads that do not end": (target) =>
    again(target, MANY, (socket) => slowly(socket, head("Acquire", 10, "x: 1\r\n".repeat(100)))),
  "http bodies that do not end": (target) =>
    again(target, MANY, async (socket) => {
      socket.write(head("Acquire", BODY_BYTES));
      await slowly(socket, " ".repeat(BODY_BYTES));
    }),
  "http bodies of 64 KiB": (target) =>
    again(target, 100, (socket) => flood(socket, head("Acquire", BODY_BYTES) + " ".repeat(BODY_BYTES))),
  "http requests in one go": (target) =>
    again(target, 100, (socket) => flood(socket, post("GetLock", { name: "a" }).repeat(1_000))),
  "http bodies of deep JSON": (target) =>
    again(target, 50, (socket) => {
      const body = "[".repeat(60_000);
      return flood(socket, head("Acquire", body.length) + body);
    }),
  "http waits that nobody reads": (target) =>
    again(target, MANY, async (socket) => {
      socket.pause();
      socket.write(post("WaitInQueue", { request: { name: "held/0" } }));
      await forever();
    }),
  "http watches that nobody reads": (target) =>
    again(target, MANY, async (socket) => {
      socket.pause();
      socket.write(post("WatchLocks", { prefix: "" }));
      await forever();
    }),
};
