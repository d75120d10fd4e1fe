// Whether this server should get calls: decisions get through, and nobody has told the server to stop. The decisions of
// clients in the last seconds say so where there were some and all of them worked. Otherwise the server makes decisions of
// its own: once a second while there is trouble, and seldom while nobody asks for anything.

/** How long an answer of a probe counts while there is trouble and while there is none, and how long one is waited for. */
const TROUBLE_FRESH_MS = 1_000;
const QUIET_FRESH_MS = 2_000;
const PROBE_MS_MAX = 2_000;

export type Ready = { readonly ready: true } | { readonly ready: false; readonly reason: string };

/** What the decisions of the last seconds say. */
export interface RecentDecisions {
  readonly committed: boolean;
  /** Why the last one failed of those that failed because of the database; null: none did. */
  readonly failure: unknown;
  /** Something failed that may be about one lock alone, or was no decision. */
  readonly isSuspect: boolean;
}

export interface ReadinessOptions {
  /** Makes decisions; rejects where they do not get through. */
  readonly probe: () => Promise<void>;
  readonly recent?: () => RecentDecisions;
  /** Told of each answer, with what the decisions failed of, or null; for the log. */
  readonly onAnswer?: (cause: unknown) => void;
  readonly timeoutMs?: number;
  /** For both times that an answer counts. */
  readonly freshMs?: number;
}

const DRAINING: Ready = { ready: false, reason: "draining" };
const NOTHING_RECENT: RecentDecisions = { committed: false, failure: null, isSuspect: false };

export class Readiness {
  readonly #options: Required<Omit<ReadinessOptions, "freshMs">>;
  readonly #troubleFreshMs: number;
  readonly #quietFreshMs: number;
  readonly #listeners = new Set<(ready: Ready) => void>();
  #draining = false;
  #answer: Ready = { ready: true };
  #answeredAtMs = Number.NEGATIVE_INFINITY;
  #asking: Promise<Ready> | undefined;
  /** A probe that did not end in time: no further one is started beside it. */
  #hanging: Promise<void> | undefined;

  constructor({ freshMs, ...options }: ReadinessOptions) {
    this.#options = {
      recent: () => NOTHING_RECENT,
      onAnswer: () => {},
      timeoutMs: PROBE_MS_MAX,
      ...options,
    };
    this.#troubleFreshMs = freshMs ?? TROUBLE_FRESH_MS;
    this.#quietFreshMs = freshMs ?? QUIET_FRESH_MS;
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
    const { committed, failure, isSuspect } = this.#options.recent();
    const isTrouble = isSuspect || failure !== null;
    if (committed && !isTrouble) return this.#settle({ ready: true }, null);
    const freshMs = isTrouble || !this.#answer.ready ? this.#troubleFreshMs : this.#quietFreshMs;
    if (performance.now() - this.#answeredAtMs < freshMs) return this.#answer;
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined;
    });
    return await this.#asking;
  }

  async #ask(): Promise<Ready> {
    const { probe, timeoutMs } = this.#options;
    const late = Promise.withResolvers<"late">();
    const timer = setTimeout(() => late.resolve("late"), timeoutMs);
    this.#hanging ??= probe().finally(() => {
      this.#hanging = undefined;
    });
    try {
      const first = await Promise.race([this.#hanging, late.promise]);
      if (first === "late") {
        const reason = `the database did not answer within ${timeoutMs} ms`;
        return this.#settle({ ready: false, reason }, new LateAnswer(timeoutMs));
      }
    } catch (error) {
      return this.#settle(cannotWrite(error), error);
    } finally {
      clearTimeout(timer);
    }
    // There may be room for what a probe writes, and for nothing else.
    const { committed, failure } = this.#options.recent();
    if (failure !== null && !committed) return this.#settle(cannotWrite(failure), failure);
    return this.#settle({ ready: true }, null);
  }

  #settle(answer: Ready, cause: unknown): Ready {
    const isOther = answer.ready !== this.#answer.ready;
    this.#answer = answer;
    this.#answeredAtMs = performance.now();
    this.#options.onAnswer(cause);
    if (isOther) for (const listener of [...this.#listeners]) listener(answer);
    return answer;
  }
}

function cannotWrite(cause: unknown): Ready {
  return { ready: false, reason: `the database cannot be written${labelOf(cause)}` };
}

/** Says of itself what faults of the database say. */
class LateAnswer extends Error {
  readonly kind = "unavailable";
  readonly reason = "timeout";

  constructor(timeoutMs: number) {
    super(`The database did not answer within ${timeoutMs} ms.`);
  }
}

/** Only the stable label of a fault is shown to whoever asks; its message is for the log. */
function labelOf(error: unknown): string {
  const reason = error instanceof Error && "reason" in error ? error.reason : undefined;
  return typeof reason === "string" ? `: ${reason}` : "";
}
