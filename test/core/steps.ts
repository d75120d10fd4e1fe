// Random histories for the property tests: what clients, operators and time do to a few locks. A step names claims by a
// number that is resolved against the claims present when the step runs, so a shrunk history still makes sense.

import fc from "fast-check";
import type { Mode, Terms } from "../../server/core/claim.ts";
import type { RunResult } from "../../server/core/lock.ts";
import type { QueueRules } from "../../server/core/queue-rules.ts";
import type { Rate } from "../../server/core/rate.ts";

/** Short enough that all of them run out within one history. */
export const SETTINGS = {
  graceUs: 10_000_000,
  attachedForUs: 15_000_000,
  keptForUs: (name: string) => (name === "etl/a" ? 60_000_000 : 90_000_000),
  queueMax: 5,
};

export const LOCKS = ["etl/a", "etl/b"] as const;
/** A lock whose name was used before starts at a token floor. */
export const TOKEN_FLOORS = new Map<string, bigint>([
  ["etl/a", 0n],
  ["etl/b", 2n ** 53n],
]);

/**
 * How time moves before a step: on its own, exactly to a claim's deadline, on the database's clock alone, while a
 * replica cannot reach the database, or during a fail-over, after which nothing is granted for the same time.
 */
export type Pause =
  | { readonly to: "later" | "jump" | "fail_over"; readonly us: number }
  | { readonly to: "back"; readonly us: number; readonly replica: bigint }
  | { readonly to: "deadline"; readonly nth: number; readonly offsetUs: number };

interface Pick {
  /** The claim's index, modulo the number of candidates. */
  readonly nth: number;
  readonly among: "live" | "all";
  readonly wrongSecret: boolean;
}

export type Ask =
  | {
      readonly ask: "acquire";
      readonly mode: Mode;
      readonly permits: number;
      readonly ttlUs: number | null;
      /** Only takes of the rate, so that the time to live means nothing. */
      readonly spends: boolean;
      /** Who asks. A guest may end no wait of others. */
      readonly by: "" | "ann" | "guest";
      readonly mayWait: boolean;
      readonly maxWaitUs: number | null;
      readonly replica: bigint | null;
      readonly headStartUs: number;
      readonly terms: Terms | null;
      /** The same call twice in one transaction, as an impatient client sends it. */
      readonly twice: boolean;
    }
  /** An Acquire with a request id that was sent before. */
  | {
      readonly ask: "acquire_again";
      readonly pick: Pick;
      readonly replica: bigint | null;
      /** May be for another lock than the first time. */
      readonly elsewhere: boolean;
      /** May differ from the first request. */
      readonly changed: boolean;
      /** A spend where the first request wanted a lease, and the other way round. */
      readonly otherKind: boolean;
    }
  | {
      readonly ask: "attach";
      readonly pick: Pick;
      readonly replica: bigint | null;
    }
  | { readonly ask: "detach"; readonly pick: Pick; readonly replica: bigint }
  | { readonly ask: "withdraw"; readonly pick: Pick; readonly ofAnother: boolean }
  | { readonly ask: "renew"; readonly pick: Pick; readonly ttlUs: number | undefined }
  | {
      readonly ask: "release";
      readonly pick: Pick;
      readonly result: RunResult | null;
      readonly failed: boolean;
      readonly repeated: boolean;
    }
  | {
      readonly ask: "update_record";
      /** An instant is relative to the time of the command. */
      readonly notBefore: { readonly atInUs: number } | { readonly inUs: number } | null | undefined;
      readonly attemptsLeft: number | null | undefined;
      readonly status: string | undefined;
      /** As for set_limit. */
      readonly expected: bigint | undefined;
    }
  | { readonly ask: "delete_record"; readonly expected: bigint | undefined }
  | {
      readonly ask: "set_limit";
      /** undefined: stays. */
      readonly limit: number | null | undefined;
      readonly rate: Rate | null | undefined;
      readonly queueRules: QueueRules | null | undefined;
      /** The version that the caller expects, relative to the current one; undefined: any. */
      readonly expected: bigint | undefined;
    }
  | { readonly ask: "force_release"; readonly pick: Pick | null }
  | { readonly ask: "advance" };

