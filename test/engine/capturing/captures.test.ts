// One try at a capture: what it takes, what it gives back that nobody can be told of, and where the next one goes on.

import { describe, expect, test } from "vitest";
import { type Claim, captureRequestId } from "../../../server/core/claim.ts";
import type { Acquire, OutcomeOf } from "../../../server/core/command.ts";
import { Captures, type CaptureTry } from "../../../server/engine/capturing/captures.ts";
import { CAPTURE_TRIED_MAX, CAPTURES_AT_ONCE_MAX } from "../../../server/engine/engine-bounds.ts";
import { Fault } from "../../../server/engine/faults.ts";
import type { CaptureCaller, CaptureInput } from "../../../server/engine/lock-engine.ts";
import { freePage } from "../../../server/storage/rows/free-page.ts";
import { ROW_LOCKED } from "../../../server/storage/store.ts";
import { CLAIM } from "../../support/claims.ts";

const LIMIT = { limit: 1, source: "default", pattern: "", version: 0n, reason: "" } as const;
const BUSY: OutcomeOf<"acquire"> = { kind: "refused", reason: "busy", limit: LIMIT };
const fault = (reason: string, outcomeUnknown: boolean) =>
  new Fault("unavailable", reason, "away", { retryAfterMs: 1, outcomeUnknown });
const UNKNOWN = fault("connection_lost", true);

/** What becomes of an Acquire of a lock; granted unless told otherwise. */
type Answers = (name: string, command: Acquire) => OutcomeOf<"acquire"> | Error | null;

function scene(locks: number, answers: Answers = () => ({ kind: "held", claim: CLAIM })) {
  const tried: string[] = [];
  const withdrawn: string[] = [];
  const earlier: Claim[] = [];
  const confirms = { untilFree: Promise.resolve() };
  let secrets = 0;
  const all = Array.from({ length: locks }, (_, index) => ({
    id: BigInt(index + 1),
    name: `t/${10_000 + index}`,
    dueAtUs: index,
    limit: null,
  }));
  const captures = new Captures({
    store: {
      recordGroups: async () => ({ groups: [{ folder: "t/", status: "" }], isLast: true }),
      freeLocks: async (_groups, after, _wanted, entries) => {
        const read = all.filter(({ dueAtUs }) => !after || dueAtUs > after.dueAtUs).slice(0, entries);
        return freePage([{ locks: read, end: read.length === entries ? (read.at(-1) ?? null) : null }]);
      },
      nextDueIn: async () => 7_000,
      namedLocks: async () => ({ nowUs: 0, locks: [] }),
      limitRules: async () => [],
      claimsByRequest: async () => ({ nowUs: 0, claims: earlier }),
    },
    acquire: async ({ name }, command) => {
      tried.push(name);
      const outcome = answers(name, command);
      if (outcome instanceof Error) throw outcome;
      return outcome && { outcome, nowUs: 0, lockId: 1n, lockName: name };
    },
    confirm: async () => {
      await confirms.untilFree;
      return { outcome: { kind: "held", claim: CLAIM }, nowUs: 0, lockId: 1n, lockName: "t/earlier" };
    },
    withdraw: ({ name }) => withdrawn.push(name),
    newSecret: () => `secret ${++secrets}`,
    observer: () => {},
  });
  const input: CaptureInput = {
    target: { kind: "prefix", prefix: "t/" },
    max: 1,
    ttlUs: 1,
    owner: "",
    labels: {},
    requestId: "",
    terms: null,
  };
  const capture = (asked: Partial<CaptureInput> = {}, how: Partial<CaptureTry> = {}) =>
    captures.capture({
      input: { ...input, ...asked },
      afterWait: false,
      caller: undefined,
      isOver: () => false,
      ...how,
    });
  return { capture, tried, withdrawn, earlier, confirms };
}

const caller = (gone: Partial<CaptureCaller>): CaptureCaller => ({
  getPeer: () => "1.2.3.4:5",
  cancelled: true,
  ...gone,
});

