// Whether this server should get calls: decisions get through, and it was not asked to stop. If all decisions of clients in
// the last seconds worked, these are the answer. Otherwise it decides something itself as a probe: about once a second while
// there is trouble, and less often while no client asks for anything.
//
// A server that alone loses its database sends its clients to another one, which first proves that it can decide. Silence
// is not yet a loss: if a database is slow for all, all clients stay. All times follow from the grace period, so that
// clients are elsewhere before half of it is over.

import { TOO_OLD } from "../core/level.ts";

/** Longest time that a probe's answer counts while there is trouble. */
const TROUBLE_FRESH_MS = 1_000;
/** The same while there is no trouble: as a share of the grace period, and the most. */
const QUIET_FRESH_PER_GRACE = 0.15;
const QUIET_FRESH_MS_MAX = 1_500;
/** A probe is late after this time without a step forward: the server then asks whether other servers can decide. */
const LATE_PER_GRACE = 0.1;
const LATE_MS_MAX = 1_000;
/** The time until a probe is late passes in steps, so that one long pause of this process counts as only one step. */
const LATE_STEPS = 4;
/** Longest wait for a probe's answer. */
const PROBE_MS_MAX = 2_000;
/** How often an app calls `check`: as a share of the grace period, and the most. A fresh answer costs nothing. */
const ASKED_PER_GRACE = 0.025;
const ASKED_MS_MAX = 250;

export type Ready = { readonly ready: true } | { readonly ready: false; readonly reason: string };

/** What the clients' decisions of the last seconds show. */
export interface RecentDecisions {
  readonly committed: boolean;
  /** performance.now() of the last commit; -Infinity: there was none. */
  readonly committedMs: number;
  /** The error of the last decision that failed because of the database; null: none did. */
  readonly failure: unknown;
  /** Something failed that may concern only one lock, or was no decision. */
  readonly isSuspect: boolean;
}

export interface ReadinessOptions {
  /** Makes decisions; rejects if they do not get through. Calls `heard` with each answer of the database. */
  readonly probe: (heard: () => void) => Promise<void>;
  readonly recent?: () => RecentDecisions;
  /** Gets the cause of failure with each answer, or null; for the log. */
  readonly onAnswer?: (cause: unknown) => void;
  /** If unset, the times are those of a long grace period. */
  readonly graceMs?: number;
  /** Whether another server decides within this time. Must not reject. Unset: there is no other server. */
  readonly othersDecide?: (withinMs: number) => Promise<boolean>;
  /** Called if another server decides and this one does not. Must not throw. */
  readonly onElsewhere?: () => void;
  readonly timeoutMs?: number;
  /** Overrides how long an answer counts; while there is trouble, at most TROUBLE_FRESH_MS. */
  readonly freshMs?: number;
}

const DRAINING: Ready = { ready: false, reason: "draining" };
const NOTHING_RECENT: RecentDecisions = {
  committed: false,
  committedMs: Number.NEGATIVE_INFINITY,
  failure: null,
  isSuspect: false,
};

interface Probing {
  readonly sinceMs: number;
  /** When the database last answered; at first `sinceMs`. */
  heardMs: number;
  /** Never rejects; null: the probe worked. */
  readonly cause: Promise<{ readonly error: unknown } | null>;
}

export class Readiness {
  readonly #options: ReadinessOptions & Required<Pick<ReadinessOptions, "recent" | "timeoutMs">>;
  readonly #troubleFreshMs: number;
  readonly #quietFreshMs: number;
  readonly #lateMs: number;
  /** Longest interval between calls of `check`. */
  readonly intervalMs: number;
  readonly #listeners: ((ready: Ready) => void)[] = [];
  #draining = false;
  #answer: Ready = { ready: true };
  #answeredAtMs = Number.NEGATIVE_INFINITY;
  #asking: Promise<Ready> | undefined;
  /** The probe under way. No further one starts beside it. */
  #probing: Probing | undefined;
  #isComparing = false;

  constructor({ freshMs, graceMs = Number.POSITIVE_INFINITY, ...options }: ReadinessOptions) {
    this.#options = { recent: () => NOTHING_RECENT, timeoutMs: PROBE_MS_MAX, ...options };
    this.#quietFreshMs = freshMs ?? Math.min(QUIET_FRESH_MS_MAX, graceMs * QUIET_FRESH_PER_GRACE);
    this.#troubleFreshMs = Math.min(TROUBLE_FRESH_MS, this.#quietFreshMs);
    this.#lateMs = Math.min(LATE_MS_MAX, graceMs * LATE_PER_GRACE);
    this.intervalMs = Math.min(ASKED_MS_MAX, graceMs * ASKED_PER_GRACE);
  }

  /** Calls `listener`, which must not throw, whenever the answer changes. A drain is no such change. */
  subscribe(listener: (ready: Ready) => void): void {
    this.#listeners.push(listener);
  }

  /** Makes the server not ready from now on, so that load balancers look elsewhere. */
  drain(): void {
    this.#draining = true;
  }

  get latest(): Ready {
    return this.#draining ? DRAINING : this.#answer;
  }

