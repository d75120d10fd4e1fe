// Several locks in one claim, in the shell, over a server whose answers this test writes: how they are named, and where the
// others are shown.

import { describe, expect, test } from "vitest";
import { ClaimState, EndReason, Mode, RefusalReason } from "#proto/rowlock/v1/lock_pb.js";
import type { AcquireRequest } from "#proto/rowlock/v1/lock_service_pb.js";
import { spelled, writtenLock } from "../../../clients/shell/also.ts";
import { claimTable } from "../../../clients/shell/claim-views.ts";
import { ranInProcess } from "../../cli/in-process.ts";
import type { Script } from "../../support/scripted-server.ts";
import { claimView } from "./claim-view.ts";
import { EVIL, ranOver } from "./scripted.ts";

const BIG = 9_007_199_254_740_993n;
const ALSO = [
  { lockName: "b", mode: Mode.PERMIT, permits: 1, fencingToken: 3n },
  { lockName: "c", mode: Mode.SHARED, permits: 1, fencingToken: BIG },
  { lockName: "gpu", mode: Mode.PERMIT, permits: 2, fencingToken: 1n },
];
const FLAGS = ["--also", "b", "--also", "c:shared", "--also", "gpu:permits=2"];
const TOKENS = `{"a":7,"b":3,"c":"${BIG}","gpu":1}`;

/** Grants what it is asked for, and keeps that. */
function granting(also: readonly object[] = ALSO) {
  const lease = { leaseId: "1.2.secret", lockName: "a", fencingToken: 7n, permits: 1, also };
  const asked: AcquireRequest[] = [];
  const script = {
    acquire(request: AcquireRequest) {
      asked.push(request);
      return { outcome: { case: "lease", value: lease } };
    },
    renew: () => ({ lease }),
    release: () => ({ released: true }),
  } as unknown as Script;
  return { asked, script };
}

describe("further locks", () => {
  test.each([
    ["b", { name: "b" }],
    ["c:shared", { name: "c", mode: "shared" }],
    ["c:exclusive", { name: "c", mode: "exclusive" }],
    ["gpu:permits=2", { name: "gpu", permits: "2" }],
    // Colons in names mean nothing else.
    ["order:7", { name: "order:7" }],
    ["x:shared:permits=1", { name: "x:shared", permits: "1" }],
  ] as const)("are written as %s, and shown as they are written", (text, written) => {
    const { name, mode, permits } = writtenLock(text);
    expect({ name, ...(mode && { mode }), ...(permits && { permits }) }).toEqual(written);
    expect(spelled({ name, ...(mode && { mode }), ...(permits && { permits: Number(permits) }) })).toBe(text);
  });

  test.each<[string[], RegExp]>([
    [["--also", "b", "--also", "b:shared"], /--also "b:shared": this lock is named twice/],
    [["--also", "a"], /--also "a": this is the first lock already/],
    [["--also", "gpu:permits=0"], /--also "gpu:permits=0": write a whole number from 1 to/],
    [["--also", "etl/*"], /this would be the name of one lock/],
    [["--also", ""], /--also "": it is empty/],
    [["--also", "b:share"], /--also "b:share": after the name, write one of :shared/],
    [["--also", "b:permits=2:shared"], /--also "b:permits=2:shared": after the name, write one of/],
    [["--also", "--"], /name a lock: the command comes after that/],
    [["--also", "b", "--head-start", "1m"], /--also.*--head-start/],
    [[..."bcdefghi"].flatMap((name) => ["--also", name]), /--also "i": there are more than 7: use fewer/],
  ])("that cannot be are told before a server is asked: %j", async (flags, words) => {
    for (const line of [
      ["run", "a", ...flags, "--", "true"],
      ["acquire", "a", ...flags],
    ]) {
      const { code, err } = await ranInProcess([...line, "--addr", "127.0.0.1:9"]);
      expect(code).toBe(64);
      expect(err).toMatch(words);
    }
  });

  test("that cannot be are all told at once", async () => {
    const flags = ["--also", "c", "--also", "c", "--also", "b:permits=x", "--also", "a"];
    const { err } = await ranInProcess(["acquire", "a", ...flags, "--addr", "127.0.0.1:9"]);
    expect(err).toMatch(/^error: 3 things are wrong .*"c": .*"b:permits=x": .*"a": /s);
  });

  test.each([
    ["spend", "a"],
    ["capture", "a/"],
    ["why", "a"],
  ])("are nothing for rowlock %s, which is about one lock", async (...line) => {
    const { code, err } = await ranInProcess([...line, "--also", "b", "--addr", "127.0.0.1:9"]);
    expect([code, err]).toEqual([
      64,
      expect.stringMatching(/--also "b": .* (only run and acquire take several|ask for each lock alone)/),
    ]);
  });

  test("that a server refuses are named by their flag", async () => {
    const { badRequest } = await import("../../../server/grpc/messages/call-error.ts");
    const script: Script = {
      acquire() {
        throw badRequest([{ field: "also[1].name", description: "is too long" }]);
      },
    };
    const { code, err } = await ranOver(script, "acquire", "a", ...FLAGS);
    expect([code, err]).toEqual([1, "rowlock: The server rejected this request: --also is too long.\n"]);
  });
});

