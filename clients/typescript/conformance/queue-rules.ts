// Shows queue rules in the form of the protocol.

import type { QueueRulesView, SetQueueRules } from "../src/index.ts";

/** Queue rules, and what is in force with them if that is known. */
export function queueRulesOf(rules: SetQueueRules & Partial<QueueRulesView>): object {
  const { version: _, ...shown } = rules;
  return shown;
}