export type Step =
  | {
      readonly step: "transact";
      readonly pause: Pause;
      readonly lock: string;
      readonly replica: bigint;
      readonly heads: number;
      readonly unsureUs: number;
      readonly asks: readonly Ask[];
    }
  | {
      readonly step: "set_pattern";
      readonly pause: Pause;
      readonly prefix: string;
      readonly limit: number | null | undefined;
      readonly rate: Rate | null | undefined;
      readonly queueRules: QueueRules | null | undefined;
      readonly replica: bigint;
      readonly heads: number;
      readonly unsureUs: number;
    }
  | { readonly step: "heartbeat"; readonly pause: Pause; readonly replica: bigint }
  | { readonly step: "purge"; readonly pause: Pause };

export const REPLICAS = [1n, 2n] as const;

type Drawn<Of> = { [Name in keyof Of]: fc.Arbitrary<Of[Name]> };

/** Draws this so often among others. */
const often = <Value>(weight: number, arbitrary: fc.Arbitrary<Value>) => ({ weight, arbitrary });
/** One kind of a step, an ask or a pause, whose fields are drawn. */
const kind = <Key extends string, Kind extends string, Of>(key: Key, name: Kind, fields: Drawn<Of>) =>
  fc.record({ [key]: fc.constant(name), ...fields }) as fc.Arbitrary<{ [_ in Key]: Kind } & Of>;
const to = <To extends string, Of>(weight: number, where: To, fields: Drawn<Of>) =>
  often(weight, kind("to", where, fields));
const asks = <Verb extends string, Of>(weight: number, verb: Verb, fields: Drawn<Of>) =>
  often(weight, kind("ask", verb, fields));
const steps = <Name extends string, Of>(weight: number, name: Name, fields: Drawn<Of>) =>
  often(weight, kind("step", name, fields));

const later = (max: number) => ({ us: fc.integer({ min: 0, max }) });
const pause: fc.Arbitrary<Pause> = fc.oneof(
  to(1, "fail_over", { us: fc.constantFrom(0, 2_000_000, 20_000_000) }),
  to(1, "back", { us: fc.constantFrom(0, 20_000_000), replica: fc.constantFrom(...REPLICAS) }),
  to(16, "later", later(500_000)),
  to(4, "later", later(3_000_000)),
  to(2, "later", later(40_000_000)),
  to(1, "jump", { us: fc.constantFrom(150_000, 400_000, 1_000_000, 20_000_000, 3_600_000_000) }),
  to(4, "deadline", { nth: fc.nat(9), offsetUs: fc.constantFrom(-1, 0, 0, 1) }),
);

const pick: fc.Arbitrary<Pick> = fc.record({
  nth: fc.nat(29),
  among: fc.constantFrom("live", "live", "live", "all"),
  wrongSecret: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
});
const replica = fc.constantFrom(...REPLICAS);
const listener = fc.constantFrom(null, 1n, 1n, 2n);
const ttl = fc.constantFrom(1_000_000, 5_000_000, 12_000_000, 30_000_000);
const limit = fc.constantFrom(undefined, null, 0, 1, 2, 3, 4, 5, 6);
/** Seldom any, so that rates do not block everything else. The last one does not divide evenly. */
const rate = fc.constantFrom<Rate | null | undefined>(
  ...[undefined, undefined, null],
  { permits: 5, perUs: 1_000_000, burst: 5 },
  { permits: 2, perUs: 5_000_000, burst: 3 },
  { permits: 3, perUs: 10_000_000, burst: 1 },
);
const queueRules = fc.constantFrom<QueueRules | null | undefined>(
  ...[undefined, undefined, undefined, null],
  { waitingMax: 1, whenFull: "end_longest_waiting", shareBy: null, headStartMaxUs: 0 },
  { waitingMax: 3, whenFull: "end_longest_waiting", shareBy: null, headStartMaxUs: 0 },
  { waitingMax: 7, whenFull: "end_longest_waiting", shareBy: null, headStartMaxUs: 0 },
  { waitingMax: 2, whenFull: "refuse", shareBy: null, headStartMaxUs: 0 },
  { waitingMax: null, whenFull: "refuse", shareBy: "principal", headStartMaxUs: 0 },
  { waitingMax: 5, whenFull: "refuse", shareBy: "principal", headStartMaxUs: 0 },
  { waitingMax: 5, whenFull: "refuse", shareBy: null, headStartMaxUs: 10_000_000 },
  { waitingMax: null, whenFull: "refuse", shareBy: null, headStartMaxUs: 60_000_000 },
);
const seldom = fc.integer({ min: 0, max: 5 }).map((n) => n === 0);

