// Counts the outcomes of captures. Never throws.

import type { Registry } from "prom-client";
import type { CaptureEvent } from "../engine/lock-engine.ts";
import { type HotCounter, hotCounter } from "./hot-metrics.ts";
import { Labelled } from "./labelled.ts";

const OUTCOMES: readonly CaptureEvent["outcome"][] = ["all", "some", "none", "repeated"];

export class CaptureMetrics {
  readonly #attempts: Labelled<HotCounter>;
  readonly #refused: HotCounter;

  constructor(registry: Registry) {
    const attempts = hotCounter({
      name: "rowlock_captures_total",
      help: "Attempts to capture, by what they got: all that was asked for, some, none, or what a repeated request had before.",
      labelNames: ["outcome"],
      registry,
    });
    this.#attempts = new Labelled((outcome) => attempts({ outcome }), OUTCOMES);
    this.#refused = hotCounter({
      name: "rowlock_capture_refusals_total",
      help: "Locks that were found free for a capture and could not be had, as somebody else came first.",
      labelNames: [],
      registry,
    })({});
  }

  observe({ outcome, refused }: CaptureEvent): void {
    this.#attempts.of(outcome).inc();
    this.#refused.inc(refused);
  }
}
