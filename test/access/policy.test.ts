// What a policy allows, and what is said of a file with faults.

import { describe, expect, test } from "vitest";
import { PatternSet, type Policy } from "../../server/access/policy.ts";
import { boundsOf, readPolicy } from "../../server/access/policy-file.ts";
import type { Needed } from "../../server/access/rights.ts";

const ACQUIRE: Needed = { verb: "Acquire", right: "use" };
const LIST: Needed = { verb: "ListLocks", right: "read" };
const FORCE: Needed = { verb: "ForceRelease", right: "operate" };

function policyOf(text: string): Policy {
  const read = readPolicy(text);
  if ("faults" in read) throw new Error(read.faults.join("\n"));
  return read.value;
}

const ETL = policyOf(`
rules:
  - who: [token:nightly, "jwt:system:serviceaccount:etl:*"]
    may: [use, read]
    on: [etl/*, shared]
  - who: token:nightly
    may: [ForceRelease]
    on: etl/orders/*
`);

describe("a rule", () => {
  const nightly = ETL.of("token:nightly");

  test("allows its rights on its names, and nothing else", () => {
    expect(nightly.on(ACQUIRE, "etl/x")).toBe(true);
    expect(nightly.on(ACQUIRE, "shared")).toBe(true);
    expect(nightly.on(ACQUIRE, "shared/x")).toBe(false);
    expect(nightly.on(ACQUIRE, "etl")).toBe(false);
    expect(nightly.on({ verb: "SetLimit", right: "operate" }, "etl/x")).toBe(false);
  });

  test("may name a verb instead of its right", () => {
    expect(nightly.on(FORCE, "etl/orders/1")).toBe(true);
    expect(nightly.on(FORCE, "etl/x")).toBe(false);
  });

  test("is for the principals that it names, exactly or by their beginning", () => {
    expect(ETL.of("jwt:system:serviceaccount:etl:loader").on(ACQUIRE, "etl/x")).toBe(true);
    for (const other of ["token:nightly2", "token:", "jwt:nightly", "jwt:system:serviceaccount:etl", ""])
      expect(ETL.of(other).on(ACQUIRE, "etl/x")).toBe(false);
  });

  test("gives a name the same answer again and again, with any number of names between", () => {
    const names = Array.from({ length: 1_500 }, (_, index) => `${index % 2 === 0 ? "etl" : "web"}/${index}`);
    const set = new PatternSet([{ text: "etl/", isPrefix: true }]);
    for (let round = 0; round < 3; round++)
      expect(names.filter((name) => set.matches(name))).toEqual(names.filter((_, index) => index % 2 === 0));
  });

  test("allows all names under a prefix only if one pattern covers them all", () => {
    expect(nightly.under(ACQUIRE, "etl/")).toBe(true);
    expect(nightly.under(ACQUIRE, "etl/a")).toBe(true);
    expect(nightly.under(ACQUIRE, "et")).toBe(false);
    expect(nightly.under(ACQUIRE, "shared")).toBe(false);
  });
});

test.each([
  ["", ["etl/*"], "etl/"],
  ["etl/o", ["etl/*"], "etl/o"],
  ["", ["etl/a*", "etl/b"], "etl/"],
  ["", ["etl/*", "web/*"], ""],
  ["x", ["etl/*"], null],
  ["etl/", ["e*"], "etl/"],
  ["", ["🔒a", "🔓a"], ""],
])("within %o, the patterns %o begin with %o", (prefix, on, expected) => {
  const policy = policyOf(JSON.stringify({ rules: [{ who: "*", may: "read", on }] }));
  expect(policy.of("token:a").within(LIST, prefix)).toBe(expected);
});

test("a policy that allows less is noticed for each principal", () => {
  const of = (text: string) => policyOf(text).of("token:a");
  const both = of("rules: [{who: 'token:*', may: [use, read], on: [a, b*]}]");
  const same = of("rules: [{who: '*', may: [read], on: [b*, a]}, {who: '*', may: use, on: [a, b*]}]");
  const less = of("rules: [{who: '*', may: [use, read], on: [a]}]");
  expect(same.containsAll(both)).toBe(true);
  expect(both.containsAll(less)).toBe(true);
  expect(less.containsAll(both)).toBe(false);
});

test("a quota's bounds are those of the longest name that fits", () => {
  const policy = policyOf(`
rules: [{who: '*', may: use, on: '*'}]
quotas:
  - who: token:etl-1
    claims: 3
  - who: [token:etl-*]
    claims: 100
    calls_per_second: 50
  - who: ["*"]
    sessions: 5
    calls_per_second: 10
`);
  expect(policy.of("token:etl-1").quota).toEqual({ claims: 3, callsPerSecond: 50, sessions: 5 });
  expect(policy.of("token:web").quota).toEqual({ callsPerSecond: 10, sessions: 5 });
});

