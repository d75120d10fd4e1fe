// One attempt at a capture: what it takes, which leases it gives back because no client can receive them, and where the
// next attempt continues.

import { describe, expect, test } from "vitest";
import { CAPTURE_MAX } from "../../../server/core/bounds.ts";
import { type Claim, keptRequestId } from "../../../server/core/claim.ts";
import type { Acquire, Caller, OutcomeOf, Renew } from "../../../server/core/command.ts";
import type { LimitRule } from "../../../server/core/limit.ts";
import type { CaptureEvent, CaptureInput } from "../../../server/engine/answers.ts";
import { Captures, type CaptureTry } from "../../../server/engine/capturing/captures.ts";
import { CAPTURE_TRIED_MAX, CAPTURES_AT_ONCE_MAX } from "../../../server/engine/engine-bounds.ts";
import { ClientGone, Fault } from "../../../server/engine/faults.ts";
import type { Commands } from "../../../server/engine/transaction/commands.ts";
import { findFree } from "../../../server/storage/rows/free-locks.ts";
import { type FreeSelector, ROW_LOCKED, StoreError } from "../../../server/storage/store.ts";
import { CLAIM } from "../../support/claims.ts";
import { FreeIndex } from "../../support/free-index.ts";

const LIMIT = { limit: 1, source: "default", pattern: "", version: 0n, reason: "" } as const;
const turn = () => new Promise(setImmediate);
/** Resolves after everything that does not wait for the test has gone on. */
const settled = async () => {
  for (let turns = 0; turns < 20; turns++) await turn();
};

const HELD: OutcomeOf<"acquire"> = { kind: "held", claim: CLAIM };
const BUSY: OutcomeOf<"acquire"> = { kind: "refused", reason: "busy", limit: LIMIT };
const fault = (reason: string, outcomeUnknown: boolean) =>
  new Fault("unavailable", reason, "away", { retryAfterMs: 1, outcomeUnknown });
const UNKNOWN = fault("connection_lost", true);

const pausedIn = (selector: FreeSelector | undefined) =>
  selector?.kind === "prefix" ? selector.paused : undefined;

/** The outcome of an Acquire of a lock; granted by default. */
type Answers = (name: string, command: Acquire) => OutcomeOf<"acquire"> | Error | null;

