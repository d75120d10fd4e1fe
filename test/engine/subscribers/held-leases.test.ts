// A listener for the end of a lease hears it once, and nothing is kept for listeners that have left.

import { beforeEach, expect, test } from "vitest";
import type { Claim } from "../../../server/core/claim.ts";
import { HeldLeases } from "../../../server/engine/subscribers/followers.ts";
import { CLAIM } from "../../support/claims.ts";

const ENDED: Claim = { ...CLAIM, state: "ended" };
const OTHER: Claim = { ...ENDED, ticketNumber: 2n, secret: "other" };
const ELSEWHERE: Claim = { ...ENDED, lockId: 2n, secret: "elsewhere" };

let leases: HeldLeases;
let heard: [who: string, claim: Claim][];
const listen = (who: string, lease = ENDED) => leases.add(lease, (ended) => heard.push([who, ended]));

beforeEach(() => {
  leases = new HeldLeases();
  heard = [];
});

test("all listeners of a lease hear of its end, once, and of no other lease", () => {
  listen("a");
  listen("b");
  listen("c", OTHER);
  listen("d", ELSEWHERE);
  expect(leases.count).toBe(3);
  leases.ended(ENDED);
  leases.ended(ENDED);
  expect(heard).toEqual([
    ["a", ENDED],
    ["b", ENDED],
  ]);
  expect(leases.count).toBe(2);
  leases.ended({ ...ENDED, ticketNumber: 3n, secret: "nobody's" });
  expect(heard).toHaveLength(2);
  leases.ended(OTHER);
  expect(heard.at(-1)).toEqual(["c", OTHER]);
});

test("a listener that has left hears nothing, and the others still do", () => {
  const leave = listen("a");
  listen("b");
  leave();
  leave();
  leases.ended(ENDED);
  expect(heard).toEqual([["b", ENDED]]);
});

test("nothing is kept of a lease without listeners", () => {
  const leaves = [listen("a"), listen("b"), listen("c", OTHER)];
  leaves[0]?.();
  expect(leases.count).toBe(2);
  leaves[1]?.();
  expect(leases.count).toBe(1);
  leaves[2]?.();
  expect(leases.count).toBe(0);
  leases.ended(ENDED);
  expect(heard).toEqual([]);
});

test("a listener that leaves late does not remove later ones", () => {
  const leave = listen("a");
  leases.ended(ENDED);
  listen("b");
  leave();
  expect(leases.count).toBe(1);
  leases.ended(ENDED);
  expect(heard.map(([who]) => who)).toEqual(["a", "b"]);
});
