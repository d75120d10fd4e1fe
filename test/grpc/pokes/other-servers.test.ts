// Whether another server can take clients over: who is asked, and what counts.

import { beforeEach, expect, test } from "vitest";
import { HealthCheckResponse_ServingStatus as Status } from "#proto/grpc/health/v1/health_pb.js";
import { OTHERS_ASKED_MAX } from "../../../server/grpc/grpc-bounds.ts";
import { OtherServers } from "../../../server/grpc/pokes/other-servers.ts";
import { until } from "../../support/until.ts";

let rows: { id: bigint; address: string; deadlineUs: number }[];
let isAway: boolean;
let reads: number;
let health: Map<string, Status>;
let asked: string[];
let others: OtherServers;

beforeEach(() => {
  rows = [];
  isAway = false;
  reads = 0;
  health = new Map();
  asked = [];
  others = new OtherServers({
    own: 1n,
    register: async () => {
      reads += 1;
      if (isAway) throw new Error("away");
      return { nowUs: 100, replicas: rows };
    },
    tls: null,
    health: async (address) => {
      asked.push(address);
      return health.get(address);
    },
  });
});

async function learn(): Promise<void> {
  const before = reads;
  await until(() => {
    others.learn();
    return reads > before;
  });
  await new Promise((resolve) => setImmediate(resolve));
}

test("one that serves is enough, and this server itself is none", async () => {
  rows = [
    { id: 1n, address: "own:1", deadlineUs: 200 },
    { id: 2n, address: "silent:1", deadlineUs: 200 },
    { id: 3n, address: "blind:1", deadlineUs: 200 },
  ];
  health.set("own:1", Status.SERVING).set("blind:1", Status.NOT_SERVING);
  await learn();
  expect(await others.serve()).toBe(false);
  expect(asked).toEqual(["silent:1", "blind:1"]);
  health.set("blind:1", Status.SERVING);
  expect(await others.serve()).toBe(true);
});

test("those are asked that are there and can be reached, and not too many", async () => {
  rows = [
    { id: 2n, address: "dead:1", deadlineUs: 99 },
    { id: 3n, address: "anywhere:0", deadlineUs: 200 },
    ...Array.from({ length: 9 }, (_, index) => ({
      id: BigInt(10 + index),
      address: `there:${index}`,
      deadlineUs: 200,
    })),
  ];
  expect(await others.serve()).toBe(false);
  await learn();
  expect(await others.serve()).toBe(false);
  expect(asked).toHaveLength(OTHERS_ASKED_MAX);
  expect(asked.every((address) => address.startsWith("there:"))).toBe(true);
});

test("where the register cannot be read, what was known counts", async () => {
  rows = [{ id: 2n, address: "there:1", deadlineUs: 200 }];
  health.set("there:1", Status.SERVING);
  await learn();
  isAway = true;
  await learn();
  expect(await others.serve()).toBe(true);
  isAway = false;
  rows = [];
  await learn();
  expect(await others.serve()).toBe(false);
});
