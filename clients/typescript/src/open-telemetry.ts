// What this client uses of OpenTelemetry's API, and how it finds that of the program. The types are its own, so that a
// program without OpenTelemetry needs no package for them.

import { createRequire } from "node:module";

export type Attributes = Record<string, string | number | boolean>;

export interface Span {
  spanContext(): { readonly traceId: string; readonly spanId: string; readonly traceFlags: number };
  setAttributes(attributes: Attributes): unknown;
  setStatus(status: { code: number; message?: string }): unknown;
  end(): void;
}

interface InstrumentOptions {
  readonly description?: string;
  readonly unit?: string;
}

export interface Counter {
  add(value: number, attributes?: Attributes): void;
}

export interface Histogram {
  record(value: number): void;
}

/** The part of the package `@opentelemetry/api` that this client uses. */
export interface OpenTelemetryApi {
  readonly trace: {
    getTracer(name: string): {
      startSpan(name: string, options: { kind: number; attributes?: Attributes }): Span;
    };
    getActiveSpan(): Span | undefined;
    setSpan(context: object, span: Span): object;
  };
  readonly context: {
    active(): object;
    with<Value>(context: object, run: () => Value): Value;
  };
  readonly metrics: {
    getMeter(name: string): {
      createUpDownCounter(name: string, options?: InstrumentOptions): Counter;
      createCounter(name: string, options?: InstrumentOptions): Counter;
      createHistogram(
        name: string,
        options?: InstrumentOptions & { advice?: { explicitBucketBoundaries?: number[] } },
      ): Histogram;
    };
  };
}

/** Where the API keeps what a program registers, such as its tracers. */
const REGISTERED = Symbol.for("opentelemetry.js.api.1");

/** Whether the program uses OpenTelemetry. */
export function usesOpenTelemetry(): boolean {
  return REGISTERED in globalThis;
}

/** Loads the API. Throws if the package cannot be found from here, for example in a bundle. */
export function loadOpenTelemetry(): OpenTelemetryApi {
  return createRequire(import.meta.url)("@opentelemetry/api");
}
