// Whether another server can take over clients: which servers are asked, and which answers count.

import { beforeEach, expect, test } from "vitest";
import { OTHERS_ASKED_MAX } from "../../../server/grpc/grpc-bounds.ts";
import { OtherServers } from "../../../server/grpc/pokes/registered-servers.ts";

let rows: { id: bigint; address: string; secret: string; deadlineUs: number }[];
let isAway: boolean;
let deciding: Set<string>;
let asked: string[];
let others: OtherServers;

beforeEach(() => {
  rows = [];
  isAway = false;
  deciding = new Set();
  asked = [];
  others = new OtherServers({
    own: 1n,
    register: async () => {
      if (isAway) throw new Error("away");
      return { nowUs: 100, replicas: rows };
    },
    tls: () => null,
    decides: async ({ address, secret }, _tls, withinMs) => {
      asked.push(`${address} ${secret} ${withinMs}`);
      return deciding.has(address);
    },
  });
});

const row = (id: bigint, address: string, overrides: Partial<(typeof rows)[number]> = {}) => ({
  id,
  address,
  secret: `secret-${id}`,
  deadlineUs: 200,
  ...overrides,
});

test("one that decides is enough, and this server itself does not count", async () => {
  rows = [row(1n, "own:1"), row(2n, "silent:1"), row(3n, "blind:1")];
  deciding.add("own:1");
  await others.learn();
  expect(await others.decide(7)).toBe(false);
  expect(asked).toEqual(["silent:1 secret-2 7", "blind:1 secret-3 7"]);
  deciding.add("blind:1");
  expect(await others.decide(7)).toBe(true);
});

test("a bounded number of live servers with an address is asked", async () => {
  rows = [
    row(2n, "dead:1", { deadlineUs: 99 }),
    row(3n, "anywhere:0"),
    row(4n, "0.0.0.0:50051"),
    ...Array.from({ length: 9 }, (_, index) => row(BigInt(10 + index), `there:${index}`)),
    row(30n, "earlier-version:1", { secret: "" }),
  ];
  expect(await others.decide(7)).toBe(false);
  await others.learn();
  expect(await others.decide(7)).toBe(false);
  expect(asked).toHaveLength(OTHERS_ASKED_MAX);
  expect(asked.every((address) => address.startsWith("there:"))).toBe(true);
});
