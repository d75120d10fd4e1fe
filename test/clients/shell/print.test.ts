// What the shell prints for people: columns, colours only on a terminal, and no text that a terminal would execute.

import { expect, test } from "vitest";
import type { CliContext } from "../../../clients/shell/context.ts";
import { holdOf, runUnder } from "../../../clients/shell/held-command.ts";
import { lockPage, lockTable } from "../../../clients/shell/lock-views.ts";
import { localTime } from "../../../clients/shell/past-times.ts";
import { columns, jsonLine, paintOf, said, shown } from "../../../clients/shell/print.ts";
import type { Interruption } from "../../../clients/shell/take.ts";
import type { ClaimView, Lock, LockView, RenewedLease } from "../../../clients/typescript/src/index.ts";
import { claimView } from "./claim-view.ts";

const NOW_MS = 1_000_000;
const plain = (_: string, text: string) => text;

function claim(ticketNumber: number, more: Partial<ClaimView> = {}): ClaimView {
  const requestedAt = new Date(NOW_MS - 5_000);
  const [number, owner] = [BigInt(ticketNumber), `owner ${ticketNumber}`];
  return claimView({ lockName: "l", ticketNumber: number, state: "waiting", owner, requestedAt, ...more });
}

const holder = (ticketNumber: number, more: Partial<ClaimView> = {}) =>
  claim(ticketNumber, { state: "held", token: 7n, grantedAt: new Date(NOW_MS - 60_000), ...more });

function lock(limit: number, holders: readonly ClaimView[], waiters: readonly ClaimView[]): LockView {
  return {
    name: "l",
    limit: { permits: limit, source: "name", version: 3n, reason: "why" },
    heldPermits: holders.reduce((sum, { permits }) => sum + permits, 0),
    holderCount: holders.length,
    waiterCount: waiters.length,
    draining: false,
    lastToken: 7n,
    holders,
    waiters,
  };
}

const pageOf = (...args: Parameters<typeof lock>) => lockPage(lock(...args), NOW_MS, plain);

test("one lock is a page", () => {
  const first = holder(1, { permits: 2, labels: { host: "a1" }, expiresAt: new Date(NOW_MS + 20_000) });
  expect(pageOf(3, [first], [claim(2, { permits: 2 }), claim(3)])).toBe(
    [
      "name        l",
      "limit       3 (set for this name, version 3, why)",
      "held        2 by 1",
      "waiting     2",
      "last token  7",
      "",
      "holders",
      "#1  2 permits  for 60 s  20 s left  token 7  owner 1 host=a1",
      "",
      "waiters",
      "#2  2 permits  for 5 s  for 2 permits, 1 free  owner 2",
      "#3  1 permit   for 5 s  behind #2              owner 3",
      "",
    ].join("\n"),
  );
});

test("the record is on the lock's page, and in columns that some lock fills", () => {
  const record = {
    status: "in\nwork",
    attemptsLeft: 0,
    notBefore: new Date(NOW_MS + 7_200_000),
    failures: 2,
    version: 5n,
    lastRun: {
      owner: "o\t1",
      token: 3n,
      grantedAt: new Date(0),
      endedAt: new Date(1_000),
      endReason: "FORCE_RELEASED",
      status: "",
    },
  } as const;
  const remembers = { ...lock(1, [], [claim(1)]), record };
  const page = lockPage(remembers, NOW_MS, plain);
  expect(page).toContain(
    [
      "last token     7",
      "status         in\\u000awork",
      `due            in 2 h (${localTime(record.notBefore)})`,
      "attempts left  0",
      `last run       o\\u00091 from ${localTime(new Date(0))} to ${localTime(new Date(1_000))}: force released, with token 3`,
      "failures       2 in a row",
      "version        5",
      "",
    ].join("\n"),
  );
  expect(page).toContain("for 5 s  until it is due in 2 h  owner 1");
  const due = {
    ...lock(1, [], []),
    record: { status: "", notBefore: new Date(NOW_MS - 5_000), failures: 0, version: 6n },
  };
  expect(lockTable([due, lock(1, [], [])], NOW_MS, plain)).toBe(
    "NAME  LIMIT  HELD  WAITING  DUE      HOLDERS\nl     1      0     0        for 5 s\nl     1      0     0\n",
  );
  expect(lockTable([remembers], NOW_MS, plain)).toMatch(
    /STATUS +ATTEMPTS +DUE +HOLDERS\n.* in\\u000awork +0 +in 2 h\n/,
  );
});

test("colours are only on a terminal, and not if its user refuses them", () => {
  const paint = (screen: CliContext["screen"], env = {}) =>
    paintOf({ screen, env } as unknown as CliContext)("bold", "x");
  const screen = { columns: 80, rows: 24 };
  expect(paint(screen)).toBe("\x1b[1mx\x1b[22m");
  expect(paint(undefined)).toBe("x");
  expect(paint(screen, { NO_COLOR: "1" })).toBe("x");
  expect(paint(screen, { TERM: "dumb" })).toBe("x");
});

test("columns are as wide as the visible text of their cells", () => {
  expect(
    columns([
      ["\x1b[1mA\x1b[22m", "b"],
      ["long", "c"],
    ]),
  ).toBe("\x1b[1mA\x1b[22m     b\nlong  c\n");
  expect(columns([])).toBe("");
});

test("names and owners can neither control a terminal nor start new lines", () => {
  expect(shown("a\x1b[2J\nb\u202e\u2028ü")).toBe("a\\u001b[2J\\u000ab\\u202e\\u2028ü");
  const evil = { ...lock(1, [holder(1, { owner: "x\ny" })], []), name: "n\rm" };
  expect(lockTable([evil], NOW_MS, plain)).toBe(
    "NAME      LIMIT  HELD  WAITING  HOLDERS\nn\\u000dm  1      1     0        x\\u000ay\n",
  );
});

test("JSON escapes them, and reads back as the same text", () => {
  const name = "a\u001b[2J\u009b2J\u007f\u202e\u2067\u200f\u061c\u2029ü\n";
  const line = jsonLine({ name });
  expect(line).toMatch(/^[\x20-\x7eü]+\n$/);
  expect(JSON.parse(line)).toEqual({ name });
});

test("a message of the shell is one line, even with a foreign name in it", async () => {
  const lock = {
    name: "x\u001b]0;owned\u0007\u009b2J\u202e\nrowlock: all is well",
    state: "lost",
    tokens: new Map(),
    signal: AbortSignal.abort({ end: { reason: "EXPIRED" } }),
    release: async () => false,
    async [Symbol.asyncDispose]() {},
  } as unknown as Lock;
  let told = "";
  const context = {
    env: {},
    err: (text: string) => {
      told += text;
    },
    ignoredSignals: [],
    bytesOfVariables: new Map(),
    onSignal: () => () => {},
    kill: () => true,
  } as unknown as CliContext;
  const interrupted = { code: undefined } as unknown as Interruption;
  const rowlock = { renew: async () => ({}) as RenewedLease };
  await runUnder(rowlock, ["/no/such\u001bcommand"], lock, holdOf({}), () => ({}), context, interrupted);
  expect(told).toMatch(/^(rowlock: [\x20-\x7e]+\n)+$/);
  expect(said(lock.name)).toMatch(/^rowlock: [\x20-\x7e]+\n$/);
});
