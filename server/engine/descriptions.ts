// Locks as listings show them: read from the store, each with the limit that is in force for it. For people and tools;
// nothing is decided by it.

import { SHOWN_BY_GET_MAX, SHOWN_BY_LIST_MAX } from "../core/bounds.ts";
import type { LimitRule } from "../core/limit.ts";
import { effectiveLimit } from "../core/limit.ts";
import type { LockView, Store } from "../storage/store.ts";
import type { LockDescription, LockEngine } from "./lock-engine.ts";

type Source = Pick<Store, "show" | "list" | "limitRules">;

export async function describeLock(store: Source, name: string): Promise<LockDescription | null> {
  const [view, rules] = await Promise.all([store.show(name, SHOWN_BY_GET_MAX), store.limitRules()]);
  return view && described(view, rules);
}

export async function describeLocks(
  store: Source,
  query: Parameters<LockEngine["list"]>[0],
): Promise<LockDescription[]> {
  const [views, rules] = await Promise.all([
    store.list({ ...query, shown: SHOWN_BY_LIST_MAX }),
    store.limitRules(),
  ]);
  return views.map((view) => described(view, rules));
}

function described(view: LockView, rules: readonly LimitRule[]): LockDescription {
  return { ...view, limit: effectiveLimit(view.lock, rules) };
}