function scene(locks: number, answers: Answers = () => HELD) {
  const tried: string[] = [];
  const commands: Acquire[] = [];
  const withdrawn: string[] = [];
  const events: CaptureEvent[] = [];
  const rules: LimitRule[] = [];
  const wanted: FreeSelector[] = [];
  const earlier: Claim[] = [];
  const requestIds: (readonly string[])[] = [];
  const confirms = { untilFree: Promise.resolve(), ended: new Set<string>() };
  const times = { rulesRead: 0, dueAsked: 0 };
  const reads = { atOnce: 0, atOnceMax: 0, begun: 0, fails: false, untilFree: Promise.resolve() };
  const grants = { untilFree: Promise.resolve() };
  let secrets = 0;
  const all = Array.from({ length: locks }, (_, index) => ({
    id: BigInt(index + 1),
    name: `t/${10_000 + index}`,
    freeSinceUs: index,
    limit: null,
  }));
  const captures = new Captures({
    store: {
      freeLocks: async (selector, at, atMost) => {
        wanted.push(selector);
        reads.atOnceMax = Math.max(reads.atOnceMax, ++reads.atOnce);
        reads.begun += 1;
        await turn();
        await reads.untilFree;
        reads.atOnce -= 1;
        if (reads.fails) throw new StoreError("unavailable", "connection_lost", "A fault made by a test.");
        if (selector.kind === "names") return findFree(new FreeIndex(), selector, at, atMost);
        const read = all
          .filter(({ freeSinceUs }) => !at.after || freeSinceUs > at.after.freeSinceUs)
          .slice(0, atMost);
        const next = read.length === atMost ? { ...at, after: read.at(-1) ?? null } : null;
        if (read.length === 0) times.dueAsked += 1;
        return { locks: read, at, next, nextInUs: read.length === 0 ? 7_000 : null };
      },
      limitRules: async () => {
        times.rulesRead += 1;
        return rules;
      },
      claimsByRequest: async (ids) => {
        requestIds.push(ids);
        return { nowUs: 0, claims: earlier };
      },
    },
    commands: {
      async oneOf(_id: bigint | null, command: Acquire) {
        const { name } = command;
        tried.push(name);
        commands.push(command);
        await grants.untilFree;
        const outcome = answers(name, command);
        if (outcome instanceof Error) throw outcome;
        // What the test calls CLAIM is the command's own.
        const isOwn = outcome?.kind === "held" && outcome.claim === CLAIM;
        const own = isOwn ? { ...outcome, claim: { ...CLAIM, secret: command.secret } } : outcome;
        return own && { outcome: own, nowUs: 0, lockId: 1n, lockName: name };
      },
      async byRef({ ref: { ticketNumber } }: Renew) {
        await confirms.untilFree;
        const lockName = ticketNumber === CLAIM.ticketNumber ? "t/earlier" : `t/earlier-${ticketNumber}`;
        const kind = confirms.ended.has(lockName) ? "ended" : "held";
        return { outcome: { kind, claim: CLAIM }, nowUs: 0, lockId: 1n, lockName };
      },
      withdraw: (_id: bigint | null, { name }: Acquire) => void withdrawn.push(name),
    } as unknown as Commands,
    newSecret: () => `secret ${++secrets}`,
    observer: (event) => void events.push(event),
  });
  const input: CaptureInput = {
    ...{ target: { kind: "prefix", prefix: "t/" }, max: 1, ttlUs: 1, owner: "", labels: {} },
    ...{ requestId: "", terms: null },
  };
  const usual = { afterWait: false, caller: undefined, isOver: () => false };
  const capture = (asked: Partial<CaptureInput> = {}, how: Partial<CaptureTry> = {}) =>
    captures.capture({ input: { ...input, ...asked }, ...usual, ...how });
  const seen = { tried, commands, withdrawn, events, wanted, requestIds };
  return { capture, ...seen, rules, earlier, confirms, times, reads, grants };
}

const cancelled = (isGivenUp: boolean): Caller => ({
  getPeer: () => "1.2.3.4:5",
  signal: AbortSignal.abort(new ClientGone(isGivenUp)),
});

describe("a capture", () => {
  test("that is cut short reports it, and the next one of the same line goes on from there", async () => {
    const { capture, tried } = scene(CAPTURE_TRIED_MAX + 5, (name) =>
      name === `t/${10_000 + CAPTURE_TRIED_MAX + 2}` ? HELD : BUSY,
    );
    expect(await capture()).toEqual({ leases: [], retryAfterUs: 0, isCutShort: true });
    expect(tried).toHaveLength(CAPTURE_TRIED_MAX);
    expect((await capture()).leases).toHaveLength(1);
    expect(tried).toHaveLength(CAPTURE_TRIED_MAX + 3);
  });

  test("that gets leases requests nothing more, and its answer has no time", async () => {
    const { capture, times, tried } = scene(3);
    const captured = await capture({ max: 2 });
    expect(captured.leases).toHaveLength(2);
    expect(captured).toEqual({ leases: captured.leases, retryAfterUs: null });
    const some = await capture({ max: 5 });
    expect(some).toEqual({ leases: some.leases, retryAfterUs: null });
    expect(tried).toHaveLength(5);
    expect(times).toEqual({ rulesRead: 0, dueAsked: 0 });
  });

  test("begins at the first lock once a previous one from the middle has come around", async () => {
    let isBusy = true;
    const { capture, tried } = scene(CAPTURE_TRIED_MAX + 5, () => (isBusy ? BUSY : HELD));
    expect(await capture()).toMatchObject({ isCutShort: true });
    isBusy = false;
    tried.splice(0);
    expect((await capture({ max: 8 })).leases).toHaveLength(8);
    expect(tried[0]).toBe(`t/${10_000 + CAPTURE_TRIED_MAX}`);
    expect(tried[5]).toBe("t/10000");
    tried.splice(0);
    await capture({ max: 2 });
    expect(tried).toEqual(["t/10000", "t/10001"]);
  });

  test("that fails with a bug leaves all that it was taking to others", async () => {
    let isBroken = true;
    const { capture } = scene(2, () => (isBroken ? new Error("a bug") : HELD));
    await expect(capture({ max: 2 })).rejects.toThrow("a bug");
    isBroken = false;
    expect((await capture({ max: 2 })).leases).toHaveLength(2);
  });
});

