// What the server knows of traces: spans of calls, and of their parts. Only types: `tracing/` makes the spans. Wherever
// a span may stand and is unset, nobody traces the call, and nothing is done for a trace.

/** Values that a span shows. Never an id that proves a right, nor the text of a statement or of an error. */
export type SpanAttributes = Readonly<Record<string, string | number>>;

/**
 * The parts of a call: its claim waits in a queue, a transaction decides about its commands, a statement of that runs.
 */
export type PartName = "queue" | "transaction" | "statement";

/** Something that takes time in a traced call. Its methods never throw; once it has ended, they do nothing. */
export interface Span {
  /** 32 hexadecimal digits, the same for all spans of a trace. */
  readonly traceId: string;
  readonly spanId: string;
  part(name: PartName, attributes?: SpanAttributes): Span;
  /** Notes that a span, perhaps of another trace, has to do with this one. */
  link(other: Span): void;
  /** `error`: one of a few words for why it failed. `atMs`: when it ended, by performance.now(); unset: now. */
  end(attributes: SpanAttributes, error?: string, atMs?: number): void;
}

export interface CallSpan extends Span {
  /**
   * One of the call's commands was decided, or its claim has moved on. The span shows the last outcome, or, if the call
   * is about several locks, only their number.
   */
  decided(outcome: string, reason: string | null, lockName?: string): void;
}

/** Where a call comes from, as its caller says: the values of W3C's headers. Malformed ones count as missing. */
export interface TraceParent {
  readonly traceparent: string | undefined;
  readonly tracestate?: string | undefined;
}

export interface Tracer {
  /** Begins the span of a call of this method, `rowlock.v1.LockService/Acquire`; undefined: the call is not sampled. */
  call(method: string, parent: TraceParent): CallSpan | undefined;
}
