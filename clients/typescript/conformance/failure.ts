// Converts an error of the client, or of the driver itself, to the protocol.

import { type ClaimEndView, RowlockError } from "../src/index.ts";

export function failureOf(error: unknown): object {
  if (error instanceof RowlockError) {
    const { reason, code, message, violations, retryAfterMs, metadata, end, diagnoses } = error;
    return {
      ...{ reason, code, message, violations, retryAfterMs, metadata, diagnoses },
      ...(end && { end: endOf(end) }),
    };
  }
  // Invalid options or a bug: the runner expects the first by its message, and never the second.
  return { reason: "", code: "", message: String(error), violations: [], metadata: {} };
}

/** How a claim ended. */
export function endOf({ endedAt, ...end }: ClaimEndView): object {
  return { ...end, ...(endedAt && { endedAtMs: endedAt.getTime() }) };
}
