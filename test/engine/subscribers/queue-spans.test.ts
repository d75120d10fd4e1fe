// The spans of waits: when they end, and which call they say has made room.

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Claim } from "../../../server/core/claim.ts";
import type { Event } from "../../../server/core/command.ts";
import { OWN_GRANT_AWAITED_MS, QUEUE_SPANS_MAX } from "../../../server/engine/engine-bounds.ts";
import { QueueSpans } from "../../../server/engine/subscribers/followers.ts";
import { CLAIM } from "../../support/claims.ts";
import { KeptSpan } from "../../support/kept-span.ts";

const HELD = { attributes: { "rowlock.outcome": "held" }, error: undefined, atMs: undefined };
const UNKNOWN = { attributes: { "rowlock.outcome": "unknown" }, error: undefined, atMs: undefined };

const claim = (ticketNumber: bigint, overrides: Partial<Claim> = {}): Claim => ({
  ...CLAIM,
  endReason: null,
  ticketNumber,
  ...overrides,
});
const caller = (span?: KeptSpan) => ({ caller: { getPeer: () => "peer", span } });
const granted = (ticketNumber: bigint): Event => ({
  kind: "granted",
  claim: claim(ticketNumber),
  waitedUs: 5,
  queued: true,
});
const ended = (overrides: Partial<Claim>, was: "held" | "waiting" = "held", span?: KeptSpan): Event => ({
  kind: "ended",
  claim: claim(100n, { state: "ended", ...overrides }),
  was,
  ...(span && caller(span)),
});

function scene(...tickets: bigint[]) {
  const spans = new QueueSpans();
  const call = new KeptSpan("Acquire");
  for (const ticket of tickets) spans.begin(claim(ticket), call, "l");
  const commit = (...events: readonly (Event | [lockName: string, event: Event])[]) =>
    spans.committed(
      events.map((event) => {
        const [lockName, one] = Array.isArray(event) ? event : ["l", event as Event];
        return { event: one, lockName, nowUs: 0 };
      }),
    );
  return { spans, call, commit, queue: (index: number) => call.parts[index] as KeptSpan };
}

describe("a wait", () => {
  const release = new KeptSpan("Release");

  test("is not linked to calls that made no room, nor to one before that: of another lock, before a lease that ran out or an untraced release, or that came to wait", () => {
    const { commit, queue } = scene(1n, 2n, 3n, 4n);
    const released = ended({ endReason: "released" }, "held", release);
    const enqueued: Event = { kind: "enqueued", claim: claim(9n), ...caller(release) };
    commit(["other", released], granted(1n));
    commit(released, ended({ endReason: "expired" }), granted(2n));
    commit(enqueued, granted(3n));
    commit(released, { ...released, ...caller() }, granted(4n));
    for (const index of [0, 1, 2, 3]) expect(queue(index).links).toEqual([]);
  });

  test("that is the longest of too many ends, as if nobody knew how", () => {
    const { spans, call, queue } = scene();
    for (let ticket = 1; ticket <= QUEUE_SPANS_MAX + 1; ticket++)
      spans.begin(claim(BigInt(ticket)), call, "l");
    expect(call.parts.filter(({ ends }) => ends.length > 0)).toEqual([queue(0)]);
    expect(queue(0).ends).toEqual([UNKNOWN]);
  });
});

describe("a read that shows a grant", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] });
    vi.advanceTimersByTime(1_000);
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test("does not lose the link, if the grant is this server's own and its commit returns after the read", () => {
    const { spans, commit, queue } = scene(1n);
    const release = new KeptSpan("Release");
    spans.settled(claim(1n));
    vi.advanceTimersByTime(OWN_GRANT_AWAITED_MS / 2);
    commit(ended({ endReason: "released" }, "held", release), granted(1n));
    vi.advanceTimersByTime(OWN_GRANT_AWAITED_MS);
    expect(queue(0)).toMatchObject({ links: [release], ends: [{ ...HELD, atMs: 1_000 }] });
  });
});
