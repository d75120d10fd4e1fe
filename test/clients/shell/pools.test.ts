// Pools in the shell, over a server whose answers this test writes: how they are set and shown, and what waits at one.

import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";
import { ClaimState, LimitSource, Mode, RefusalReason } from "#proto/rowlock/v1/lock_pb.js";
import type { SetLimitRequest } from "#proto/rowlock/v1/lock_service_pb.js";
import { ranInProcess } from "../../cli/in-process.ts";
import type { Script } from "../../support/scripted-server.ts";
import { ranOver } from "./scripted.ts";

const RATE = { permits: 500, per: durationFromMs(60_000), burst: 20 };
const USE = { heldPermits: 12n, holderCount: 9, waiterCount: 3, available: 7 };
const OF_POOL = { source: LimitSource.POOL, pattern: "openai/*", version: 2n, reason: "contract" };
const LIMIT = { ...OF_POOL, permits: 50 };

describe("`rowlock limit --pool`", () => {
  /** Answers with this, and keeps what was asked. */
  function setting(answer: object) {
    const asked: SetLimitRequest[] = [];
    const script: Script = {
      setLimit(request) {
        asked.push(request as SetLimitRequest);
        return { version: 7n, heldPermits: 12n, waiterCount: 3n, ...answer };
      },
    };
    const ran = (...args: string[]) => ranOver(script, "limit", "--pool", "openai/*", ...args);
    return { asked, ran };
  }
  const line = (words: string) => ({ code: 0, out: `openai/* (pool): ${words}\n`, err: "" });

  test("sets the limit and the rate of all names together", async () => {
    const { asked, ran } = setting({ limit: 50, rate: RATE });
    const flags = ["--rate", "500/1m", "--burst", "20", "--reason", "contract", "--if-version", "6"];
    expect(await ran("50", ...flags)).toEqual(
      line("limit 50, rate 500/1m, burst 20 (version 7); 12 of 50 taken, 3 wait"),
    );
    expect(asked).toMatchObject([
      {
        target: { case: "pool", value: "openai/*" },
        newLimit: { case: "limit", value: 50 },
        newRate: { case: "rate", value: { permits: 500, burst: 20 } },
        ...{ reason: "contract", expectedVersion: 6n },
      },
    ]);
  });

  test("says when it drains, is new, has no limit or is removed", async () => {
    expect(await setting({ limit: 5, draining: true, counting: true, waiterCount: 1n }).ran("5")).toEqual(
      line("limit 5 (version 7); 12 of 5 taken, 1 waits, drains, earlier holders are still counted"),
    );
    expect(await setting({ noLimit: true, rate: RATE }).ran("--unset")).toEqual(
      line("no limit, rate 500/1m, burst 20 (version 7); 12 taken, 3 wait"),
    );
    const removed = setting({ noLimit: true, heldPermits: 0n, waiterCount: 0n, serversBehind: 2 });
    const { out, err } = await removed.ran("--unset", "--unset-rate");
    expect(out).toBe(line("is no pool any more (version 7); 0 taken").out);
    expect(err).toMatch(/^rowlock: .*2 servers have not confirmed it/);
  });

  test.each<[string[], RegExp]>([
    [["--pool", "a*", "--pattern", "a*", "5"], /name one/],
    [["--pool", "a*", "a/b", "5"], /name a lock, a --pattern or a --pool, not both/],
    [["a*", "5"], /use --pattern 'a\*', or --pool for all of them together/],
  ])("that is wrong is told: %j", async (args, words) => {
    const { code, err } = await ranInProcess(["limit", ...args, "--addr", "127.0.0.1:9"]);
    expect(code).toBe(64);
    expect(err).toMatch(words);
  });

  const limits = [
    { target: { case: "pattern", value: "openai/*" }, limit: 4, version: 1n },
    { target: { case: "pool", value: "openai/*" }, limit: 50, rate: RATE, use: USE, version: 2n },
    {
      target: { case: "pool", value: "openai/acme/*" },
      ...{ limit: 5, use: { ...USE, heldPermits: 6n, draining: true, counting: true }, version: 3n },
    },
  ];

  test("is listed beside the others with what is used of it, and alone", async () => {
    const script = { listLimits: () => ({ limits }) } as unknown as Script;
    const [title, pattern, pool, narrow] = (await ranOver(script, "limit")).out.split("\n");
    expect(title).toMatch(/^NAME or PATTERN +LIMIT +RATE +USED +VERSION/);
    expect(pattern).toMatch(/^openai\/\* {2,}4 {2,}1$/);
    expect(pool).toMatch(/^openai\/\* \(pool\) +50 +500\/1m, burst 20 +12 of 50 taken, 3 wait +2$/);
    expect(narrow).toMatch(/6 of 5 taken, 3 wait, drains, earlier holders are still counted +3$/);
    const alone = (await ranOver(script, "limit", "--pool", "openai/*", "--json")).out.trim().split("\n");
    expect(alone.map((each) => JSON.parse(each))).toMatchObject([
      { pool: "openai/*", limit: 50, use: { heldPermits: 12, waiterCount: 3, available: 7 } },
    ]);
    expect((await ranOver(script, "limit", "--pool", "mail/*")).out).toBe("There is no such pool.\n");
  });
});