test("what a capture requests of a lock has the first ids that brought no lease, so that it takes no more than requested", async () => {
  const answers = [BUSY, HELD, null, HELD, BUSY, HELD];
  const { capture, commands } = scene(9, () => answers.shift() as (typeof answers)[number]);
  expect((await capture({ max: 3, requestId: "r" })).leases).toHaveLength(3);
  const ids = commands.map(({ requestId }) => requestId);
  expect(ids).toEqual([0, 1, 2, 0, 2, 2].map((index) => keptRequestId("", "r", index)));
});

describe("a capture that is refused", () => {
  const refused = (reason: "paused" | "failed_over" | "not_before" | "never_fits", forUs?: number) =>
    ({ kind: "refused", reason, limit: LIMIT, ...(forUs === undefined ? {} : { forUs }) }) as const;

  test("by a pattern skips the pattern's names from then on, as does the next one", async () => {
    const { capture, rules, wanted } = scene(3, (name) => (name === "t/10000" ? refused("paused") : HELD));
    rules.push({
      prefix: "t/1",
      limit: 0,
      rate: null,
      queueRules: null,
      version: 1n,
      reason: "",
      changeMark: 0n,
    });
    await capture();
    await capture();
    const paused = [{ prefix: "t/1", except: [] }];
    expect(wanted.map(pausedIn)).toEqual([[], ...wanted.slice(1).map(() => paused)]);
    rules.splice(0);
    await capture();
    await capture();
    expect(pausedIn(wanted.at(-1))).toEqual([]);
  });

  test("after a fail-over has paused grants tries nothing more, and reports no more candidates", async () => {
    const { capture, tried } = scene(9, () => refused("failed_over", 5_000));
    expect(await capture()).toEqual({ leases: [], retryAfterUs: 5_000 });
    expect(tried).toHaveLength(1);
  });

  test("reports how many refusals it got, and whether it has all, some or none of its leases", async () => {
    const { capture, events } = scene(3, (name) => (name === "t/10001" ? BUSY : HELD));
    await capture({ max: 2 });
    await capture({ max: 3 });
    const none = scene(2, () => null);
    await none.capture({ max: 3 });
    expect([...events, ...none.events]).toEqual([
      { kind: "captured", outcome: "all", refused: 1 },
      { kind: "captured", outcome: "some", refused: 1 },
      { kind: "captured", outcome: "none", refused: 2 },
    ]);
  });
});