describe("a capture", () => {
  test("goes on behind what it is refused, what is gone, and what another transaction holds", async () => {
    const answers = [BUSY, null, fault(ROW_LOCKED, false), { kind: "held", claim: CLAIM } as const];
    const { capture, tried } = scene(9, () => answers.shift() as (typeof answers)[number]);
    const { leases } = await capture();
    expect(leases.map(({ lockName }) => lockName)).toEqual(["t/10003"]);
    expect(tried).toHaveLength(4);
  });

  test("takes no more than it is asked for, each under an id of its own", async () => {
    const ids: string[] = [];
    const { capture } = scene(9, (_, { requestId }) => {
      ids.push(requestId);
      return { kind: "held", claim: CLAIM };
    });
    expect((await capture({ max: 3, requestId: "r" })).leases).toHaveLength(3);
    expect(ids).toEqual([0, 1, 2].map((index) => captureRequestId("r", index)));
  });

  test("that finds nothing says when the next one is due", async () => {
    const { capture } = scene(0);
    expect(await capture()).toEqual({ leases: [], retryAfterUs: 7_000 });
  });

  test("begins nothing more once nobody wants it, and answers with what it has", async () => {
    let isOver = false;
    const { capture, tried } = scene(9, (name) => {
      isOver = true;
      return name === "t/10000" ? { kind: "held", claim: CLAIM } : BUSY;
    });
    const { leases } = await capture({ max: 2 }, { isOver: () => isOver });
    expect(leases).toHaveLength(1);
    expect(tried).toHaveLength(2);
    expect((await capture({}, { isOver: () => true })).leases).toEqual([]);
    expect(tried).toHaveLength(2);
  });

  test("that is cut short says so, and the next one of the same line goes on from there", async () => {
    const { capture, tried } = scene(CAPTURE_TRIED_MAX + 5, (name) =>
      name === `t/${10_000 + CAPTURE_TRIED_MAX + 2}` ? { kind: "held", claim: CLAIM } : BUSY,
    );
    expect(await capture()).toEqual({ leases: [], retryAfterUs: 0, isCutShort: true });
    expect(tried).toHaveLength(CAPTURE_TRIED_MAX);
    expect((await capture()).leases).toHaveLength(1);
    expect(tried).toHaveLength(CAPTURE_TRIED_MAX + 3);
  });

  test("that fails by a bug leaves all that it was taking to others", async () => {
    let isBroken = true;
    const { capture } = scene(2, () => (isBroken ? new Error("a bug") : { kind: "held", claim: CLAIM }));
    await expect(capture({ max: 2 })).rejects.toThrow("a bug");
    isBroken = false;
    expect((await capture({ max: 2 })).leases).toHaveLength(2);
  });
});

describe("a capture that does not know what it has taken", () => {
  test.each([
    ["withdraws it where nobody can ask again", "", undefined, true],
    ["withdraws it where its client has given it up", "r", caller({ isGivenUp: true }), true],
    ["leaves it where its client may ask again", "r", caller({}), false],
  ])("%s", async (_, requestId, asker, isWithdrawn) => {
    const { capture, withdrawn } = scene(1, () => UNKNOWN);
    await expect(capture({ requestId }, { caller: asker })).rejects.toBe(UNKNOWN);
    expect(withdrawn).toEqual(isWithdrawn ? ["t/10000"] : []);
  });

  test("of one lock and has another answers with that, and withdraws the first", async () => {
    const { capture, withdrawn } = scene(2, (name) =>
      name === "t/10000" ? UNKNOWN : { kind: "held", claim: CLAIM },
    );
    expect((await capture({ max: 2, requestId: "r" })).leases).toHaveLength(1);
    expect(withdrawn).toEqual(["t/10000"]);
  });
});

describe("a capture that was answered before", () => {
  test("has what is still held of its leases, and tries no lock", async () => {
    const { capture, tried, earlier } = scene(3);
    const requestId = captureRequestId("r", 0);
    earlier.push({ ...CLAIM, requestId }, { ...CLAIM, requestId: captureRequestId("r", 1), state: "ended" });
    const again = await capture({ max: 2, requestId: "r" });
    expect(again.leases.map(({ lockName }) => lockName)).toEqual(["t/earlier"]);
    expect(again.isRepeated).toBe(true);
    expect(tried).toEqual([]);
  });

  test("and whose leases are held up keeps nobody else from a turn", async () => {
    const { capture, earlier, confirms } = scene(1);
    const { promise, resolve } = Promise.withResolvers<void>();
    confirms.untilFree = promise;
    earlier.push({ ...CLAIM, requestId: captureRequestId("r", 0) });
    const heldUp = Array.from({ length: CAPTURES_AT_ONCE_MAX }, () => capture({ requestId: "r" }));
    expect((await capture()).leases).toHaveLength(1);
    resolve();
    for (const { leases } of await Promise.all(heldUp)) expect(leases).toHaveLength(1);
  });

  test("has none when all have ended, and tries no lock", async () => {
    const { capture, tried, earlier } = scene(3);
    earlier.push({ ...CLAIM, requestId: captureRequestId("r", 0), state: "ended" });
    expect(await capture({ requestId: "r" })).toEqual({ leases: [], retryAfterUs: null, isRepeated: true });
    expect(tried).toEqual([]);
  });
});
