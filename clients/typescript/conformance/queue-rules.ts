// Converts queue rules from and to the form of the protocol.

import type { QueueRules, QueueRulesView, SetQueueRules } from "../src/index.ts";

/** Queue rules in a command. */
export type AskedQueueRules = Omit<QueueRules, "headStartMax"> & { readonly headStartMaxMs?: number };

export function queueRulesAsked({ headStartMaxMs, ...rules }: AskedQueueRules): QueueRules {
  return { ...rules, ...(headStartMaxMs !== undefined && { headStartMax: headStartMaxMs }) };
}

/** Queue rules, and what is in force with them if that is known. */
export function queueRulesOf(rules: SetQueueRules & Partial<QueueRulesView>): object {
  const { version: _, headStartMax, ...shown } = rules;
  return { ...shown, ...(headStartMax !== undefined && { headStartMaxMs: headStartMax }) };
}
