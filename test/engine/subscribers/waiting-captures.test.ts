// Captures that wait: which of them are one line, which is served in which turn, when a line looks again, and what happens
// to an attempt whose wait ends meanwhile.

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Captured, CaptureInput, CaptureTarget } from "../../../server/engine/answers.ts";
import {
  CAPTURE_POLL_MS,
  CAPTURE_POLL_MS_EACH,
  CAPTURE_POLL_MS_MIN,
  CAPTURE_REST_MS_MAX,
  CAPTURE_REST_SHARE,
  UNAVAILABLE_RETRY_AFTER_MS,
} from "../../../server/engine/engine-bounds.ts";
import { Fault } from "../../../server/engine/faults.ts";
import { lineOf, WaitingCaptures } from "../../../server/engine/subscribers/waiting-captures.ts";
import { CLAIM, TERMS } from "../../support/claims.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const NOTHING: Captured = { leases: [], retryAfterUs: null };
const LEASE: Captured = { leases: [{ claim: CLAIM, lockName: "t/1", nowUs: 0 }], retryAfterUs: null };
const ENDED: Captured = { ...NOTHING, isRepeated: true };
const CUT_SHORT: Captured = { ...NOTHING, isCutShort: true };
const AWAY = new Fault("unavailable", "connection_lost", "away", { retryAfterMs: 1 });
const IN_DOUBT = new Fault("unavailable", "connection_lost", "away", {
  retryAfterMs: 1,
  outcomeUnknown: true,
});

function wanting(overrides: Partial<CaptureInput> = {}): CaptureInput {
  const target = { kind: "prefix", prefix: "t/" } as const;
  return { target, max: 1, ttlUs: 1, owner: "", labels: {}, requestId: "", terms: null, ...overrides };
}

/** A wait whose attempts the test answers. */
class TestWait {
  readonly answer: Promise<Captured>;
  answered: unknown;
  attempts = 0;
  readonly #gone = new AbortController();
  #next = Promise.withResolvers<Captured>();
  #isOver: () => boolean = () => false;

  constructor(
    waits: WaitingCaptures,
    input: CaptureInput = wanting(),
    script?: (attempt: number) => Captured | Error,
    firstInUs: number | null = null,
  ) {
    this.answer = waits.wait(input, firstInUs, this.#gone.signal, async (isOver) => {
      this.#isOver = isOver;
      this.attempts += 1;
      const scripted = script?.(this.attempts);
      if (scripted instanceof Error) throw scripted;
      return scripted ?? (await this.#next.promise);
    });
    const answered = (what: unknown) => {
      this.answered = what;
    };
    this.answer.then(answered, answered);
  }

  get isOver(): boolean {
    return this.#isOver();
  }

  /** Ends the current attempt with this result. */
  async finds(found: Captured | Fault): Promise<void> {
    const { resolve, reject } = this.#next;
    this.#next = Promise.withResolvers<Captured>();
    if (found instanceof Error) reject(found);
    else resolve(found);
    await settled();
  }

  async end(why: unknown): Promise<void> {
    this.#gone.abort(why);
    await settled();
  }
}

function settled(): Promise<unknown> {
  return vi.advanceTimersByTimeAsync(0);
}

function scene() {
  const feed = { begin: vi.fn(async () => {}), end: vi.fn() };
  const failures: unknown[] = [];
  const waits = new WaitingCaptures({ feed, onFailure: (loop, error) => void failures.push([loop, error]) });
  let revision = 0n;
  const decided = async (name = "t/1", counts = { holders: 0, waiting: 0 }) => {
    revision += 1n;
    waits.decided({ id: 1n, name, revision, ...counts });
    await settled();
  };
  return { waits, feed, failures, decided };
}

describe("a decision", () => {
  test("by this server serves the captures that match, once, as does a change that may have been missed", async () => {
    const { waits } = scene();
    const wait = new TestWait(waits, wanting(), () => NOTHING);
    const ofLock = (name: string, revision: bigint) => {
      waits.decided({ id: 1n, name, revision, holders: 0, waiting: 0 });
    };
    for (const [change, attempts] of [
      [() => ofLock("u/1", 1n), 0],
      [() => ofLock("t/1", 2n), 1],
      [() => ofLock("t/1", 2n), 1],
      [() => waits.missed(), 2],
      [() => waits.rulesChanged(), 3],
    ] as const) {
      change();
      await settled();
      expect(wait.attempts).toBe(attempts);
    }
  });

  test("serves no capture if the lock is held or waited for", async () => {
    const { waits, decided } = scene();
    const wait = new TestWait(waits, wanting(), () => NOTHING);
    await decided("t/1", { holders: 0, waiting: 1 });
    await decided("t/1", { holders: 2, waiting: 0 });
    expect(wait.attempts).toBe(0);
    await decided();
    expect(wait.attempts).toBe(1);
  });
});

