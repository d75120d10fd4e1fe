// Attacks by connections: many of them, and such as say nothing, or little, or stop in the middle of a handshake.

import { setTimeout as sleep } from "node:timers/promises";
import { hello, PREFACE, type RawConnection } from "../../support/http2-frames.ts";
import { type Attack, atOnce, type Target } from "../target.ts";

const SILENT = 1_000;
const CROWD = 10_000;
/** Connections that are opened at the same time: fewer than may wait to be accepted. */
const OPENING = 100;
const NOTHING = Buffer.alloc(0);
/** The first bytes of a ClientHello of 512 bytes. */
const CLIENT_HELLO = Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03]);

function opened(connection: RawConnection): Promise<void> {
  return new Promise((resolve) => {
    connection.socket.once("connect", resolve);
    connection.socket.once("close", () => resolve());
  });
}

/** Opens connections that say the same, and opens new ones when the server closes them. */
async function connections(target: Target, first: Buffer, count: number): Promise<RawConnection[]> {
  const open: RawConnection[] = [];
  await atOnce(OPENING, async (index) => {
    for (let at = index; at < count; at += OPENING) {
      const connection = target.connect({ hello: first, isMute: first.length < hello().length });
      open.push(connection);
      await opened(connection);
    }
  });
  target.begun();
  return open;
}

async function byteByByte(target: Target): Promise<void> {
  const open = await connections(target, NOTHING, SILENT);
  for (const byte of hello()) {
    for (const connection of open) void connection.send(Buffer.from([byte]));
    await sleep(1_000);
  }
}

export const CONNECTIONS: Readonly<Record<string, Attack>> = {
  "connections that say nothing": (target) => connections(target, NOTHING, SILENT),
  "handshakes of TLS that stall": (target) => connections(target, CLIENT_HELLO, SILENT),
  "one byte a second of HTTP/2": byteByByte,
  "one byte a second of a preface": (target) => connections(target, PREFACE.subarray(0, 3), SILENT),
  "a crowd of connections": (target) => connections(target, hello(), CROWD),
};
