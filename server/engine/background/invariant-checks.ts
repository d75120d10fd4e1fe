// Checks now and then what `rowlock doctor` checks of the rows of live claims: a bug, or somebody who has changed rows by
// hand, is then found before a lock is granted twice. Of several servers only one does so, the one that has been in the
// register for longest. The check takes the turn of a listing, so it never takes a connection that decisions need.

import { REPLICAS_MAX, type Store } from "../../storage/store.ts";
import type { EngineObserver } from "../answers.ts";
import { CHECKED_AGAIN_MS, CHECKED_MS_MAX, FINDINGS_MAX } from "../engine-bounds.ts";
import type { ListingTurns } from "../views/views.ts";

export interface InvariantChecksOptions {
  readonly store: Pick<Store, "checkLiveClaims" | "replicas">;
  readonly turns: Pick<ListingTurns, "run">;
  readonly replica: bigint;
  readonly observer: EngineObserver;
}

export class InvariantChecks {
  readonly #options: InvariantChecksOptions;
  #restUntilMs = Number.NEGATIVE_INFINITY;

  constructor(options: InvariantChecksOptions) {
    this.#options = options;
  }

  /** Reports the findings, or why there was no check. Throws what the store throws. */
  async run(): Promise<void> {
    const { store, turns, observer } = this.#options;
    if (performance.now() < this.#restUntilMs) return;
    try {
      if (!(await this.#isFirst())) return observer({ kind: "not_checked", why: "other_server" });
      const findings = await turns.run(() => store.checkLiveClaims(FINDINGS_MAX, CHECKED_MS_MAX));
      // A warning is about a state that passes, and no damage.
      const errors = findings?.filter(({ severity }) => severity === "error");
      if (errors) return observer({ kind: "checked", findings: errors });
      this.#restUntilMs = performance.now() + CHECKED_AGAIN_MS;
      observer({ kind: "not_checked", why: "too_much" });
    } catch (error) {
      observer({ kind: "not_checked", why: "failed" });
      throw error;
    }
  }

  async #isFirst(): Promise<boolean> {
    const { store, replica } = this.#options;
    const { nowUs, replicas } = await store.replicas(REPLICAS_MAX);
    return replicas.find(({ deadlineUs }) => deadlineUs > nowUs)?.id === replica;
  }
}
