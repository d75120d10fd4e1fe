// Whether this server should get calls: decisions get through, and nobody has told the server to stop. The decisions of
// clients in the last seconds say so where there were some and all of them worked. Otherwise the server makes decisions of
// its own: about once a second while there is trouble, and more seldom while nobody asks for anything.
//
// A server that loses its database alone sends its clients to another one, which proves first that it can decide. Silence is
// no loss yet: a database that is slow for all servers answers none of them in time, and then all clients stay. All times
// follow from the grace period, so that clients are elsewhere before half of it is over.

/** How long an answer of a probe counts while there is trouble, at the most. */
const TROUBLE_FRESH_MS = 1_000;
/** The same while there is none, as a share of the grace period, and at the most. */
const QUIET_FRESH_PER_GRACE = 0.15;
const QUIET_FRESH_MS_MAX = 1_500;
/** How long a probe gets no step further before other servers are asked whether they can decide. */
const LATE_PER_GRACE = 0.1;
const LATE_MS_MAX = 1_000;
/** The time until a probe is late passes in steps: one long pause of this process counts as one step. */
const LATE_STEPS = 4;
/** How long an answer of a probe is waited for. */
const PROBE_MS_MAX = 2_000;
/** How often an app asks, as a share of the grace period, and at the most. Where an answer is fresh, that costs nothing. */
const ASKED_PER_GRACE = 0.025;
const ASKED_MS_MAX = 250;

export type Ready = { readonly ready: true } | { readonly ready: false; readonly reason: string };

/** What the decisions of the last seconds say. */
export interface RecentDecisions {
  readonly committed: boolean;
  /** performance.now() of the last commit; -Infinity: there was none. */
  readonly committedMs: number;
  /** Why the last one failed of those that failed because of the database; null: none did. */
  readonly failure: unknown;
  /** Something failed that may be about one lock alone, or was no decision. */
  readonly isSuspect: boolean;
}

export interface ReadinessOptions {
  /** Makes decisions; rejects where they do not get through. Calls `heard` with each answer of the database. */
  readonly probe: (heard: () => void) => Promise<void>;
  readonly recent?: () => RecentDecisions;
  /** Told of each answer, with what the decisions failed of, or null; for the log. */
  readonly onAnswer?: (cause: unknown) => void;
  /** Unset: the times are those of a long one. */
  readonly graceMs?: number;
  /** Whether another server decides within this time. Must not reject. Unset: there is no other server. */
  readonly othersDecide?: (withinMs: number) => Promise<boolean>;
  /** Another server decides and this one does not. Must not throw. */
  readonly onElsewhere?: () => void;
  readonly timeoutMs?: number;
  /** For both times that an answer counts. */
  readonly freshMs?: number;
}

const DRAINING: Ready = { ready: false, reason: "draining" };
const NOTHING_RECENT: RecentDecisions = {
  committed: false,
  committedMs: Number.NEGATIVE_INFINITY,
  failure: null,
  isSuspect: false,
};

/** A probe that has not ended. */
interface Probing {
  readonly sinceMs: number;
  /** When the database answered last, or `sinceMs`. */
  heardMs: number;
  /** Never rejects; null: it worked. */
  readonly cause: Promise<{ readonly error: unknown } | null>;
}

export class Readiness {
  readonly #options: Required<Omit<ReadinessOptions, "freshMs" | "graceMs">>;
  readonly #troubleFreshMs: number;
  readonly #quietFreshMs: number;
  readonly #lateMs: number;
  /** How often to call `check`, at least. */
  readonly intervalMs: number;
  readonly #listeners = new Set<(ready: Ready) => void>();
  #draining = false;
  #answer: Ready = { ready: true };
  #answeredAtMs = Number.NEGATIVE_INFINITY;
  #asking: Promise<Ready> | undefined;
  /** No further probe is started beside it. */
  #probing: Probing | undefined;
  #isComparing = false;

