// The table and the ratios that the bench computes from its figures.

import { describe, expect, it, test } from "vitest";
import { type Sample, withRatios } from "./sample.ts";
import { medianWithRange, table } from "./table.ts";
import { WORKS } from "./works.ts";

describe("a median with its range", () => {
  it.each([
    [[], "–"],
    [[1234.5], "1,235"],
    [[3, 1, 2], "2 (1 to 3)"],
    [[4, 1, 2, 3], "3 (1 to 4)"],
  ])("of %o is %s", (figures, text) => {
    expect(medianWithRange(figures, 0)).toBe(text);
  });
});

const label = (name: string) => WORKS.find((work) => work.name === name)?.label as string;
const sample = (round: number, system: string, work: string, perSecond: number): Sample => ({
  round,
  system,
  work: label(work),
  perSecond,
});

test("a ratio is to the other system's rate in the same round", () => {
  const samples = withRatios([
    sample(1, "etcd", "one", 100),
    sample(1, "nothing", "one", 400),
    sample(1, "redis", "one", 200),
    sample(2, "etcd", "one", 50),
    sample(2, "redis", "one", 200),
  ]);
  expect(samples.map(({ ofEtcd, ofNothing }) => [ofEtcd, ofNothing])).toEqual([
    [1, 0.25],
    [4, 1],
    [2, 0.5],
    [1, undefined],
    [4, undefined],
  ]);
});

test("a session is compared with etcd's unary calls, and with a session that does nothing", () => {
  const session = sample(1, "rowlock-sqlite", "session-one", 300);
  const samples = [
    sample(1, "etcd", "one", 100),
    sample(1, "nothing", "session-one", 600),
    sample(1, "nothing", "one", 1),
    session,
  ];
  expect(withRatios(samples).at(-1)).toEqual({ ...session, ofEtcd: 3, ofNothing: 0.5 });
});

test("the table has dashes for what a system cannot do, and shows how often it failed", () => {
  const work = "hot";
  const samples: Sample[] = [
    { round: 1, work, system: "a", perSecond: 10, serverUs: 31.4, p50Ms: 1, p99Ms: 2 },
    { round: 2, work, system: "a", failure: "refused" },
    { round: 1, work, system: "b" },
  ];
  expect(table(samples, ["b", "a"]).split("\n").slice(2)).toEqual([
    "| hot | b | – | – | – | – | – | – | – | – | – |",
    "| hot | a | 10; 1 failed | – | – | 31 | – | 1.00 | 2.00 | – | – |",
    "",
  ]);
});