describe("captures of the same locks at the same time", () => {
  test("look one after the other, and skip what the others are taking", async () => {
    const { capture, tried, reads, grants } = scene(3);
    const { promise, resolve } = Promise.withResolvers<void>();
    grants.untilFree = promise;
    const captures = [capture(), capture(), capture()];
    await settled();
    expect(tried).toEqual(["t/10000", "t/10001", "t/10002"]);
    expect(reads.atOnceMax).toBe(1);
    resolve();
    for (const { leases } of await Promise.all(captures)) expect(leases).toHaveLength(1);
  });

  test("are not stopped by one whose read fails, or whose caller has left", async () => {
    const { capture, reads } = scene(3);
    const { promise, reject } = Promise.withResolvers<void>();
    reads.untilFree = promise;
    let isOver = false;
    const leaves = { isOver: () => isOver, caller: cancelled(true) };
    const [first, second, third] = [capture(), capture({}, leaves), capture()];
    const failed = first.catch((error: unknown) => error);
    await settled();
    isOver = true;
    reads.untilFree = Promise.resolve();
    reject(new StoreError("unavailable", "connection_lost", "A fault made by a test."));
    expect(await failed).toMatchObject({ kind: "unavailable", reason: "connection_lost" });
    expect(await second).toEqual({ leases: [], retryAfterUs: null, isUnheard: true });
    expect((await third).leases).toHaveLength(1);
    expect(reads.begun).toBe(2);
  });
});

describe("a capture with an unknown outcome", () => {
  const heldUp = fault(ROW_LOCKED, true);
  test.each([
    ["withdraws it where nobody can ask again", UNKNOWN, "", undefined, true],
    ["withdraws it so, too, where its rows are still locked", heldUp, "", undefined, true],
    ["withdraws it where its client has given it up", UNKNOWN, "r", cancelled(true), true],
    ["leaves it where its client may ask again", UNKNOWN, "r", cancelled(false), false],
    ["leaves it so, too, where its rows are still locked", heldUp, "r", undefined, false],
  ])("%s", async (_, inDoubt, requestId, asker, isWithdrawn) => {
    const { capture, withdrawn } = scene(1, () => inDoubt);
    await expect(capture({ requestId }, { caller: asker })).rejects.toBe(inDoubt);
    expect(withdrawn).toEqual(isWithdrawn ? ["t/10000"] : []);
  });

  test.each([
    ["tells nothing of another one to a client that may ask again", "r"],
    ["answers with another one if nobody can ask again, and withdraws the first", ""],
  ])("of one lock %s", async (_, requestId) => {
    const { capture, withdrawn } = scene(2, (name) => (name === "t/10000" ? UNKNOWN : HELD));
    const captured = capture({ max: 2, requestId });
    if (requestId) await expect(captured).rejects.toBe(UNKNOWN);
    else expect((await captured).leases).toHaveLength(1);
    expect(withdrawn).toEqual(requestId ? [] : ["t/10000"]);
  });
});

test("a capture that fails at one lock begins no others, and returns what it has", async () => {
  const away = fault("connection_lost", false);
  const answers = [HELD, away, HELD];
  const { capture, tried, withdrawn } = scene(9, () => answers.shift() as (typeof answers)[number]);
  expect((await capture({ max: 3 })).leases).toHaveLength(2);
  expect(tried).toHaveLength(3);
  expect(withdrawn).toEqual([]);
});

describe("a capture whose request another attempt has answered meanwhile", () => {
  const REPEATED: OutcomeOf<"acquire"> = { kind: "waiting", claim: CLAIM, place: null };

  test("returns all that the request has, and requests nothing more", async () => {
    const { capture, tried, earlier } = scene(9, (_name, { requestId }) => {
      if (requestId === keptRequestId("", "r", 0)) return HELD;
      earlier.push({ ...CLAIM, requestId: keptRequestId("", "r", 1) }, { ...CLAIM, requestId });
      return REPEATED;
    });
    const captured = await capture({ max: 2, requestId: "r" });
    expect(captured).toMatchObject({ isRepeated: true, leases: [{}, {}] });
    expect(tried).toHaveLength(2);
  });

  test("takes what that one got at the same lock for that one's", async () => {
    const { capture, earlier } = scene(1, (_name, { requestId }) => {
      const claim = { ...CLAIM, requestId, secret: "of the other attempt" };
      earlier.push(claim);
      return { kind: "held", claim };
    });
    expect(await capture({ requestId: "r" })).toMatchObject({ isRepeated: true, leases: [{}] });
  });

  test("at another server, which took what this one was refused, returns that and not nothing", async () => {
    const { capture, earlier, events } = scene(1, (_name, { requestId }) => {
      earlier.push({ ...CLAIM, requestId });
      return BUSY;
    });
    expect(await capture({ requestId: "r" })).toMatchObject({
      isRepeated: true,
      leases: [{ lockName: "t/earlier" }],
    });
    expect(events).toEqual([{ kind: "captured", outcome: "repeated", refused: 1 }]);
  });

  test("whose leases are forgotten returns its own", async () => {
    const { capture } = scene(9, (_name, { requestId }) =>
      requestId === keptRequestId("", "r", 0) ? HELD : REPEATED,
    );
    const captured = await capture({ max: 2, requestId: "r" });
    expect(captured).toMatchObject({ isRepeated: true, leases: [{ lockName: "t/10000" }] });
  });
});

