// The verbs that call back, made of those that return promises: for engines of which a test replaces the latter.

import type { Caller } from "../../server/core/command.ts";
import type { Asker } from "../../server/engine/answers.ts";
import type { LockEngine } from "../../server/engine/engine.ts";

interface Promising {
  readonly acquire?: unknown;
  readonly ask?: unknown;
}

export function begunVerbs({ acquire, ask }: Promising): Pick<LockEngine, "beginAcquire" | "beginAsk"> {
  const settling = (asker: Asker<never>, verb: unknown, ...asked: unknown[]) => {
    const answer = (async () => await (verb as (...asked: unknown[]) => unknown)(...asked))();
    answer.then(
      (given) => asker.settle(given as never),
      (error: unknown) => asker.fail(error),
    );
  };
  return {
    beginAcquire: (input, follower, caller: Caller | undefined, asker) =>
      settling(asker, acquire, input, follower, caller),
    beginAsk: (asked, asker) => settling(asker, ask, asked),
  };
}
