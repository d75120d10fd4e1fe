// The log lines about calls that failed through no fault of the caller's: each bug in full, faults of the surroundings
// once in a while with the number of those in between.

import type { Logger } from "./call-observer.ts";
import { FAULT_LOG_INTERVAL_MS } from "./grpc-bounds.ts";
import type { Failure } from "./status.ts";

export class FaultLog {
  readonly #logger: Logger;
  readonly #muted = new Map<string, { untilMs: number; suppressed: number }>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** `cause`: what was thrown. Never shown to the client. */
  failed(method: string, failure: Failure, cause: unknown): void {
    const { reason, incident } = failure;
    if (incident) {
      this.#logger.error({ method, incident, err: cause }, "call failed: a bug in the server");
    } else if (reason === "DATABASE_UNAVAILABLE" || reason === "OVERLOADED") {
      this.#seldom(method, reason, cause);
    }
  }

  #seldom(method: string, reason: string, cause: unknown): void {
    const nowMs = performance.now();
    const muted = this.#muted.get(reason);
    if (muted && nowMs < muted.untilMs) {
      muted.suppressed += 1;
      return;
    }
    const suppressed = muted?.suppressed ?? 0;
    this.#muted.set(reason, { untilMs: nowMs + FAULT_LOG_INTERVAL_MS, suppressed: 0 });
    this.#logger.warn({ method, reason, suppressed, err: cause }, "calls fail");
  }
}
