// Which connection to the port for operators goes when there are too many.

import { describe, expect, test } from "vitest";
import { Connections } from "../../server/http/connections.ts";

/** Small numbers of the same shape: 8 in all, 4 from one network, and networks with 2 are equals. */
const open = () => new Connections<string>("ops_connections", { max: 8, ofNetworkMax: 4, few: 2 });

/** Enters so many from each network, such as `a0` from network a, and returns who had to go. */
function entered(connections: Connections<string>, counts: Readonly<Record<string, number>>) {
  return Object.entries(counts).flatMap(([network, count]) =>
    Array.from({ length: count }, (_, at) => connections.enter(`${network}${at}`, network)).filter(
      (gone) => gone !== null,
    ),
  );
}

describe("a new connection", () => {
  test("takes the place of the silent one of the network with the most", () => {
    const connections = open();
    expect(entered(connections, { a: 1, b: 3, c: 4 })).toEqual([]);
    expect(connections.enter("d0", "d")).toBe("c0");
    expect([connections.size, connections.bound.used]).toEqual([8, 8]);
    // Now b and c have as many, and b's are older.
    expect(connections.enter("d1", "d")).toBe("b0");
  });

  test("takes that of its own network if this has as many as it may have", () => {
    const connections = open();
    expect(entered(connections, { a: 1, b: 6 })).toEqual(["b0", "b1"]);
    connections.leave("b5");
    connections.leave("b5");
    expect(connections.enter("b6", "b")).toBe(null);
  });

  test("finds many networks with a few connections each to be equals: the oldest goes, whatever it has asked", () => {
    const connections = open();
    entered(connections, { a: 1, b: 1, c: 1, d: 1, e: 1, f: 1, g: 2 });
    connections.began("a0");
    connections.ended("a0");
    expect(connections.enter("h0", "h")).toBe("a0");
  });

  test("spares those with requests and those whose clients are known", () => {
    const connections = open();
    entered(connections, { a: 2, b: 2, c: 2, d: 2 });
    connections.known("a0");
    expect(connections.began("a1")).toBe(1);
    expect(connections.began("a1")).toBe(2);
    expect(connections.enter("e0", "e")).toBe("b0");
    connections.ended("a1");
    connections.ended("a1");
    for (const other of ["b1", "c0", "c1", "d0", "d1", "e0"]) connections.began(other);
    // More than half have requests, and a1 has none, but strangers with requests are too many.
    expect(connections.enter("f0", "f")).toBe("b1");
  });

  test("finds a place however many requests are never answered, and however many callers are known", () => {
    for (const kind of ["began", "known"] as const) {
      const connections = open();
      for (const network of "abcdefgh") {
        connections.enter(network, network);
        connections[kind](network);
      }
      expect(connections.enter("i", "i"), kind).toBe("a");
      // The next one does not take the place of the newest, whose request is on its way.
      expect(connections.enter("j", "j"), kind).toBe("b");
    }
  });

  test("of a known client outlasts strangers with requests", () => {
    const connections = open();
    connections.enter("ops", "o");
    connections.began("ops");
    connections.known("ops");
    for (const network of "abcdefg") {
      connections.enter(network, network);
      connections.began(network);
    }
    const gone = [..."hijklmn"].map((network) => {
      const victim = connections.enter(network, network);
      connections.began(network);
      return victim;
    });
    expect(gone).toEqual([..."abcdefg"]);
  });
});

test("what is not open any more is no fault", () => {
  const connections = open();
  connections.ended("x");
  connections.known("x");
  expect([connections.began("x"), connections.size]).toEqual([1, 0]);
});
