// What comes from each address, counted with a clock of the test's own.

import { describe, expect, test } from "vitest";
import { ByAddress, networkOf } from "../../server/core/allowance.ts";

const ANY_RATE = { most: Number.POSITIVE_INFINITY, spanMs: 1_000 };

describe("an address", () => {
  test("has so many open at once, and room again when one has left; others are not counted with it", () => {
    const counted = new ByAddress({ openMax: 2, rate: ANY_RATE });
    const took = ["10.0.0.1", "::ffff:10.0.0.1", "10.0.0.1", "10.0.0.2"].map((from) =>
      counted.enter(from, 0),
    );
    expect(took).toEqual([null, null, "open", null]);
    counted.leave("10.0.0.1");
    expect([counted.enter("10.0.0.1", 0), [...counted.open()]]).toEqual([null, [2, 1]]);
    for (const from of ["10.0.0.1", "10.0.0.1", "10.0.0.2"]) counted.leave(from);
    expect([...counted.open()]).toEqual([]);
  });

  test("may come so often at once, and then as fast as its rate allows", () => {
    const counted = new ByAddress({ openMax: 100, rate: { most: 4, spanMs: 1_000 } });
    const came = (nowMs: number, times: number) =>
      Array.from({ length: times }, () => counted.enter("10.0.0.1", nowMs));
    expect(came(5_000, 5)).toEqual([null, null, null, null, "rate"]);
    expect(counted.enter("10.0.0.2", 5_000)).toBe(null);
    expect(came(5_250, 2)).toEqual([null, "rate"]);
    expect(came(7_000, 5)).toEqual([null, null, null, null, "rate"]);
    // What was refused is not open.
    expect([...counted.open()]).toEqual([9, 1]);
  });
});

test.each([
  ["127.0.0.1", "127.0.0.1"],
  ["::ffff:192.0.2.7", "192.0.2.7"],
  ["2001:db8:0:1:aa:bb:cc:dd", "2001:db8:0:1::/64"],
  ["2001:DB8:0:0001::7", "2001:db8:0:1::/64"],
  ["2001:db8::7", "2001:db8:0:0::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ["::1", "0:0:0:0::/64"],
  [undefined, ""],
])("%s counts as %s", (address, network) => {
  expect(networkOf(address)).toBe(network);
});
