// What is used of each bound of the server, as its keepers report it at each scrape: nothing is counted for it before.

import type { BoundUse } from "../core/bound-use.ts";
import type { AllSeries } from "./table.ts";

/** Reports the bounds that a part of the server keeps. */
export type BoundSource = () => readonly BoundUse[];

export class BoundGauges {
  readonly #series: AllSeries;
  readonly #sources: BoundSource[] = [];
  /** The bounds of the last scrape. */
  #shown: readonly BoundUse[] = [];

  constructor(series: AllSeries) {
    this.#series = series;
  }

  add(source: BoundSource): void {
    this.#sources.push(source);
  }

  refresh(): void {
    const { boundUsed, boundMax } = this.#series;
    // A quota that nobody uses any more is not reported.
    for (const { bound, kind } of this.#shown)
      for (const gauge of [boundUsed, boundMax]) gauge.of(bound).of(kind).leaveOut();
    this.#shown = this.#sources.flatMap((source) => source()).filter(({ max }) => Number.isFinite(max));
    for (const { bound, kind, used, max } of this.#shown) {
      boundUsed.of(bound).of(kind).set(used);
      boundMax.of(bound).of(kind).set(max);
    }
  }
}
