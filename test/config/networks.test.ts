// Lists of addresses and networks in settings.

import { expect, test } from "vitest";
import { blockListOf, networks } from "../../server/config/addresses.ts";
import { Refusal } from "../../server/config/setting-kinds.ts";

const { read } = networks(3);

test("addresses and networks of both families are found, however they are written", () => {
  const found = read("10.0.0.7, 10.1.0.0/16,2001:db8::/32");
  if (found instanceof Refusal) throw found;
  const list = blockListOf(found);
  const isIn = (address: string) => list?.check(address, address.includes(":") ? "ipv6" : "ipv4");
  expect(["10.0.0.7", "::ffff:10.0.0.7", "10.1.255.1", "2001:db8::1"].map(isIn)).toEqual(Array(4).fill(true));
  expect(["10.0.0.8", "10.2.0.1", "2001:db9::1"].map(isIn)).toEqual([false, false, false]);
});

test("none is written as nothing", () => {
  expect([read(""), blockListOf([])]).toEqual([[], undefined]);
});

test.each([
  "host.example",
  "10.0.0.0/33",
  "10.0.0/8",
  "10.0.0.0/8/8",
  "::/129",
  "10.0.0.1/",
  "1.1.1.1,2.2.2.2,3.3.3.3,4.4.4.4",
])("%s is refused", (text) => {
  expect(read(text)).toBeInstanceOf(Refusal);
});
