// Headers of the PROXY protocol, by their bytes.

import { describe, expect, test } from "vitest";
import { proxyHeaderOf } from "../../server/grpc/proxy-header.ts";

const SIGNATURE = "0d0a0d0a000d0a515549540a";
const v2 = (rest: string) => Buffer.from(SIGNATURE + rest, "hex");
const REST = Buffer.from("PRI * HTTP/2.0");

test.each([
  ["version 1", Buffer.from("PROXY TCP4 192.0.2.7 10.0.0.1 4711 50051\r\n"), "192.0.2.7", 4711],
  ["version 1 with IPv6", Buffer.from("PROXY TCP6 2001:db8::7 ::1 4711 50051\r\n"), "2001:db8::7", 4711],
  ["version 2", v2("2111000cc00002070a0000011267c383"), "192.0.2.7", 4711],
  [
    "version 2 with IPv6",
    v2(`21210024${"20010db8000000000000000000000007"}${"0".repeat(31)}1${"1267c383"}`),
    "2001:db8:0:0:0:0:0:7",
    4711,
  ],
  [
    "version 2 with IPv4 in IPv6",
    v2(`21210024${"0".repeat(20)}ffffc0000207${"0".repeat(20)}ffff0a0000011267c383`),
    "192.0.2.7",
    4711,
  ],
  ["version 2 with extensions", v2("2111000fc00002070a0000011267c383040000"), "192.0.2.7", 4711],
])("%s names the client, and what follows is left", (_what, header, address, port) => {
  const found = { kind: "header", bytes: header.length, source: { address, port } };
  expect(proxyHeaderOf(Buffer.concat([header, REST]))).toEqual(found);
  for (let length = 0; length < header.length; length++)
    expect(proxyHeaderOf(header.subarray(0, length))).toEqual({ kind: "more" });
});

test.each([
  ["version 1 without an address", Buffer.from("PROXY UNKNOWN\r\n")],
  ["version 2 of the proxy itself", v2("20000000")],
  ["version 2 of a Unix socket", v2(`213100d8${"00".repeat(216)}`)],
])("%s names nobody", (_what, header) => {
  expect(proxyHeaderOf(header)).toEqual({ kind: "header", bytes: header.length, source: null });
});

describe("what is no such header is told from one that has not come yet:", () => {
  test.each([
    ["HTTP/2", REST],
    ["a ClientHello", Buffer.from([0x16, 0x03, 0x01])],
    ["version 1 without an end", Buffer.from(`PROXY TCP4 ${"1".repeat(200)}`)],
    ["version 1 with words for numbers", Buffer.from("PROXY TCP4 192.0.2.7 10.0.0.1 many 50051\r\n")],
    ["version 1 with a name", Buffer.from("PROXY TCP4 host.example 10.0.0.1 4711 50051\r\n")],
    ["version 3", v2("3111000cc00002070a0000011267c383")],
    ["an unknown command", v2("2211000cc00002070a0000011267c383")],
    ["a body without measure", v2("2111ffff")],
  ])("%s", (_what, bytes) => {
    expect(proxyHeaderOf(bytes)).toEqual({ kind: "wrong" });
  });
});
