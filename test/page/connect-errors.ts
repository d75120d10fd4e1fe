// Errors of the Connect protocol, as tests read them.

import type { Json } from "./event-reader.ts";

/** An error of Connect with its reason and violations beside its code. */
export function withReason(json: Json): Json {
  const { details } = (json ?? {}) as { details?: { type: string; debug?: Record<string, unknown> }[] };
  const of = (type: string) => details?.find((detail) => detail.type === type)?.debug;
  const reason = of("google.rpc.ErrorInfo")?.reason;
  return reason === undefined
    ? json
    : { ...json, reason, violations: of("google.rpc.BadRequest")?.fieldViolations };
}
