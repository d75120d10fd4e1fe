// The ids of a trace in a line of the log, by the names that OpenTelemetry gives them.

import type { Span } from "../core/span.ts";

/** undefined: the line belongs to no traced call. */
export function traceIds(span: Span | undefined) {
  return span && { trace_id: span.traceId, span_id: span.spanId };
}
