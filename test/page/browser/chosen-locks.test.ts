// Which locks the list of the page shows, and in which order.

import { describe, expect, test } from "vitest";
import type { LockJson } from "#proto/rowlock/v1/lock_pb.js";
import { chosen, inOrder, inOrderBefore, type Order } from "../../../clients/page/src/chosen-locks.ts";
import { rowOf } from "../../../clients/page/src/locks-feed.ts";

const at = (second: number) => `2030-01-31T06:00:${String(second).padStart(2, "0")}Z`;
const LOCKS: LockJson[] = [
  {
    name: "etl/load",
    holderCount: 1,
    holders: [{ owner: "worker-17", principal: "token:batch", labels: { team: "data" }, grantedAt: at(5) }],
    waiterCount: 2,
    waiters: [{ owner: "Nightly", requestedAt: at(9) }],
  },
  { name: "etl/stuck", holderCount: 1, holders: [{ owner: "worker-3", grantedAt: at(1) }] },
  {
    name: "web/cart",
    waiterCount: 1,
    waiters: [{ owner: "web", requestedAt: at(7) }],
    record: { status: "Broken" },
  },
  { name: "etl/idle", record: { status: "failed" } },
];
const rows = new Map(LOCKS.map((lock) => [lock.name ?? "", rowOf(lock)]));
const names = (choice: Partial<Parameters<typeof chosen>[1]>, order: Order = "name") =>
  inOrder(chosen(rows, { prefix: "", part: "", isAll: false, ...choice }), order).map(({ name }) => name);

describe("the list of locks", () => {
  test("has the busy ones, or all, under a prefix", () => {
    expect(names({})).toEqual(["etl/load", "etl/stuck", "web/cart"]);
    expect(names({ prefix: "etl/", isAll: true })).toEqual(["etl/idle", "etl/load", "etl/stuck"]);
  });

  test.each([
    ["STUCK", ["etl/stuck"]],
    ["worker-", ["etl/load", "etl/stuck"]],
    ["nightly", ["etl/load"]],
    ["token:b", ["etl/load"]],
    ["team=data", ["etl/load"]],
    ["broken", ["web/cart"]],
    ["failed", []],
    ["nobody", []],
  ])("has those with %j in a name, an owner, a label or a status", (part, found) => {
    expect(names({ part })).toEqual(found);
  });

  test("finds a status among idle locks, too, if these are shown", () => {
    expect(names({ part: "failed", isAll: true })).toEqual(["etl/idle"]);
  });

  test.each([
    ["wait", ["web/cart", "etl/load", "etl/stuck"]],
    ["held", ["etl/stuck", "etl/load", "web/cart"]],
    ["waiters", ["etl/load", "web/cart", "etl/stuck"]],
    ["name", ["etl/load", "etl/stuck", "web/cart"]],
  ] as const)("comes in the order by %s", (order, found) => {
    expect(names({}, order)).toEqual(found);
  });

  test("keeps its order under a pointer, and puts new ones last", () => {
    const before = inOrder(chosen(rows, { prefix: "", part: "", isAll: false }), "wait");
    const sorted = inOrder(chosen(rows, { prefix: "", part: "", isAll: true }), "name");
    expect(inOrderBefore(sorted, before).map(({ name }) => name)).toEqual([
      ...["web/cart", "etl/load", "etl/stuck"],
      "etl/idle",
    ]);
  });
});
