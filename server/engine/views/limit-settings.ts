// The limits that were set, for listings: those of patterns, then those of names, each in byte order. Throws
// StoreErrors.

import { type LimitRule, patternOf } from "../../core/limit.ts";
import type { Store } from "../../storage/store.ts";
import type { LimitSetting, LimitsQuery } from "../lock-engine.ts";
import { lockSteps } from "./lock-steps.ts";

export async function* limitSettings(
  store: Pick<Store, "list">,
  rules: readonly LimitRule[],
  { prefix, after, max }: LimitsQuery,
): AsyncGenerator<LimitSetting, void, void> {
  if (after?.kind !== "name") yield* patterns(rules, prefix, after?.target ?? null);
  const afterName = after?.kind === "name" ? after.target : null;
  for await (const locks of lockSteps(store, { prefix, afterName, max, which: "limited" })) {
    for (const { name, limit, limitVersion, limitReason } of locks) {
      if (limit === null) continue;
      yield { kind: "name", target: name, limit, version: limitVersion, reason: limitReason };
    }
  }
}

/** In the order of the bytes before the star. */
function* patterns(
  rules: readonly LimitRule[],
  prefix: string,
  after: string | null,
): Generator<LimitSetting, void, void> {
  const bytes = (text: string) => Buffer.from(text);
  const afterBytes = after === null ? null : bytes(after.slice(0, -1));
  const wanted = rules
    .filter((rule) => patternOf(rule).startsWith(prefix))
    .map((rule) => ({ rule, key: bytes(rule.prefix) }))
    .filter(({ key }) => afterBytes === null || Buffer.compare(key, afterBytes) > 0)
    .sort((a, b) => Buffer.compare(a.key, b.key));
  for (const { rule } of wanted) {
    const { limit, version, reason } = rule;
    if (limit !== null) yield { kind: "pattern", target: patternOf(rule), limit, version, reason };
  }
}