  constructor({ freshMs, graceMs = Number.POSITIVE_INFINITY, ...options }: ReadinessOptions) {
    this.#options = {
      recent: () => NOTHING_RECENT,
      onAnswer: () => {},
      othersDecide: async () => false,
      onElsewhere: () => {},
      timeoutMs: PROBE_MS_MAX,
      ...options,
    };
    this.#quietFreshMs = freshMs ?? Math.min(QUIET_FRESH_MS_MAX, graceMs * QUIET_FRESH_PER_GRACE);
    this.#troubleFreshMs = Math.min(TROUBLE_FRESH_MS, this.#quietFreshMs);
    this.#lateMs = Math.min(LATE_MS_MAX, graceMs * LATE_PER_GRACE);
    this.intervalMs = Math.min(ASKED_MS_MAX, graceMs * ASKED_PER_GRACE);
  }

  /**
   * Calls `listener` whenever the answer of the database changes, synchronously; it must not throw. A drain is no such change:
   * whoever orders one knows of it. Returns what takes the listener away.
   */
  subscribe(listener: (ready: Ready) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** From now on it is not ready, so that load balancers look elsewhere. */
  drain(): void {
    this.#draining = true;
  }

  /** The last answer, for those who must not wait for one. */
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

  /** Whether a decision gets through that ends after the call. */
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
    // Where clients' decisions get through beside it, the server has much to do, and the probe waits for its turn.
    const isSilent = outcome === LATE && this.#options.recent().committedMs < sinceMs;
    if (isSilent && (await this.#lostAlone(lateMs, probing)))
      return this.#settle(didNotAnswer(lateMs, ", while that of another server did"), new LateAnswer(lateMs));
    if (outcome === LATE) outcome = await outcomeUntil(probing, untilMs);
    if (outcome === null) {
      // There may be room for what a probe writes, and for nothing else.
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

  /**
   * Asks the others, and then this server's database once more, with this probe or a new one: it may have come back for all
   * meanwhile. Sends clients away if it has not.
   */
  async #lostAlone(lateMs: number, late?: Probing): Promise<boolean> {
    if (this.#isComparing) return false;
    this.#isComparing = true;
    try {
      if (!(await this.#options.othersDecide(lateMs))) return false;
      const again = late ?? this.#underWay();
      const outcome = await outcomeUntil(again, again.heardMs + lateMs);
      const isLost = outcome !== null && !this.#draining;
      if (isLost) this.#options.onElsewhere();
      return isLost;
    } finally {
      this.#isComparing = false;
    }
  }

  /** The probe under way, or a new one. */
  #underWay(): Probing {
    this.#probing ??= this.#probe();
    return this.#probing;
  }

  #probe(): Probing {
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
    return probing;
  }

  #isFresh(atMs: number, freshMs: number): boolean {
    return performance.now() - atMs < freshMs;
  }

  #settle(answer: Ready, cause: unknown, atMs = performance.now()): Ready {
    const isOther = answer.ready !== this.#answer.ready;
    this.#answer = answer;
    this.#answeredAtMs = Math.max(this.#answeredAtMs, atMs);
    this.#options.onAnswer(cause);
    if (isOther) for (const listener of [...this.#listeners]) listener(answer);
    return answer;
  }
}

const LATE = "late";

type Outcome = { readonly error: unknown } | null | typeof LATE;

/** What comes of a probe until then; null: it worked. */
async function outcomeUntil({ cause }: Probing, untilMs: number): Promise<Outcome> {
  const late = Promise.withResolvers<typeof LATE>();
  // At least some turns, in which an answer that is there is read.
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

/** The same until it has heard nothing of the database for so long, or until then. */
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

function cannotWrite(cause: unknown): Ready {
  return { ready: false, reason: `the database cannot be written${labelOf(cause)}` };
}

/** Says of itself what faults of the database say. */
class LateAnswer extends Error {
  readonly kind = "unavailable";
  readonly reason = "timeout";

  constructor(timeoutMs: number) {
    super(`The database did not answer within ${Math.round(timeoutMs)} ms.`);
  }
}

/** Only the stable label of a fault is shown to whoever asks; its message is for the log. */
function labelOf(error: unknown): string {
  const reason = error instanceof Error && "reason" in error ? error.reason : undefined;
  return typeof reason === "string" ? `: ${reason}` : "";
}