  async check(): Promise<Ready> {
    if (this.#draining) return DRAINING;
    const { committedMs, failure, isSuspect } = this.#options.recent();
    const isTrouble = isSuspect || failure !== null;
    if (!isTrouble && this.#isFresh(committedMs, this.#quietFreshMs))
      return this.#settle({ ready: true }, null, committedMs);
    const freshMs = isTrouble || !this.#answer.ready ? this.#troubleFreshMs : this.#quietFreshMs;
    if (this.#isFresh(this.#answeredAtMs, freshMs)) return this.#answer;
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined;
    });
    return await this.#asking;
  }

  /** Whether a decision gets through that ends after this call. */
  async decides(): Promise<boolean> {
    if (this.#draining) return false;
    const probing = this.#underWay();
    return (await outcomeUntil(probing, probing.sinceMs + this.#options.timeoutMs)) === null;
  }

  async #ask(): Promise<Ready> {
    const { timeoutMs } = this.#options;
    const lateMs = Math.min(this.#lateMs, timeoutMs);
    const probing = this.#underWay();
    const { sinceMs } = probing;
    const untilMs = sinceMs + timeoutMs;
    let outcome = await silenceOf(probing, lateMs, untilMs);
    // If clients' decisions get through beside the probe, the server is busy, and the probe waits for its turn.
    const isSilent = outcome === LATE && this.#options.recent().committedMs < sinceMs;
    if (isSilent && (await this.#lostAlone(lateMs, probing)))
      return this.#settle(didNotAnswer(lateMs, ", while that of another server did"), new LateAnswer(lateMs));
    if (outcome === LATE) outcome = await outcomeUntil(probing, untilMs);
    if (outcome === null) {
      // A full disk may have room for what a probe writes, and for nothing else.
      const { committed, failure } = this.#options.recent();
      return failure !== null && !committed
        ? this.#settle(cannotWrite(failure), failure)
        : this.#settle({ ready: true }, null);
    }
    // Health must not wait for other servers.
    void this.#lostAlone(lateMs);
    if (outcome === LATE) return this.#settle(didNotAnswer(timeoutMs), new LateAnswer(timeoutMs));
    return this.#settle(cannotWrite(outcome.error), outcome.error);
  }

  /** Asks the others, and then its own database once more, as that may be back by now. If it is not, sends clients away. */
  async #lostAlone(lateMs: number, late?: Probing): Promise<boolean> {
    if (this.#isComparing) return false;
    this.#isComparing = true;
    try {
      if (!(await this.#options.othersDecide?.(lateMs))) return false;
      const again = late ?? this.#underWay();
      const outcome = await outcomeUntil(again, again.heardMs + lateMs);
      const isLost = outcome !== null && !this.#draining;
      if (isLost) this.#options.onElsewhere?.();
      return isLost;
    } finally {
      this.#isComparing = false;
    }
  }

  /** The probe under way, or a new one. */
  #underWay(): Probing {
    if (this.#probing) return this.#probing;
    const sinceMs = performance.now();
    const heard = () => {
      probing.heardMs = performance.now();
    };
    const ended = this.#options.probe(heard).then(
      () => null,
      (error: unknown) => ({ error }),
    );
    const cause = ended.finally(() => {
      this.#probing = undefined;
    });
    const probing: Probing = { sinceMs, heardMs: sinceMs, cause };
    this.#probing = probing;
    return probing;
  }

  #isFresh(atMs: number, freshMs: number): boolean {
    return performance.now() - atMs < freshMs;
  }

  #settle(answer: Ready, cause: unknown, atMs = performance.now()): Ready {
    const isOther = answer.ready !== this.#answer.ready;
    this.#answer = answer;
    this.#answeredAtMs = Math.max(this.#answeredAtMs, atMs);
    this.#options.onAnswer?.(cause);
    if (isOther) for (const listener of this.#listeners) listener(answer);
    return answer;
  }
}

const LATE = "late";

type Outcome = { readonly error: unknown } | null | typeof LATE;

/** The outcome of a probe by `untilMs`; null: it worked. */
async function outcomeUntil({ cause }: Probing, untilMs: number): Promise<Outcome> {
  const late = Promise.withResolvers<typeof LATE>();
  // Several steps, so that the process has ticks in which it reads an answer that has arrived.
  const stepMs = Math.max(1, (untilMs - performance.now()) / LATE_STEPS);
  let steps = 0;
  const timer = setInterval(() => {
    steps += 1;
    if (steps >= LATE_STEPS) late.resolve(LATE);
  }, stepMs);
  try {
    return await Promise.race([cause, late.promise]);
  } finally {
    clearInterval(timer);
  }
}

/** The same, but waits no longer than until the database has been silent for `silentMs`. */
async function silenceOf(probing: Probing, silentMs: number, untilMs: number): Promise<Outcome> {
  for (;;) {
    const { heardMs } = probing;
    const outcome = await outcomeUntil(probing, Math.min(heardMs + silentMs, untilMs));
    if (outcome !== LATE || probing.heardMs === heardMs || performance.now() >= untilMs) return outcome;
  }
}

function didNotAnswer(withinMs: number, more = ""): Ready {
  return { ready: false, reason: `the database did not answer within ${Math.round(withinMs)} ms${more}` };
}

/** Callers see only the stable label of a fault; its message is for the log. */
function cannotWrite(cause: unknown): Ready {
  const label = cause instanceof Error && "reason" in cause ? cause.reason : undefined;
  if (label === TOO_OLD)
    return { ready: false, reason: "this server is too old for the database, which a later version uses" };
  const more = typeof label === "string" ? `: ${label}` : "";
  return { ready: false, reason: `the database cannot be written${more}` };
}

/** Has the same properties as faults of the database. */
class LateAnswer extends Error {
  readonly kind = "unavailable";
  readonly reason = "timeout";

  constructor(timeoutMs: number) {
    super(`The database did not answer within ${Math.round(timeoutMs)} ms.`);
  }
}
