// One command on its way through the engine: for which lock, since when, and whom its outcome reaches. Whoever submits a
// command makes its Ask, which is called back in the tick of the commit.

import type { Command } from "../../core/command.ts";
import type { Answer, Asker, Follower } from "../answers.ts";

/** Exactly one of `settle`, `gone` and `fail` is called each time that it is given to the lanes. They must not throw. */
export abstract class Ask {
  readonly command: Command;
  /** Registered if the claim waits; null: nobody follows the claim from here. */
  readonly follower: Follower | null;
  protected readonly asker: Asker<Answer | null>;
  /** Set by the lanes, with performance.now(). */
  lockId = 0n;
  submittedMs = 0;
  /** Whether the lanes are done with it. */
  isOver = false;

  constructor(command: Command, follower: Follower | null, asker: Asker<never>) {
    this.command = command;
    this.follower = follower;
    // Whoever makes an ask ties the verb to the answers: OutcomeKinds says which outcomes each verb can have.
    this.asker = asker as Asker<unknown>;
  }

  /** The command was decided, and the decision committed. */
  settle(answer: Answer): void {
    this.asker.settle(answer);
  }

  /** The guard row is gone, or belongs to another name. */
  abstract gone(): void;

  fail(error: unknown): void {
    this.asker.fail(error);
  }
}

/** Answers null if the guard row is gone. */
export class PlainAsk extends Ask {
  gone(): void {
    this.asker.settle(null);
  }
}

/** The answer as a promise, for those who ask seldom. `begin` may throw instead of calling `fail`. */
export function promised<Given>(begin: (asker: Asker<Given>) => void): Promise<Given> {
  const { promise, resolve, reject } = Promise.withResolvers<Given>();
  begin({ settle: resolve, fail: reject });
  return promise;
}
