// The log lines about calls that failed through no fault of the caller's: each bug in full, faults of the surroundings
// once in a while with the number of those in between.

import type { Logger } from "../log/log.ts";
import { Seldom } from "../log/seldom.ts";
import { FAULT_LOG_INTERVAL_MS } from "./grpc-bounds.ts";
import type { Failure } from "./status.ts";

export class FaultLog {
  readonly #logger: Logger;
  readonly #seldom = new Seldom(FAULT_LOG_INTERVAL_MS);

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** `cause`: what was thrown. Never shown to the client. */
  failed(method: string, failure: Failure, cause: unknown): void {
    const { reason, incident } = failure;
    if (incident) {
      this.#logger.error({ method, incident, err: cause }, "call failed: a bug in the server");
    } else if (reason === "DATABASE_UNAVAILABLE" || reason === "OVERLOADED") {
      const suppressed = this.#seldom.suppressed(reason);
      if (suppressed !== null) this.#logger.warn({ method, reason, suppressed, err: cause }, "calls fail");
    }
  }
}