const expected = fc.constantFrom(undefined, undefined, 0n, -1n, 1n);

const status = fc.constantFrom("", "failed", "done");
const interval = fc.constantFrom(null, 0, 2_000_000, 12_000_000);
/** Mostly none, so that records do not block everything else. */
const seldomSet = <Value>(arbitrary: fc.Arbitrary<Value>) =>
  fc.oneof(often(3, fc.constant(null)), often(1, arbitrary));
const terms: fc.Arbitrary<Terms | null> = seldomSet(
  fc.record(
    {
      minIntervalUs: interval,
      lockDelayUs: interval,
      statusIfLost: fc.option(status),
      ifStatus: fc.constantFrom<readonly string[]>([], [], [""], ["", "failed"], ["done"]),
      backoff: fc.constantFrom(
        { firstUs: 1_000_000, maxUs: 1_000_000 },
        { firstUs: 1_000_000, maxUs: 3_000_000 },
      ),
    },
    { requiredKeys: ["minIntervalUs", "lockDelayUs", "statusIfLost", "ifStatus"] },
  ),
);
const result: fc.Arbitrary<RunResult | null> = seldomSet(
  fc.record(
    {
      coolDownUs: fc.constantFrom(0, 2_000_000, 12_000_000),
      status,
      attemptsLeft: fc.constantFrom(0, 1, 3),
    },
    { requiredKeys: [] },
  ),
);
const notBefore = fc.oneof(
  fc.constantFrom(undefined, undefined, null),
  fc.record({ atInUs: fc.constantFrom(-3_000_000, 0, 1_000_000) }),
  fc.record({ inUs: fc.constantFrom(0, 2_000_000, 12_000_000) }),
);

const ask: fc.Arbitrary<Ask> = fc.oneof(
  asks(9, "acquire", {
    mode: fc.constantFrom<Mode>("permit", "permit", "shared", "exclusive"),
    permits: fc.constantFrom(1, 1, 1, 2, 3, 4, 5),
    ttlUs: fc.option(ttl, { freq: 5 }),
    spends: seldom,
    by: fc.constantFrom("", "", "", "ann", "guest"),
    mayWait: fc.constantFrom(true, true, true, false),
    maxWaitUs: fc.constantFrom(null, null, 1_000, 4_000_000, 12_000_000),
    replica: listener,
    headStartUs: fc.constantFrom(0, 0, 1_000, 2_000_000, 30_000_000),
    terms,
    twice: seldom,
  }),
  asks(2, "acquire_again", {
    pick,
    replica: listener,
    elsewhere: seldom,
    changed: seldom,
    otherKind: seldom,
  }),
  asks(4, "attach", { pick, replica: listener }),
  asks(1, "withdraw", { pick, ofAnother: fc.boolean() }),
  asks(2, "detach", { pick, replica }),
  asks(2, "renew", { pick, ttlUs: fc.option(ttl, { nil: undefined, freq: 2 }) }),
  asks(5, "release", { pick, result, failed: seldom, repeated: seldom }),
  asks(1, "update_record", {
    notBefore,
    attemptsLeft: fc.constantFrom(undefined, undefined, null, 0, 1, 3),
    status: fc.option(status, { nil: undefined }),
    expected,
  }),
  asks(1, "delete_record", { expected }),
  asks(2, "set_limit", { limit, rate, queueRules, expected }),
  asks(1, "force_release", { pick: fc.option(pick, { freq: 2 }) }),
  asks(1, "advance", {}),
);