test("a label is that of the longest name that fits, and its key is fixed for everybody", () => {
  const policy = policyOf(`
rules: []
labels:
  - who: "token:*"
    set: { tenant: others, tier: free }
  - who: [token:acme-*, token:acme]
    set: { tenant: acme }
`);
  const keys = ["tenant", "tier"];
  expect(policy.of("token:acme-1").labels).toEqual({ keys, own: { tenant: "acme", tier: "free" } });
  expect(policy.of("token:web").labels).toEqual({ keys, own: { tenant: "others", tier: "free" } });
  expect(policy.of("cert:web").labels).toEqual({ keys, own: {} });
  expect(policyOf("rules: []").of("token:web").labels).toBeNull();
});

test.each([
  ["labels: 1", /labels is missing or not a list/],
  ["labels: [{ who: token:a }]", /set is not a mapping of 1 to 16 labels/],
  ["labels: [{ who: token:a, set: {} }]", /set is not a mapping/],
  ["labels: [{ who: token:a, set: { tenant: 7 } }]", /the label tenant is not a text/],
  [`labels: [{ who: token:a, set: { ${"k".repeat(64)}: x } }]`, /the key of a label has 64 bytes/],
  [`labels: [{ who: token:a, set: { k: ${"x".repeat(256)} } }]`, /the label k is longer than 255 bytes/],
  ["labels: [{ set: { k: x }, on: etl }]", /an entry of labels has no "on"/],
])("what is wrong with `%s` is told", (text, expected) => {
  const read = readPolicy(`rules: []\n${text}`);
  expect("faults" in read && read.faults.join("\n")).toMatch(expected);
});

test("a quota may bound anything that is counted, and is shown in the words of the file", () => {
  const quota = {
    claims: 1,
    waiters: 2,
    sessions: 3,
    calls_per_second: 4,
    new_names_per_minute: 5,
    records: 0,
  };
  const bounds = Object.entries(quota).map(([bound, most]) => `${bound} ${most}`);
  const rules = [{ who: "*", may: "use", on: "*" }];
  const policy = policyOf(JSON.stringify({ rules, quotas: [{ who: "token:a", ...quota }] }));
  expect(boundsOf(policy.of("token:a").quota)).toEqual(bounds);
  expect(boundsOf(policy.of("token:b").quota)).toEqual([]);
});

test.each([
  ["records: 3", { boundsClaims: false, boundsRecords: true }],
  ["waiters: 3", { boundsClaims: true, boundsRecords: false }],
  ["sessions: 3", { boundsClaims: false, boundsRecords: false }],
])("a policy with the quota `%s` says what must be counted", (bound, expected) => {
  const policy = policyOf(`{ rules: [], quotas: [{ who: "*", sessions: 1 }, { who: token:a, ${bound} }] }`);
  expect(policy).toMatchObject(expected);
});

describe("a file with faults", () => {
  test("is told of all of them, with their lines", () => {
    const read = readPolicy(`rules:
  - who: nightly
    may: [us]
    on: a*b
  - mayy: x
  - who: token:a
    may: use
    on: [1, ""]
quotas:
  - who: token:a
    claims: -1
  - who: token:b
quota: 1
`);
    expect(read).toEqual({
      faults: [
        expect.stringMatching(/^line 2: "nightly" can be nobody/),
        expect.stringMatching(/^line 3: "us" is neither a right nor a verb/),
        expect.stringMatching(/^line 4: "a\*b" has a star before its end/),
        expect.stringMatching(/^line 5: a rule has no "mayy"/),
        expect.stringMatching(/^line 5: may is missing/),
        expect.stringMatching(/^line 5: who is missing/),
        expect.stringMatching(/^line 5: on is missing/),
        expect.stringMatching(/^line 8: on has something that is not a text/),
        expect.stringMatching(/^line 8: an empty name matches nothing/),
        expect.stringMatching(/^line 11: claims is not a whole number/),
        expect.stringMatching(/^line 12: the quota bounds nothing/),
        expect.stringMatching(/^line 13: the policy has no "quota"/),
      ],
    });
  });

  test.each([
    ["", /not a mapping/],
    ["rules: 1", /rules is missing or not a list/],
    ["quotas: []", /rules is missing or not a list/],
    ["rules: [}", /^line 1: /],
    ["rules: []\nrules: []", /^line 2: .*unique/],
    ["rules: [{who: '*', who: 'token:a', may: use, on: x}]", /unique/],
    ["rules: [&a {who: '*', may: use, on: *b}]", /b/],
  ])("is refused: %o", (text, fault) => {
    const read = readPolicy(text);
    expect("faults" in read && read.faults.join("\n")).toMatch(fault);
  });
});
