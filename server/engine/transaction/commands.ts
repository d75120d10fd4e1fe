// Finds the lock of a command, by its name or by the id of its claim, and gives an ask of it to the lanes. Throws nothing:
// whoever asks is called back with the answer, or with the failure.

import { isServerMade } from "../../core/claim.ts";
import type {
  Acquire,
  Asked,
  Attach,
  Change,
  FurtherLock,
  Release,
  Renew,
  SetLimit,
  Withdraw,
} from "../../core/command.ts";
import { makesLock } from "../../core/decide.ts";
import type { Store } from "../../storage/store.ts";
import type { Answer, AnswerTo, Asker, Follower } from "../answers.ts";
import { STALE_ID_TRIES_MAX, UNAVAILABLE_RETRY_AFTER_MS } from "../engine-bounds.ts";
import { Fault, withoutRepeating } from "../faults.ts";
import type { Lanes } from "./lanes.ts";
import type { LockIds } from "./lock-ids.ts";
import type { Locks } from "./locks.ts";
import { Ask, promised } from "./transaction.ts";

export interface CommandsOptions {
  readonly lanes: Pick<Lanes, "add" | "submit">;
  readonly locks: Pick<Locks, "named" | "forgetName">;
  readonly lockIds: Pick<LockIds, "lookUp">;
  readonly store: Pick<Store, "find">;
  readonly detachments: { add(lockId: bigint, command: Withdraw): void };
  /** Resolves when no server decides that knows nothing of claims for several locks, or of queue rules. Rejects with a Fault. */
  readonly keepOldServersOut: () => Promise<void>;
}

export class Commands {
  readonly options: CommandsOptions;

  constructor(options: CommandsOptions) {
    this.options = options;
  }

  /** Calls the asker back, and throws nothing. An Acquire or an Attach may have a follower. */
  begin(command: Acquire | Attach | Asked, follower: Follower | null, asker: Asker<never>): void {
    if ("ref" in command)
      addTo(this.options.lanes, command.ref.lockId, new ClaimAsk(command, follower, asker));
    else if (command.verb === "acquire" || makesLock(command))
      new NamedAsk(command, follower, asker, this).begin();
    else {
      const asked = asker as Asker<unknown>;
      this.#byNameIfThere(command).then(
        (answer) => asked.settle(answer),
        (error: unknown) => asked.fail(error),
      );
    }
  }

  /** Finds a lock by its name without making it. */
  async #byNameIfThere(command: Change): Promise<Answer> {
    // Looked up without the cache, which would make the row.
    const { lanes, store } = this.options;
    const found = await withoutRepeating(() => store.find([command.name]));
    const lockId = found.get(command.name);
    const answer = lockId === undefined ? null : await lanes.submit(lockId, command);
    return answer ?? { outcome: { kind: "unknown_lock" }, nowUs: 0, lockId: 0n, lockName: "" };
  }

  /** Asks for one of many locks; null: the lock is no longer what it was when it was found. `id` null: it was new. */
  async oneOf(id: bigint | null, command: Acquire): Promise<AnswerTo<"acquire"> | null> {
    if (id !== null) return await this.options.lanes.submit(id, command);
    return await promised<AnswerTo<"acquire">>((asker) => this.begin(command, null, asker));
  }

  byRef<Asking extends Attach | Renew | Release>(
    command: Asking,
    follower: Follower | null = null,
  ): Promise<AnswerTo<Asking["verb"]>> {
    return promised((asker) => this.begin(command, follower, asker));
  }

  /** Ends the claim that an Acquire may have made; null: the id of its lock is unknown. */
  withdraw(lockId: bigint | null, { name, requestId, secret }: Acquire): void {
    const { locks, detachments } = this.options;
    // The id of a new name is known by now, unless the row was never made.
    const id = lockId ?? locks.named(name)?.id;
    if (id !== undefined) detachments.add(id, { verb: "withdraw", requestId, secret });
  }
}

function addTo(lanes: Pick<Lanes, "add">, lockId: bigint, ask: Ask): void {
  try {
    lanes.add(lockId, ask);
  } catch (error) {
    ask.fail(error);
  }
}

class ClaimAsk extends Ask {
  override gone(): void {
    this.asker.settle({ outcome: { kind: "unknown_claim" }, nowUs: 0, lockId: this.lockId, lockName: "" });
  }
}

class NamedAsk extends Ask {
  declare readonly command: Acquire | Change;
  readonly #commands: Commands;
  #tries = 0;

  constructor(command: Acquire | Change, follower: Follower | null, asker: Asker<never>, commands: Commands) {
    super(command, follower, asker);
    this.#commands = commands;
  }

  begin(): void {
    this.#tries += 1;
    const { lanes, locks, lockIds } = this.#commands.options;
    const { name, caller } = this.command;
    try {
      const lock = locks.named(name);
      const { also, queueRules } = this.command as Partial<Acquire & SetLimit>;
      if (also || queueRules) this.#findAll(also ?? []);
      else if (lock) lanes.add(lock, this);
      else
        lockIds.lookUp(name, caller).then(
          (id) => addTo(lanes, id, this),
          (error: unknown) => this.asker.fail(error),
        );
    } catch (error) {
      this.fail(error);
    }
  }

  /** Looked up in the order of the request. Each look-up makes the row of a name that nobody has used. */
  #findAll(also: readonly FurtherLock[]): void {
    const { lanes, locks, lockIds, keepOldServersOut } = this.#commands.options;
    const { name, caller } = this.command;
    const idOf = async (wanted: string) => locks.named(wanted)?.id ?? (await lockIds.lookUp(wanted, caller));
    Promise.all([
      idOf(name),
      ...also.map(async (wanted) => {
        wanted.lockId = await idOf(wanted.name);
      }),
      keepOldServersOut(),
    ]).then(
      ([id]) => addTo(lanes, id, this),
      (error: unknown) => this.asker.fail(error),
    );
  }

  override gone(): void {
    const { locks } = this.#commands.options;
    locks.forgetName(this.command.name);
    for (const { name } of (this.command as Partial<Acquire>).also ?? []) locks.forgetName(name);
    if (this.#tries < STALE_ID_TRIES_MAX) {
      this.begin();
      return;
    }
    const message = "The clean-up of idle locks kept deleting the lock's row.";
    const retryAfterMs = UNAVAILABLE_RETRY_AFTER_MS;
    this.asker.fail(new Fault("unavailable", "lock_row_vanishes", message, { retryAfterMs }));
  }

  override fail(error: unknown): void {
    const { command } = this;
    const isInDoubt = error instanceof Fault && error.outcomeUnknown;
    // The caller has no request id to repeat the call with.
    if (isInDoubt && command.verb === "acquire" && isServerMade(command.requestId))
      this.#commands.withdraw(this.lockId, command);
    super.fail(error);
  }
}
