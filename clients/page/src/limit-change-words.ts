// A change of a limit, of a rate or of both, in words. Pure.

import type { LimitChangeJson, RateJson } from "#proto/rowlock/v1/lock_pb.js";
import { rateWords } from "./words.ts";

/** What the change was about; if it set again what was set, that. */
export function partsOf({ from, to, rateFrom, rateTo }: LimitChangeJson): readonly ("limit" | "rate")[] {
  const isOfRate = rateOrNone(rateFrom) !== rateOrNone(rateTo);
  if (from !== to) return isOfRate ? ["limit", "rate"] : ["limit"];
  return isOfRate || (from === undefined && rateFrom) ? ["rate"] : ["limit"];
}

/** `3 → 5`, or `limit 3 → 5; rate not set → 500 per minute`. */
export function limitWords(change: LimitChangeJson): string {
  const { from = "not set", to = "not set", rateFrom, rateTo } = change;
  const words = { limit: `${from} → ${to}`, rate: `${rateOrNone(rateFrom)} → ${rateOrNone(rateTo)}` };
  const parts = partsOf(change);
  return parts.map((part) => (parts.length === 1 ? words[part] : `${part} ${words[part]}`)).join("; ");
}

function rateOrNone(rate: RateJson | undefined): string {
  return rate ? rateWords(rate) : "not set";
}
