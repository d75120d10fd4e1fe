// The line for people about a wait.

import { expect, test } from "vitest";
import type { EffectiveRate } from "../../../server/core/limit.ts";
import type { Explanation, KeptChange, WaitCause } from "../../../server/engine/history.ts";
import { summaryOf } from "../../../server/grpc/messages/explanation.ts";
import { CLAIM, FREE_LOCK } from "../../support/claims.ts";

const NOW_US = Date.UTC(2026, 10, 24, 14, 0) * 1_000;
const MINUTE_US = 60_000_000;
const LIMIT = { limit: 1, source: "default", pattern: "", version: 0n, reason: "" } as const;
const NIGHT = { ...LIMIT, source: "pattern", pattern: "etl/*", reason: "night shift" } as const;
const RATE: EffectiveRate = {
  ...{ permits: 500, perUs: MINUTE_US, burst: 20 },
  ...{ source: "pattern", pattern: "llm/*", version: 2n, reason: "the provider's" },
};
const SET: KeptChange = {
  ...{ kind: "limit", target: "etl/*", isPattern: true, by: "token:ops", from: "", to: "1" },
  ...{ reason: "night shift", atUs: NOW_US - 1_440 * MINUTE_US, id: 1n },
};

const explained = (causes: readonly WaitCause[], more: Partial<Explanation> = {}): Explanation => ({
  ...{ nowUs: NOW_US, lock: FREE_LOCK, limit: LIMIT, limitSet: null, claim: null, causes, estimate: null },
  place: { ahead: 0, permitsAhead: 0 },
  ...{ each: null, isOwn: false },
  ...more,
});
const held = (holderCount: number, endsInUs: number | null, owner = "anna"): WaitCause => ({
  kind: "held",
  holders: [{ ...CLAIM, owner }],
  holderCount,
  firstEndsAtUs: endsInUs === null ? null : NOW_US + endsInUs,
});

test.each<[Explanation, string]>([
  [explained([]), "free: a request would be granted at once"],
  [explained([], { claim: CLAIM }), "it is about to be granted"],
  [
    explained([held(1, 4 * MINUTE_US), { kind: "queued", ahead: 2, permitsAhead: 2, first: [] }], {
      ...{ claim: CLAIM, place: { ahead: 2, permitsAhead: 2 }, limit: NIGHT, limitSet: SET },
      estimate: { lowUs: MINUTE_US, medianUs: 4 * MINUTE_US, highUs: 9 * MINUTE_US, leases: 9 },
    }),
    '3rd in the queue; held by anna until 14:04:00 UTC unless renewed (about 4 min left); limit 1 from etl/* (set yesterday at 14:00:00 UTC by token:ops: "night shift"); likely to last 4 min (60 s to 9 min)',
  ],
  [
    explained([held(3, 4 * MINUTE_US)]),
    "held by anna and 2 others, the first lease ends 14:04:00 UTC unless renewed (about 4 min left)",
  ],
  [explained([held(1, null, "")]), "held by somebody without an end"],
  [
    explained([{ kind: "limit", limit: { ...NIGHT, limit: 0 }, set: null }]),
    'paused: limit 0 from etl/* ("night shift")',
  ],
  [
    explained([{ kind: "limit", limit: LIMIT, set: null }], { claim: { ...CLAIM, permits: 3 } }),
    "1st in the queue; 3 permits never fit into the limit 1",
  ],
  [explained([{ kind: "limit", limit: LIMIT, set: null }]), "more is held than the limit 1 allows"],
  [
    explained([{ kind: "failed_over", untilUs: NOW_US + MINUTE_US }]),
    "the database has failed over, and nothing is granted until 14:01:00 UTC (in 60 s)",
  ],
  [
    explained([{ kind: "rate", rate: RATE, untilUs: NOW_US + MINUTE_US }]),
    "its rate of 500 per 60 s, burst 20 from llm/* lets it be granted at 14:01:00 UTC (in 60 s)",
  ],
  [
    explained([{ kind: "rate", rate: RATE, untilUs: null }]),
    "its rate of 500 per 60 s, burst 20 from llm/* has a burst of 20, which is too small for it",
  ],
  [
    explained([{ kind: "not_before", untilUs: NOW_US + 2_880 * MINUTE_US }, { kind: "exhausted" }]),
    "not due until 2026-11-26 14:00:00 UTC (in 2 days); no attempts left",
  ],
  [explained([{ kind: "status", status: "done" }]), 'its status is "done", which is none of those wanted'],
  [
    explained([{ kind: "rows_held", holder: { connectionId: 7n, user: "app" }, forUs: 12_000_000 }]),
    'another transaction of the database holds its rows for 12 s (connection 7 of "app")',
  ],
])("%#: says it in one line", (explanation, line) => {
  expect(summaryOf(explanation)).toBe(line);
});
