// An engine that holds one verb, before or after its decision, until the test lets it go.

import type { Asked } from "../../server/core/command.ts";
import type { LockEngine } from "../../server/engine/engine.ts";
import { replacing } from "./harness.ts";

type Acquire = Parameters<LockEngine["acquire"]>;

interface Gate {
  /** `after`: it is decided, and its answer is held. */
  readonly when?: "before" | "after";
  /** Which Acquires are held: by default all. */
  readonly isMeant?: (...asked: Acquire) => boolean;
}

/** `wrapEngine` for a server; `reached` resolves when the first command is held. */
export function gatedVerb(
  verb: "acquire" | Asked["verb"],
  { when = "before", isMeant = () => true }: Gate = {},
) {
  const reached = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  let held = 0;
  const hold = async <Answer>(decide: () => Promise<Answer>): Promise<Answer> => {
    const answer = when === "after" ? await decide() : undefined;
    held += 1;
    reached.resolve();
    await gate.promise;
    return answer ?? (await decide());
  };
  const wrapEngine = (engine: LockEngine) =>
    verb === "acquire"
      ? replacing(engine, {
          acquire: (...asked) =>
            isMeant(...asked) ? hold(() => engine.acquire(...asked)) : engine.acquire(...asked),
        })
      : replacing(engine, {}, { [verb]: (asked: Asked) => hold(() => engine.ask(asked as never)) });
  return { wrapEngine, reached: reached.promise, letGo: () => gate.resolve(), held: () => held };
}
