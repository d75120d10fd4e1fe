// Spans as a collector gets them, and how they belong together.

/** A span that has ended, in the words of OTLP. */
export interface SeenSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  /** Empty: it has none. */
  readonly parentId: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** Ids of the spans that it has links to. */
  readonly links: readonly string[];
  /** Why it failed; undefined: it did not. */
  readonly error: string | undefined;
  readonly startNs: bigint;
  readonly endNs: bigint;
  readonly tracestate: string;
}

export class SpanTree<Span extends SeenSpan = SeenSpan> {
  readonly all: readonly Span[];

  constructor(spans: readonly Span[]) {
    this.all = spans;
  }

  /** The only span of this name. */
  one(name: string): Span {
    const [only, ...others] = this.all.filter((span) => span.name === name);
    if (only && others.length === 0) return only;
    throw new Error(`not one span is named ${name}: ${this.all.map((span) => span.name)}`);
  }

  /** Its parts, in the order in which they began. */
  parts({ spanId }: SeenSpan, name?: string): Span[] {
    return this.all
      .filter((span) => span.parentId === spanId && (name === undefined || span.name === name))
      .sort((a, b) => Number(a.startNs - b.startNs));
  }
}

/** A trace context of a caller: its headers, and their parts. */
export function newTrace(isSampled = true) {
  const traceId = hex(32);
  const parentId = hex(16);
  return { traceId, parentId, traceparent: `00-${traceId}-${parentId}-0${Number(isSampled)}` };
}

function hex(digits: number): string {
  const digit = () => Math.floor(Math.random() * 16).toString(16);
  return `1${Array.from({ length: digits - 1 }, digit).join("")}`;
}
