// Logs calls that failed through no fault of the caller: each bug in full, other faults once per reason and interval
// with the number suppressed in between. Failures that belong to a database outage go to the outage log, which also
// covers background loops.

import type { Logger } from "../log/log.ts";
import type { OutageLog } from "../log/outage-log.ts";
import { Seldom } from "../log/seldom.ts";
import { FAULT_LOG_INTERVAL_MS } from "./grpc-bounds.ts";
import type { Reason } from "./messages/call-error.ts";
import type { Failure } from "./messages/status.ts";

const LOGGED: ReadonlySet<Reason> = new Set(["DATABASE_UNAVAILABLE", "OUTCOME_UNKNOWN", "OVERLOADED"]);

export class FaultLog {
  readonly #logger: Logger;
  readonly #outage: Pick<OutageLog, "failed"> | undefined;
  readonly #seldom = new Seldom(FAULT_LOG_INTERVAL_MS);

  /** Without `outage`, this log also takes the failures of a database outage. */
  constructor(logger: Logger, outage?: Pick<OutageLog, "failed">) {
    this.#logger = logger;
    this.#outage = outage;
  }

  /** `cause`: what was thrown; the client never sees it. */
  failed(method: string, failure: Failure, cause: unknown): void {
    const { reason, incident } = failure;
    if (incident) {
      this.#logger.error({ method, incident, err: cause }, "call failed: a bug in the server");
    } else if (LOGGED.has(reason)) {
      if (this.#outage?.failed({ method }, cause)) return;
      const suppressed = this.#seldom.suppressed(reason);
      if (suppressed !== null) this.#logger.warn({ method, reason, suppressed, err: cause }, "calls fail");
    }
  }
}
