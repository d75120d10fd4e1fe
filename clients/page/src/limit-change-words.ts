// A change of a limit, of a rate, of queue rules or of several of them, in words. Pure.

import type { LimitChangeJson, QueueRulesJson, RateJson } from "#proto/rowlock/v1/lock_pb.js";
import { queueRulesWords, rateWords } from "./words.ts";

export type Part = "limit" | "rate" | "queue rules";

/** What the change was about; if it set again what was set, that. */
export function partsOf(change: LimitChangeJson): readonly Part[] {
  const all = wordsOf(change);
  const changed = PARTS.filter((part) => all[part].from !== all[part].to);
  if (changed.length > 0) return changed;
  const wasSet = change.from === undefined ? PARTS.find((part) => all[part].from !== NOT_SET) : "limit";
  return [wasSet ?? "limit"];
}

/** `3 → 5`, or `limit 3 → 5; rate not set → 500 per minute`. */
export function limitWords(change: LimitChangeJson): string {
  const all = wordsOf(change);
  const parts = partsOf(change);
  const words = (part: Part) => `${all[part].from} → ${all[part].to}`;
  return parts.map((part) => (parts.length === 1 ? words(part) : `${part} ${words(part)}`)).join("; ");
}

const PARTS: readonly Part[] = ["limit", "rate", "queue rules"];
const NOT_SET = "not set";

function wordsOf({ from, to, rateFrom, rateTo, queueRulesFrom, queueRulesTo }: LimitChangeJson) {
  const limit = (permits: number | undefined) => (permits === undefined ? NOT_SET : String(permits));
  const rate = (set: RateJson | undefined) => (set ? rateWords(set) : NOT_SET);
  const rules = (set: QueueRulesJson | undefined) => (set ? queueRulesWords(set) : NOT_SET);
  return {
    limit: { from: limit(from), to: limit(to) },
    rate: { from: rate(rateFrom), to: rate(rateTo) },
    "queue rules": { from: rules(queueRulesFrom), to: rules(queueRulesTo) },
  };
}
