// Finds the lock of a command, by its name or by the id of its claim, and submits the command to the lanes.

import { isServerMade } from "../../core/claim.ts";
import type {
  Acquire,
  Asked,
  Attach,
  Change,
  OutcomeNamed,
  Release,
  Renew,
  Withdraw,
} from "../../core/command.ts";
import { makesLock } from "../../core/decide.ts";
import type { Store } from "../../storage/store.ts";
import { STALE_ID_TRIES_MAX, UNAVAILABLE_RETRY_AFTER_MS } from "../engine-bounds.ts";
import { Fault } from "../faults.ts";
import type { Answer, AnswerTo, Follower } from "../lock-engine.ts";
import { withoutRepeating } from "./attempts.ts";
import type { Lanes } from "./lanes.ts";
import type { LockIds } from "./lock-ids.ts";

export interface CommandsOptions {
  readonly lanes: Pick<Lanes, "submit">;
  readonly lockIds: Pick<LockIds, "get" | "known" | "forget">;
  readonly store: Pick<Store, "find">;
  readonly detachments: { add(lockId: bigint, command: Withdraw): void };
}

export class Commands {
  readonly #options: CommandsOptions;

  constructor(options: CommandsOptions) {
    this.#options = options;
  }

  /** Submits a command for the lock that it names, or that its claim belongs to. */
  ask<Asking extends Asked>(asked: Asking): Promise<AnswerTo<Asking["verb"]>>;
  ask(asked: Asked): Promise<Answer> {
    if ("ref" in asked) return this.byRef(asked);
    return makesLock(asked) ? this.byName(asked) : this.#byNameIfThere(asked);
  }

  /**
   * Submits a command for a lock known by name. The guard row may have been cleaned away since the name was resolved.
   */
  async byName<Named extends Acquire | Change>(
    command: Named,
    follower: Follower | null = null,
  ): Promise<AnswerTo<Named["verb"]>> {
    const { lanes, lockIds } = this.#options;
    const { name } = command;
    for (let tries = 1; tries <= STALE_ID_TRIES_MAX; tries++) {
      const id = lockIds.get(name, command.caller);
      const lockId = typeof id === "bigint" ? id : await id;
      const answer = await lanes.submit(lockId, command, follower).catch((error: unknown) => {
        const isInDoubt = error instanceof Fault && error.outcomeUnknown;
        // The caller has no request id to repeat the call with.
        if (isInDoubt && command.verb === "acquire" && isServerMade(command.requestId))
          this.withdraw(lockId, command);
        throw error;
      });
      if (answer) return answer;
      lockIds.forget(name);
    }
    const message = "The clean-up of idle locks kept deleting the lock's row.";
    throw new Fault("unavailable", "lock_row_vanishes", message, {
      retryAfterMs: UNAVAILABLE_RETRY_AFTER_MS,
    });
  }

  /** As `byName`, but makes no lock. */
  async #byNameIfThere(command: Change): Promise<Answer> {
    // Looked up without the cache, which would make the row.
    const { lanes, store } = this.#options;
    const found = await withoutRepeating(() => store.find([command.name]));
    const lockId = found.get(command.name);
    const answer = lockId === undefined ? null : await lanes.submit(lockId, command);
    return answer ?? { outcome: { kind: "unknown_lock" }, nowUs: 0, lockId: 0n, lockName: "" };
  }

  /** Asks for one of many locks; null: the lock is no longer what it was when it was found. `id` null: it was new. */
  async oneOf(id: bigint | null, command: Acquire): Promise<AnswerTo<"acquire"> | null> {
    return id === null ? await this.byName(command) : await this.#options.lanes.submit(id, command);
  }

  /** Submits a command for a claim known by its id. Without a guard row there is no claim. */
  async byRef<Asking extends Attach | Renew | Release>(
    command: Asking,
    follower: Follower | null = null,
  ): Promise<AnswerTo<Asking["verb"]> | Answer<OutcomeNamed<"unknown_claim">>> {
    const { lockId } = command.ref;
    const { lanes } = this.#options;
    const answer = await lanes.submit(lockId, command, follower);
    return answer ?? { outcome: { kind: "unknown_claim" }, nowUs: 0, lockId, lockName: "" };
  }

  /** Ends the claim that an Acquire may have made; null: the id of its lock is unknown. */
  withdraw(lockId: bigint | null, { name, requestId, secret }: Acquire): void {
    const { lockIds, detachments } = this.#options;
    // The id of a new name is known by now, unless the row was never made.
    const id = lockId ?? lockIds.known(name);
    if (id !== undefined) detachments.add(id, { verb: "withdraw", requestId, secret });
  }
}
