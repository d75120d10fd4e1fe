// Finds the names that patterns pause, so that the search for candidates skips them in the index.

import type { LimitRule } from "../../core/limit.ts";
import type { PausedNames } from "../../storage/store.ts";

/** The paused names under `prefix`. No pattern pauses a name with a limit of its own. */
export function pausedUnder(prefix: string, rules: readonly LimitRule[]): PausedNames[] {
  const inForce = rules.filter(({ limit }) => limit !== null);
  return inForce
    .filter((rule) => rule.limit === 0 && (rule.prefix.startsWith(prefix) || prefix.startsWith(rule.prefix)))
    .map((rule) => ({
      prefix: rule.prefix,
      // A longer pattern decides about these names. If it pauses too, the list has it as a separate entry.
      except: inForce
        .filter((other) => other.prefix.length > rule.prefix.length && other.prefix.startsWith(rule.prefix))
        .map((other) => other.prefix),
    }));
}
