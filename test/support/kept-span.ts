// A span that keeps what is done to it, for tests of parts of a server.

import type { CallSpan, PartName, Span, SpanAttributes } from "../../server/core/span.ts";

export interface KeptEnd {
  readonly attributes: SpanAttributes;
  readonly error: string | undefined;
  readonly atMs: number | undefined;
}

export class KeptSpan implements CallSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly name: string;
  readonly begunWith: SpanAttributes;
  readonly parts: KeptSpan[] = [];
  readonly links: Span[] = [];
  readonly ends: KeptEnd[] = [];
  readonly outcomes: [outcome: string, reason: string | null, lockName?: string][] = [];

  constructor(name: string, traceId = `trace of ${name}`, begunWith: SpanAttributes = {}) {
    this.name = name;
    this.traceId = traceId;
    this.spanId = `span of ${name}`;
    this.begunWith = begunWith;
  }

  part(name: PartName, attributes: SpanAttributes = {}): KeptSpan {
    const part = new KeptSpan(name, this.traceId, attributes);
    this.parts.push(part);
    return part;
  }

  link(other: Span): void {
    this.links.push(other);
  }

  end(attributes: SpanAttributes, error?: string, atMs?: number): void {
    this.ends.push({ attributes, error, atMs });
  }

  decided(...outcome: [outcome: string, reason: string | null, lockName?: string]): void {
    this.outcomes.push(outcome);
  }
}