describe("a command under several locks", () => {
  const holds = (tokens: string) => [
    "sh",
    "-c",
    `test "$ROWLOCK_NAME $ROWLOCK_TOKEN" = "a 7" && test "$ROWLOCK_TOKENS" = '${tokens}'`,
  ];

  test("is run when all are granted, and finds the token of each by its name", async () => {
    const { script, asked } = granting();
    expect(await ranOver(script, "run", "a", ...FLAGS, "--", ...holds(TOKENS))).toEqual({
      code: 0,
      out: "",
      err: "",
    });
    expect(asked[0]).toMatchObject({
      name: "a",
      also: [
        { name: "b", mode: Mode.PERMIT, permits: 0 },
        { name: "c", mode: Mode.SHARED, permits: 0 },
        { name: "gpu", mode: Mode.PERMIT, permits: 2 },
      ],
    });
  });

  test("finds only its own tokens within another one", async () => {
    const { script } = granting([]);
    expect(await ranOver(script, "run", "a", "--", ...holds('{"a":7}'))).toEqual({
      code: 0,
      out: "",
      err: "",
    });
  });
});

describe("a script", () => {
  test("gets the tokens of all as a variable, and as JSON", async () => {
    expect((await ranOver(granting().script, "acquire", "a", ...FLAGS)).out).toBe(
      [
        "ROWLOCK_NAME='a'",
        "ROWLOCK_LEASE='1.2.secret'",
        "ROWLOCK_TOKEN=7",
        `ROWLOCK_TOKENS='${TOKENS}'`,
        "",
      ].join("\n"),
    );
    const { out } = await ranOver(granting().script, "acquire", "a", ...FLAGS, "--json");
    expect(out).toBe(`{"name":"a","leaseId":"1.2.secret","token":7,"tokens":${TOKENS}}\n`);
    const one = await ranOver(granting([]).script, "acquire", "a", "--json");
    expect(one.out).toBe('{"name":"a","leaseId":"1.2.secret","token":7}\n');
  });

  test("sees them again when it renews the lease", async () => {
    const { script } = granting(ALSO.slice(0, 1));
    expect((await ranOver(script, "renew", "1.2.secret")).out).toBe(
      "a: held without end, with token 7, and b with 3\n",
    );
    const { out } = await ranOver(script, "renew", "1.2.secret", "--json");
    expect(JSON.parse(out)).toEqual({ leaseId: "1.2.secret", name: "a", token: 7, tokens: { a: 7, b: 3 } });
  });
});

test.each<[object, string]>([
  [
    { reason: RefusalReason.BUSY, lockName: "b", holders: [{ lockName: "b", owner: "anna" }] },
    '"b" is busy: anna holds it.',
  ],
  [{ reason: RefusalReason.NEVER_FITS, lockName: "b", limit: { permits: 1 } }, '"b" has a limit of 1, so'],
  [
    { reason: RefusalReason.QUEUE_FULL, message: "Full.", lockName: "b" },
    '"b" (also b) was not acquired. Full.',
  ],
])("a refusal says which lock is in the way: %j", async (value, words) => {
  const script = { acquire: () => ({ outcome: { case: "refusal", value } }) } as unknown as Script;
  const { code, err } = await ranOver(script, "acquire", "a", "--also", "b", "--no-wait");
  expect([code, err]).toEqual([75, expect.stringContaining(words)]);
});

