// Pokes to other servers: at most one in flight to each; what arrives meanwhile goes together and is bounded; a pause
// after an error.

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { POKE_REST_MS, POKED_CLAIMS_MAX } from "../../../server/grpc/grpc-bounds.ts";
import { PokeSender } from "../../../server/grpc/pokes/poke-sender.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

const turn = () => new Promise(setImmediate);
const target = (id: bigint) => ({ id, address: `server-${id}:1`, secret: `secret of ${id}` });

interface Poke {
  readonly address: string;
  readonly secret: string;
  readonly tickets: readonly bigint[];
  readonly answer: (error?: Error) => void;
}

function scene(...there: bigint[]) {
  const register = there.map(target);
  const counted = { sent: 0, lost: 0 };
  const pokes: Poke[] = [];
  const open = new Set<object>();
  let lookUps = 0;
  const sender = new PokeSender({
    async register() {
      lookUps += 1;
      return { replicas: [...register] };
    },
    tls: () => null,
    observer: {
      poke(what, claims) {
        if (what !== "received") counted[what] += claims;
      },
    },
    connect(address) {
      const channel = {
        poke(
          secret: string,
          claims: readonly { ticketNumber: bigint }[],
          done: (error: Error | null) => void,
        ) {
          const tickets = claims.map(({ ticketNumber }) => ticketNumber);
          pokes.push({ address, secret, tickets, answer: (error) => done(error ?? null) });
        },
        close: () => void open.delete(channel),
      };
      open.add(channel);
      return channel;
    },
  });
  let ticketNumber = 0n;
  const send = (replica: bigint, count = 1) => {
    for (let times = 0; times < count; times++)
      sender.send({ replica, lockId: 1n, ticketNumber: ++ticketNumber });
  };
  return { sender, register, counted, pokes, open, send, lookUps: () => lookUps };
}

test("at most one poke to a server is in flight; later claims go together in the next one", async () => {
  const { send, pokes, counted, lookUps } = scene(1n, 2n);
  send(1n, 2);
  await turn();
  expect(pokes).toMatchObject([{ address: "server-1:1", secret: "secret of 1", tickets: [1n, 2n] }]);
  send(1n, 3);
  send(2n);
  await turn();
  expect(pokes.map(({ address }) => address)).toEqual(["server-1:1", "server-2:1"]);
  pokes[0]?.answer();
  expect(pokes[2]?.tickets).toEqual([3n, 4n, 5n]);
  pokes[2]?.answer();
  pokes[1]?.answer();
  expect(pokes).toHaveLength(3);
  expect(counted).toEqual({ sent: 6, lost: 0 });
  expect(lookUps()).toBe(2);
});

test("claims beyond the bound of a poke are lost while another one is in flight, and counted", async () => {
  const { send, pokes, counted } = scene(1n);
  send(1n);
  await turn();
  send(1n, POKED_CLAIMS_MAX + 5);
  expect(counted.lost).toBe(5);
  pokes[0]?.answer();
  expect(pokes[1]?.tickets).toHaveLength(POKED_CLAIMS_MAX);
});

test("a server that could not be poked gets none for a while, and is then looked up anew", async () => {
  const { send, pokes, counted, open, lookUps } = scene(1n);
  send(1n);
  await turn();
  send(1n, 2);
  pokes[0]?.answer(new Error("A fault made by a test."));
  expect(counted).toEqual({ sent: 0, lost: 3 });
  expect(open.size).toBe(0);
  vi.advanceTimersByTime(POKE_REST_MS - 1);
  send(1n);
  await turn();
  expect(pokes).toHaveLength(1);
  expect(counted.lost).toBe(4);
  vi.advanceTimersByTime(1);
  send(1n);
  await turn();
  expect(pokes).toHaveLength(2);
  expect(lookUps()).toBe(2);
});

test("with other TLS material, every server is connected to anew, also one that is just being looked up", async () => {
  const { sender, send, pokes, open, lookUps, counted } = scene(1n, 2n);
  send(1n);
  await turn();
  pokes[0]?.answer();
  send(2n);
  sender.reconnect();
  await turn();
  expect(open.size).toBe(0);
  expect(counted).toEqual({ sent: 1, lost: 1 });
  send(1n);
  await turn();
  expect(pokes).toHaveLength(2);
  expect(lookUps()).toBe(3);
  expect(open.size).toBe(1);
});