describe("a capture that is repeated", () => {
  test("returns its leases in the order of their grants, without lost ones, and counts as repeated", async () => {
    const { capture, earlier, events, confirms, requestIds } = scene(3);
    for (const index of [2, 10, 0, 1])
      earlier.push({ ...CLAIM, ticketNumber: BigInt(100 + index), requestId: keptRequestId("", "r", index) });
    confirms.ended.add("t/earlier-101");
    const { leases } = await capture({ max: 2, requestId: "r" });
    expect(leases.map(({ lockName }) => lockName)).toEqual([
      "t/earlier-100",
      "t/earlier-102",
      "t/earlier-110",
    ]);
    expect(events).toEqual([{ kind: "captured", outcome: "repeated", refused: 0 }]);
    // Looks for every possible id, because the first request may have asked for more.
    expect(requestIds).toEqual([
      Array.from({ length: CAPTURE_MAX }, (_, index) => keptRequestId("", "r", index)),
    ]);
  });

  test("keeps no other capture from a turn if its leases are held up", async () => {
    const { capture, earlier, confirms } = scene(1);
    const { promise, resolve } = Promise.withResolvers<void>();
    confirms.untilFree = promise;
    earlier.push({ ...CLAIM, requestId: keptRequestId("", "r", 0) });
    const heldUp = Array.from({ length: CAPTURES_AT_ONCE_MAX }, () => capture({ requestId: "r" }));
    expect((await capture()).leases).toHaveLength(1);
    resolve();
    for (const { leases } of await Promise.all(heldUp)) expect(leases).toHaveLength(1);
  });
});

describe("nothing is lost", () => {
  const REPEATED: OutcomeOf<"acquire"> = { kind: "request_id_reused" };

  test.each([
    ["says that it is in doubt", undefined, []],
    ["withdraws what is in doubt, if it is given up", cancelled(true), ["t/10001"]],
  ])(
    "in doubt about one lock, while another server took one under another id: %s",
    async (_, asker, lost) => {
      const { capture, earlier, withdrawn } = scene(2, (_name, { requestId }) => {
        if (requestId === keptRequestId("", "r", 1)) return UNKNOWN;
        earlier.push({ ...CLAIM, requestId });
        return REPEATED;
      });
      await expect(capture({ max: 2, requestId: "r" }, { caller: asker })).rejects.toBe(UNKNOWN);
      expect(withdrawn).toEqual(lost);
    },
  );

  test("given up beside another attempt: returns its own leases, to be given back", async () => {
    const { capture, earlier } = scene(2, (_name, { requestId, secret }) => {
      // The other attempt has t/10000.
      if (requestId === keptRequestId("", "r", 0)) {
        earlier.push({ ...CLAIM, requestId });
        return REPEATED;
      }
      earlier.push({ ...CLAIM, ticketNumber: 99n, requestId, secret });
      return HELD;
    });
    const captured = await capture({ max: 2, requestId: "r" }, { caller: cancelled(true) });
    expect(captured.isRepeated ?? false).toBe(false);
    expect(captured.leases.map(({ lockName }) => lockName)).toEqual(["t/10001"]);
  });
});
