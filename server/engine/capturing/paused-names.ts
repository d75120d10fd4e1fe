// Which names patterns pause, so that a search passes them over where they lie.

import type { LimitRule } from "../../core/limit.ts";
import type { PausedNames } from "../../storage/store.ts";

/** Of names that begin with `prefix`. Those with a limit of their own are not paused by any pattern. */
export function pausedUnder(prefix: string, rules: readonly LimitRule[]): PausedNames[] {
  const inForce = rules.filter(({ limit }) => limit !== null);
  return inForce
    .filter((rule) => rule.limit === 0 && (rule.prefix.startsWith(prefix) || prefix.startsWith(rule.prefix)))
    .map((rule) => ({
      prefix: rule.prefix,
      // Of these the longer pattern decides; where it pauses, too, it is there by itself.
      except: inForce
        .filter((other) => other.prefix.length > rule.prefix.length && other.prefix.startsWith(rule.prefix))
        .map((other) => other.prefix),
    }));
}