test("`rowlock show` has the pools over a lock, and at which one each waiter waits", async () => {
  const waiter = (ticketNumber: bigint, more: object = {}) => ({
    ...{ lockName: "openai/a", ticketNumber, state: ClaimState.WAITING, permits: 1, mode: Mode.PERMIT },
    ...more,
  });
  const lock = {
    ...{ name: "openai/a", limit: { permits: 1, source: LimitSource.DEFAULT }, waiterCount: 3 },
    waiters: [waiter(1n, { pool: "openai/*" }), waiter(2n), waiter(3n)],
    pools: [
      { pattern: "openai/a*", limit: { ...LIMIT, permits: 0, pattern: "openai/a*", reason: "" }, use: {} },
      { pattern: "openai/*", limit: LIMIT, rate: { ...OF_POOL, rate: RATE, available: 7 }, use: USE },
      { pattern: "*", rate: { ...OF_POOL, pattern: "*", rate: RATE, available: 7 }, use: USE },
    ],
  };
  const { out } = await ranOver({ getLock: () => ({ lock }) } as unknown as Script, "show", "openai/a");
  expect(out).toContain(
    [
      "pools       openai/a*: 0 of 0 taken (version 2)",
      "            openai/*: 12 of 50 taken, 3 wait; rate 500/1m, burst 20, 7 available (version 2, contract)",
      "            *: 12 taken, 3 wait; rate 500/1m, burst 20, 7 available (version 2, contract)",
    ].join("\n"),
  );
  expect(out).toMatch(/#1 .* at the pool openai\/\*\n#2 .* for 1 permit, 0 free\n#3 .* behind #2\n/);
});

test.each<[string, object, string]>([
  [
    "no room",
    { reason: RefusalReason.BUSY, limit: LIMIT },
    "the pool openai/* with its limit of 50 (contract) has no room now",
  ],
  [
    "a hidden pattern",
    { reason: RefusalReason.BUSY, limit: { ...LIMIT, pattern: "", reason: "" } },
    "a pool with its limit of 50 has no room now",
  ],
  [
    "a limit of 0",
    { reason: RefusalReason.PAUSED, limit: { ...LIMIT, permits: 0 } },
    "is paused by the pool openai/* (contract)",
  ],
  [
    "its rate",
    { reason: RefusalReason.RATE, rate: { ...OF_POOL, rate: RATE }, retryAfter: durationFromMs(3_000) },
    "the pool openai/* has been granted as often as its rate of 500/1m, burst 20 allows: try again in 3 s",
  ],
  [
    "too many permits",
    { reason: RefusalReason.NEVER_FITS, limit: LIMIT },
    "is under the pool openai/*, which has a limit of 50",
  ],
  [
    "a burst that is too small",
    { reason: RefusalReason.NEVER_FITS, rate: { ...OF_POOL, rate: RATE } },
    "is under the pool openai/*, which has a rate of 500/1m, burst 20",
  ],
])("a request that a pool refuses for %s names it", async (_, value, words) => {
  const script = { acquire: () => ({ outcome: { case: "refusal", value } }) } as unknown as Script;
  const { code, err } = await ranOver(script, "spend", "openai/a", "--no-wait");
  expect(code).toBe(75);
  expect(err).toContain(words);
});