describe("the feed of other servers' decisions", () => {
  test("is opened once, and closed when the last capture has left", async () => {
    const { waits, feed } = scene();
    const other = wanting({ target: { kind: "prefix", prefix: "u/" } });
    const all = [new TestWait(waits), new TestWait(waits), new TestWait(waits, other)];
    for (const wait of all) {
      expect(feed.end).not.toHaveBeenCalled();
      await wait.end("enough");
    }
    expect(feed.begin).toHaveBeenCalledTimes(1);
    expect(feed.begin).toHaveBeenCalledWith(waits);
    expect(feed.end).toHaveBeenCalledWith(waits);
    const wait = new TestWait(waits);
    expect(feed.begin).toHaveBeenCalledTimes(2);
    await wait.end("enough");
  });

  test("that cannot open is reported, and the waiting captures look by themselves", async () => {
    const { waits, feed, failures } = scene();
    feed.begin.mockRejectedValueOnce(AWAY);
    const wait = new TestWait(waits, wanting(), () => LEASE);
    await settled();
    expect(failures).toEqual([["watches", AWAY]]);
    await vi.advanceTimersByTimeAsync(CAPTURE_POLL_MS);
    expect(wait.answered).toBe(LEASE);
  });

  test("is not opened by a capture that has left before", async () => {
    const { waits, feed } = scene();
    const gone = AbortSignal.abort(new Error("gone"));
    await expect(waits.wait(wanting(), null, gone, async () => LEASE)).rejects.toThrow("gone");
    expect(feed.begin).not.toHaveBeenCalled();
    expect(waits.count).toBe(0);
  });
});

