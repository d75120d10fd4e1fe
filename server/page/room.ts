// Counts what pages have open at this server, so that probes and scrapes keep their connections.

import type { ServerResponse } from "node:http";
import type { BoundUse } from "../core/bound-use.ts";

export class Room {
  readonly #bound: string;
  readonly #max: number;
  #used = 0;

  /** `bound`: its name in metrics and errors. */
  constructor(bound: string, max: number) {
    this.#bound = bound;
    this.#max = max;
  }

  get bound(): BoundUse {
    return { bound: this.#bound, kind: "room", used: this.#used, max: this.#max };
  }

  /** Counts a request until its answer has been sent or its browser has gone; false: there is no room for it. */
  enter(response: ServerResponse): boolean {
    if (this.#used >= this.#max) return false;
    this.#used += 1;
    response.once("close", () => {
      this.#used -= 1;
    });
    return true;
  }
}
