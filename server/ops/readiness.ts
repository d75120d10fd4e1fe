// Whether this server should get calls: the database can be written, and nobody has told the server to stop. Asks the
// database at most once a second, however often it is asked, and waits two seconds at most.

/** How long an answer of a probe counts, and how long one is waited for. */
const PROBE_FRESH_MS = 1_000;
const PROBE_MS_MAX = 2_000;

export type Ready = { readonly ready: true } | { readonly ready: false; readonly reason: string };

export interface ReadinessOptions {
  /** Proves that the database can be written; rejects otherwise. */
  readonly probe: () => Promise<void>;
  /** Told when the answer changes. */
  readonly onChange?: (ready: Ready) => void;
  /** Told of each answer, with what the probe failed of, or null; for the log. */
  readonly onAnswer?: (cause: unknown) => void;
  readonly timeoutMs?: number;
  readonly freshMs?: number;
}

export class Readiness {
  readonly #options: Required<ReadinessOptions>;
  #draining = false;
  #answer: Ready = { ready: true };
  #answeredAtMs = Number.NEGATIVE_INFINITY;
  #asking: Promise<Ready> | undefined;
  /** A probe that did not end in time: no further one is started beside it. */
  #hanging: Promise<void> | undefined;

  constructor(options: ReadinessOptions) {
    this.#options = {
      onChange: () => {},
      onAnswer: () => {},
      timeoutMs: PROBE_MS_MAX,
      freshMs: PROBE_FRESH_MS,
      ...options,
    };
  }

  /** From now on it is not ready, so that load balancers look elsewhere. */
  drain(): void {
    this.#draining = true;
  }

  async check(): Promise<Ready> {
    if (this.#draining) return { ready: false, reason: "draining" };
    if (performance.now() - this.#answeredAtMs < this.#options.freshMs) return this.#answer;
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined;
    });
    return await this.#asking;
  }

  async #ask(): Promise<Ready> {
    const { probe, timeoutMs } = this.#options;
    let answer: Ready = { ready: true };
    let cause: unknown = null;
    const late = Promise.withResolvers<"late">();
    const timer = setTimeout(() => late.resolve("late"), timeoutMs);
    this.#hanging ??= probe().finally(() => {
      this.#hanging = undefined;
    });
    try {
      const first = await Promise.race([this.#hanging, late.promise]);
      if (first === "late") {
        cause = new LateAnswer(timeoutMs);
        answer = { ready: false, reason: `the database did not answer within ${timeoutMs} ms` };
      }
    } catch (error) {
      cause = error;
      answer = { ready: false, reason: `the database cannot be written${labelOf(error)}` };
    } finally {
      clearTimeout(timer);
    }
    this.#options.onAnswer(cause);
    if (answer.ready !== this.#answer.ready) this.#options.onChange(answer);
    this.#answer = answer;
    this.#answeredAtMs = performance.now();
    return answer;
  }
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
