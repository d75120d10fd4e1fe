// Proves that decisions succeed by making some: two requests for a lock of the replica's own, and their release. The
// requests take the way of every command, so they fail where clients' commands fail. One request waits behind the
// other, because a transaction that leaves a waiter also needs the row of rowlock_meta.

import type { ClaimRef } from "../../core/claim.ts";
import { probeName } from "../../core/own-names.ts";
import { PROBE_TTL_US } from "../engine-bounds.ts";
import type { AcquireInput, Answer } from "../lock-engine.ts";

export interface ProbeOptions {
  readonly replica: bigint;
  readonly acquire: (input: AcquireInput) => Promise<Answer>;
  readonly release: (ref: ClaimRef) => Promise<unknown>;
}

export class Probe {
  readonly #options: ProbeOptions;
  readonly #input: AcquireInput;
  #lockId: bigint | null = null;

  constructor(options: ProbeOptions) {
    this.#options = options;
    this.#input = {
      name: probeName(options.replica),
      mode: "exclusive",
      permits: 1,
      ttlUs: PROBE_TTL_US,
      requestId: "",
      owner: "",
      labels: {},
      terms: null,
      maxWaitUs: PROBE_TTL_US,
      mayWait: true,
    };
  }

  /** The id of the probe's lock; null before the first run. */
  get lockId(): bigint | null {
    return this.#lockId;
  }

  /** Calls `heard` after each answer. Throws what a client's call would throw; leftovers then end by themselves. */
  async run(heard = () => {}): Promise<void> {
    const { acquire, release } = this.#options;
    const answers = await Promise.all([acquire(this.#input), acquire(this.#input)]);
    heard();
    await Promise.all(
      answers.map(async ({ outcome, lockId }) => {
        this.#lockId = lockId;
        if ("claim" in outcome) await release(outcome.claim);
        heard();
      }),
    );
  }
}