const heads = fc.integer({ min: 1, max: 5 });
/** How far the clock may be behind the true time, at most; 0 if it was just read. */
const unsureUs = fc.constantFrom(0, 0, 0, 1, 50_000);

const step: fc.Arbitrary<Step> = fc.oneof(
  steps(16, "transact", {
    pause,
    lock: fc.constantFrom(LOCKS[0], LOCKS[0], LOCKS[1]),
    replica,
    heads,
    unsureUs,
    asks: fc.array(ask, { minLength: 1, maxLength: 5 }),
  }),
  steps(1, "set_pattern", {
    pause,
    prefix: fc.constantFrom("", "etl/", "etl/a", "other/"),
    limit,
    rate,
    queueRules,
    replica,
    heads,
    unsureUs,
  }),
  steps(2, "heartbeat", { pause, replica }),
  steps(1, "purge", { pause }),
);

const BY_ARRIVAL: QueueRules = { waitingMax: 1_000, whenFull: "refuse", shareBy: null, headStartMaxUs: 0 };

const askOfOneQueue = (rules: QueueRules) =>
  fc.oneof(
    asks(12, "acquire", {
      mode: fc.constantFrom<Mode>("permit", "permit", "permit", "shared"),
      permits: fc.constantFrom(1, 1, 1, 2),
      ttlUs: fc.option(ttl, { freq: 5 }),
      spends: fc.constant(false),
      by: fc.constantFrom("ann", "ann", "ann", "ann", "ann", "bob", "bob", "cid", "dan"),
      mayWait: fc.constant(true),
      maxWaitUs: fc.constantFrom(null, null, null, 4_000_000),
      replica: fc.constant(1n),
      headStartUs: fc.constantFrom(0, 0, 5_000, 20_000, 60_000_000),
      terms: fc.constant(null),
      twice: fc.constant(false),
    }),
    asks(1, "withdraw", { pick, ofAnother: fc.constant(false) }),
    asks(6, "release", {
      pick,
      result: fc.constant(null),
      failed: fc.constant(false),
      repeated: fc.constant(false),
    }),
    asks(1, "set_limit", {
      limit: fc.constantFrom(1, 2, 3, 5),
      rate: fc.constant(undefined),
      queueRules: fc.constantFrom<QueueRules | null | undefined>(
        undefined,
        undefined,
        null,
        rules,
        BY_ARRIVAL,
      ),
      expected: fc.constant(undefined),
    }),
  ) as fc.Arbitrary<Ask>;

/** Claims of Ann and others wait for one lock in the order of these rules, and decisions read little of its queue. */
function historyOfOneQueue(rules: QueueRules): fc.Arbitrary<Step[]> {
  const begin: Step = {
    step: "set_pattern",
    pause: { to: "later", us: 0 },
    prefix: "",
    limit: 2,
    rate: undefined,
    queueRules: rules,
    replica: 1n,
    heads: 1,
    unsureUs: 0,
  };
  const step: fc.Arbitrary<Step> = kind("step", "transact", {
    pause: kind("to", "later", later(20_000)) as fc.Arbitrary<Pause>,
    lock: fc.constant(LOCKS[0]),
    replica: fc.constant(1n),
    heads: fc.constantFrom(1, 1, 2),
    unsureUs: fc.constant(0),
    asks: fc.array(askOfOneQueue(rules), { minLength: 1, maxLength: 3 }),
  });
  return fc.array(step, { minLength: 1, maxLength: 60, size: "max" }).map((steps) => [begin, ...steps]);
}

export const sharedHistory = historyOfOneQueue({
  waitingMax: null,
  whenFull: "refuse",
  shareBy: "principal",
  headStartMaxUs: 0,
});

export const headStartHistory = historyOfOneQueue({
  waitingMax: null,
  whenFull: "refuse",
  shareBy: null,
  headStartMaxUs: 30_000,
});

/** Long enough for queues to build up, drain and be purged. */
export const history: fc.Arbitrary<Step[]> = fc.array(step, { minLength: 1, maxLength: 60, size: "max" });