describe("a line looks by itself", () => {
  /** Records when each attempt of one wait began; `script` gives the results, after `takesMs`. */
  function looks(
    waits: WaitingCaptures,
    script: (attempt: number) => Captured | Error,
    firstInUs?: number,
    takesMs = 0,
  ) {
    const beganMs = performance.now();
    const atMs: number[] = [];
    const found = (attempt: number) => {
      atMs.push(performance.now() - beganMs);
      vi.advanceTimersByTime(takesMs);
      return script(attempt);
    };
    const wait = new TestWait(waits, wanting(), found, firstInUs);
    return { wait, atMs };
  }

  test("first when the next lock is due, as far as that is known", async () => {
    const { waits } = scene();
    const { wait, atMs } = looks(waits, () => NOTHING, 30_500);
    await vi.advanceTimersByTimeAsync(CAPTURE_POLL_MS);
    expect(atMs).toEqual([31]);
    await wait.end("enough");
    const { wait: late, atMs: lateMs } = looks(waits, () => NOTHING, 10 * CAPTURE_POLL_MS * 1_000);
    await vi.advanceTimersByTimeAsync(CAPTURE_POLL_MS);
    expect(lateMs).toEqual([CAPTURE_POLL_MS]);
    await late.end("enough");
    expect(vi.getTimerCount()).toBe(0);
  });

  test("at the first of the times that its captures know, whoever comes later", async () => {
    const { waits } = scene();
    const { atMs } = looks(waits, () => NOTHING, 100_000);
    const later = looks(waits, () => NOTHING, 500_000);
    await vi.advanceTimersByTimeAsync(100);
    expect([atMs, later.atMs]).toEqual([[100], []]);
    const sooner = looks(waits, () => LEASE, 20_000);
    await vi.advanceTimersByTimeAsync(20);
    expect(later.atMs).toEqual([120]);
    expect(sooner.atMs).toEqual([]);
    waits.stop(new Error("stopping"));
  });

  test("not at once again, even if there should be something now", async () => {
    const { waits } = scene();
    const { atMs } = looks(waits, () => ({ ...NOTHING, retryAfterUs: 0 }), 0);
    await vi.advanceTimersByTimeAsync(3 * CAPTURE_POLL_MS_MIN);
    expect(atMs).toEqual([1, 2, 3].map((times) => times * CAPTURE_POLL_MS_MIN));
    waits.stop(new Error("stopping"));
  });

  test.each([
    ["a long look has found nothing, by a multiple of its time", NOTHING, 200, 200 * CAPTURE_REST_SHARE],
    ["the database stalled, within a bound", NOTHING, 6_000, CAPTURE_REST_MS_MAX],
    ["it has not seen everything, by a multiple, too", CUT_SHORT, 100, 100 * CAPTURE_REST_SHARE],
    ["the database is away, as soon as a client would", AWAY, 0, UNAVAILABLE_RETRY_AFTER_MS],
  ])("after a rest if %s", async (_, found, takesMs, restMs) => {
    const { waits } = scene();
    const { atMs } = looks(waits, () => found, 0, takesMs);
    await vi.advanceTimersByTimeAsync(20_000);
    const [first = 0, second = 0, third = 0] = atMs;
    expect([second - first, third - second]).toEqual([takesMs + restMs, takesMs + restMs]);
    waits.stop(new Error("stopping"));
  });

  test("later if there are many lines", async () => {
    const { waits } = scene();
    const lines = (2 * CAPTURE_POLL_MS) / CAPTURE_POLL_MS_EACH;
    const names = Array.from({ length: lines }, (_, index) => `n/${index}`);
    const last = names
      .map(
        (name) => new TestWait(waits, wanting({ target: { kind: "names", names: [name] } }), () => NOTHING),
      )
      .at(-1);
    await vi.advanceTimersByTimeAsync(2 * CAPTURE_POLL_MS - 1);
    expect(last?.attempts).toBe(0);
    await vi.advanceTimersByTimeAsync(1);
    expect(last?.attempts).toBe(1);
    waits.stop(new Error("stopping"));
  });

  test("not while it is looking, and a look for another reason delays it", async () => {
    const { waits, decided } = scene();
    const wait = new TestWait(waits);
    await vi.advanceTimersByTimeAsync(CAPTURE_POLL_MS - 1);
    await decided();
    await vi.advanceTimersByTimeAsync(1);
    expect(wait.attempts).toBe(1);
    const other = new TestWait(waits, wanting(), () => LEASE, 1_000);
    await vi.advanceTimersByTimeAsync(CAPTURE_POLL_MS);
    expect([wait.attempts, other.attempts]).toEqual([1, 0]);
    await wait.end("enough");
    await wait.finds(NOTHING);
    expect(other.answered).toBe(LEASE);
  });
});

describe("an attempt that is under way when its wait ends", () => {
  const ends = [
    ["by its signal", (wait: TestWait) => wait.end("its time is over")],
    [
      "with the server",
      async (_: TestWait, waits: WaitingCaptures) => {
        waits.stop(new Error("stopping"));
        await settled();
      },
    ],
  ] as const;

  test.each(ends)("decides the answer %s: what it takes reaches a caller", async (_, end) => {
    const { waits, decided } = scene();
    const wait = new TestWait(waits);
    await decided();
    expect(wait.isOver).toBe(false);
    await end(wait, waits);
    expect(wait.answered).toBeUndefined();
    expect(wait.isOver).toBe(true);
    await wait.finds(LEASE);
    expect(wait.answered).toBe(LEASE);
    expect(waits.count).toBe(0);
  });

  test("and that finds nothing leaves the answer to the end, and the line to the others", async () => {
    const { waits, decided } = scene();
    const [wait, other] = [new TestWait(waits), new TestWait(waits, wanting(), () => LEASE)];
    await decided();
    await wait.end("its time is over");
    await wait.finds(NOTHING);
    expect(wait.answered).toBe("its time is over");
    expect(other.answered).toBe(LEASE);
  });

  test.each([
    ["with a request id says so, as it can be asked for again", "id", IN_DOUBT],
    ["without one was withdrawn, and it ends as it would", "", "its time is over"],
  ])("and whose outcome is unknown, %s", async (_, requestId, expected) => {
    const { waits, decided } = scene();
    const wait = new TestWait(waits, wanting({ requestId }));
    await decided();
    await wait.finds(IN_DOUBT);
    expect(wait.answered).toBeUndefined();
    await wait.end("its time is over");
    expect(wait.answered).toBe(expected);
  });

  test("is no longer in doubt once another one has found nothing", async () => {
    const { waits, decided } = scene();
    const script = (attempt: number) => (attempt === 1 ? IN_DOUBT : NOTHING);
    const wait = new TestWait(waits, wanting({ requestId: "id" }), script);
    await decided();
    await vi.advanceTimersByTimeAsync(UNAVAILABLE_RETRY_AFTER_MS);
    await wait.end("its time is over");
    expect(wait.answered).toBe("its time is over");
  });
});