test("a wait that ended says who holds which of them", async () => {
  const value = { reason: EndReason.TIMED_OUT, holders: [{ lockName: "b", owner: "anna" }] };
  const script = { acquire: () => ({ outcome: { case: "ended", value } }) } as unknown as Script;
  const { err } = await ranOver(script, "acquire", "a", "--also", "b", "--no-wait");
  expect(err).toBe('rowlock: "a" (also b) did not become free in time: anna holds "b".\n');
});

describe("the other locks of a claim are shown", () => {
  const of = (ticketNumber: bigint, state: ClaimState, more: object) => ({
    ...{ lockName: "a", ticketNumber, state, owner: "anna", mode: Mode.PERMIT, permits: 1, ...more },
  });

  test("with holders and waiters of a lock, and a waiter that is first waits for them", async () => {
    const lock = {
      ...{ name: "a", limit: { permits: 2 }, heldPermits: 1n, holderCount: 1, waiterCount: 1 },
      holders: [of(1n, ClaimState.HELD, { fencingToken: 7n, also: ALSO })],
      waiters: [of(2n, ClaimState.WAITING, { owner: "ben", also: [{ ...ALSO[1], fencingToken: 0n }] })],
    };
    const script = { getLock: () => ({ lock }) } as unknown as Script;
    const { out } = await ranOver(script, "show", "a");
    expect(out).toMatch(/^#1 .* token 7 {2}anna \(also b, c:shared, gpu:permits=2\)$/m);
    expect(out).toMatch(/^#2 .* for its other locks {2}ben \(also c:shared\)$/m);
    const { holders, waiters } = JSON.parse((await ranOver(script, "show", "a", "--json")).out);
    expect(holders[0].also[1]).toEqual({ lockName: "c", mode: "shared", permits: 1, token: String(BIG) });
    expect(waiters[0].also).toEqual([{ lockName: "c", mode: "shared", permits: 1 }]);
  });

  test("in a column of claims, and because of which of them one has ended", () => {
    const also = [{ lockName: "c\n", mode: "shared" as const, permits: 1 }];
    const end = { reason: "NEVER_FITS" as const, lockName: "c\n" };
    const table = claimTable([claimView({ also, end }), claimView({ end: { reason: "RELEASED" } })], {
      ...{ isOfOne: true, nowMs: 0, paint: (_: string, text: string) => text },
    });
    const [titles, first, second] = table.split("\n");
    expect(titles).toMatch(/TAKES +ALSO +OWNER +STATE$/);
    expect(first).toMatch(/1 permit +c\\u000a:shared +nightly +never fits at c\\u000a$/);
    expect(second).toMatch(/1 permit +nightly +released$/);
  });

  test("with why it waits, each cause with its lock, and what to do there", async () => {
    const explanation = {
      lock: { name: "a", limit: { permits: 1 } },
      claim: of(12n, ClaimState.WAITING, { also: [{ lockName: "b" }, { lockName: EVIL }] }),
      summary: "two are in the way",
      causes: [
        { cause: { case: "exhausted", value: true }, lockName: "b" },
        { cause: { case: "exhausted", value: true }, lockName: EVIL },
      ],
    };
    const script = { explainWait: () => explanation } as unknown as Script;
    const lines = (await ranOver(script, "why", "a#12")).out.split("\n");
    expect(lines[0]).toMatch(/^a#12 \(also b, x\\u001b.*\): two are in the way$/);
    expect(lines[1]).toBe("  - b: its record has no attempts left: rowlock update b --attempts COUNT");
    expect(lines[2]).toMatch(
      /^ {2}- x\\u001b[\x20-\x7e]+: its record has no attempts left: rowlock update 'x\\u001b/,
    );
    const { causes, claim } = JSON.parse((await ranOver(script, "why", "a#12", "--json")).out);
    expect([causes[0].lockName, claim.also[0].lockName]).toEqual(["b", "b"]);
  });
});

test.each([
  [["run", "a", "--also", "bo"], "book\nbooks\n"],
  [["run", "--also", "bo"], "book\nbooks\n"],
  [["acquire", "a", "--also=bo"], "--also=book\n--also=books\n"],
])("completion offers names for it: %j", async (line, words) => {
  const prefixes: string[] = [];
  const script: Script = {
    listLocks({ prefix }) {
      prefixes.push(prefix ?? "");
      return { locks: ["book", "books"].map((name) => ({ name, limit: { permits: 1 } })) };
    },
  };
  expect((await ranOver(script, "__complete", ...line)).out).toBe(`words\n${words}`);
  expect(prefixes).toEqual(["bo"]);
});
