// An error of the client, or of the driver itself, as the protocol shows it.

import { RowlockError } from "../src/index.ts";

export function failureOf(error: unknown): object {
  if (error instanceof RowlockError) {
    const { reason, code, message, violations, retryAfterMs, metadata } = error;
    return { reason, code, message, violations, retryAfterMs, metadata };
  }
  // Of options that cannot work, and of bugs: the runner expects the first by its words, and never the second.
  return { reason: "", code: "", message: String(error), violations: [], metadata: {} };
}