describe("a line", () => {
  test("serves one capture after the other, until nothing is left", async () => {
    const { waits, decided } = scene();
    let left = 2;
    const script = () => (left-- > 0 ? LEASE : NOTHING);
    const line = [1, 2, 3, 4].map(() => new TestWait(waits, wanting(), script));
    await decided();
    expect(line.map(({ attempts }) => attempts)).toEqual([1, 1, 1, 0]);
    expect(waits.count).toBe(2);
  });

  test("answers a capture whose leases have ended at once, and serves the others", async () => {
    const { waits, decided } = scene();
    const repeated = new TestWait(waits, wanting({ requestId: "late" }), () => ENDED);
    const others = [1, 2].map(() => new TestWait(waits, wanting(), () => LEASE));
    await decided();
    expect(repeated.answered).toBe(ENDED);
    expect(others.map(({ answered }) => answered)).toEqual([LEASE, LEASE]);
  });

  test.each([
    ["was cut short", CUT_SHORT],
    ["fails again and again", AWAY],
  ])("is not stopped by a capture whose attempt %s", async (_, found) => {
    const { waits, decided } = scene();
    const unlucky = new TestWait(waits, wanting(), () => found);
    const other = new TestWait(waits, wanting(), () => LEASE);
    await decided();
    await decided();
    expect(other.answered).toBe(LEASE);
    expect(unlucky.answered).toBeUndefined();
    await unlucky.end("enough");
  });

  test("is served from the capture that has not looked for longest", async () => {
    const { waits, decided } = scene();
    let isThere = false;
    const script = () => (isThere ? LEASE : NOTHING);
    const [first, second] = [1, 2].map(() => new TestWait(waits, wanting(), script));
    await decided();
    expect([first?.attempts, second?.attempts]).toEqual([1, 0]);
    isThere = true;
    await decided();
    expect(second?.answered).toBe(LEASE);
    expect([first?.attempts, second?.attempts]).toEqual([2, 1]);
  });

  test("goes on after a bug, which ends the wait that met it", async () => {
    const { waits, decided } = scene();
    const bug = new Error("a bug");
    const unlucky = new TestWait(waits, wanting(), () => bug);
    const other = new TestWait(waits, wanting(), () => LEASE);
    await decided();
    expect([unlucky.answered, other.answered]).toEqual([bug, LEASE]);
    expect(waits.count).toBe(0);
  });

  test("is served again for a decision during its service", async () => {
    const { waits, decided } = scene();
    const wait = new TestWait(waits);
    await decided();
    await decided();
    await wait.finds(NOTHING);
    expect(wait.attempts).toBe(2);
    await wait.finds(LEASE);
    expect(wait.answered).toBe(LEASE);
  });
});

const under = (prefix: string): CaptureTarget => ({ kind: "prefix", prefix });
const named = (...names: string[]): CaptureTarget => ({ kind: "names", names });
const many = (suffix: string) =>
  named(...Array.from({ length: 1_000 }, (_, index) => `job ${index}${suffix}`));
const nameOf = (target: CaptureTarget, ...ifStatus: string[]) =>
  lineOf({ target, terms: ifStatus.length === 0 ? null : { ...TERMS, ifStatus } });

test("captures that differ in their target or their statuses are in different lines, and others in one", () => {
  const lines = [
    ...["a", "b", ""].map((prefix) => nameOf(under(prefix))),
    ...[named("a"), named("a", "b"), named("a,b"), many(""), many("!")].map((target) => nameOf(target)),
    ...[["b"], ["b", "c"], ["b,c"]].map((statuses) => nameOf(under("a"), ...statuses)),
    nameOf(many(""), "b"),
  ];
  expect(new Set(lines).size).toBe(lines.length);
  expect(nameOf(under("a"), "b")).toBe(nameOf(under("a"), "b"));
  expect(nameOf(many(""))).toBe(nameOf(many("")));
  // A long list of names does not make the name of its line long.
  expect(nameOf(many("")).length).toBeLessThanOrEqual(512);
});
