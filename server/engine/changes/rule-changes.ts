// Finds the locks where a change of the limit rules may admit a waiter. If several servers of a database accept writes,
// one may keep a waiter by older rules while another one changes the rules, and neither sees the other. So each replica
// remembers the rules of its last decision about each lock followed here, and decides again if they have changed.

import type { LimitRule } from "../../core/limit.ts";
import type { Store } from "../../storage/store.ts";

export type Rules = readonly LimitRule[];

export class RuleChanges {
  readonly #read: Store["limitRules"];
  readonly #onChanged: (prefixes: readonly string[]) => void;
  #revision: bigint | null = null;
  #rules: Rules = [];
  /** Prefixes of the rules that have changed, by the older rules. */
  #changed = new Map<Rules, readonly string[]>();

  /** Calls `onChanged` with the prefixes of the rules that have changed since the rules were read before. */
  constructor(read: Store["limitRules"], onChanged: (prefixes: readonly string[]) => void) {
    this.#read = read;
    this.#onChanged = onChanged;
  }

  /** The current rules. */
  get rules(): Rules {
    return this.#rules;
  }

  /** Reports the current revision of the rules. Throws StoreErrors; the caller must then report it again. */
  async saw(revision: bigint): Promise<void> {
    if (revision === this.#revision) return;
    // These may be rules of a later revision. That revision is reported soon, and the rules are read again.
    const rules = await this.#read();
    const prefixes = this.#revision === null ? [] : changedPrefixes(this.#rules, rules);
    this.#rules = rules;
    this.#changed = new Map();
    this.#revision = revision;
    if (prefixes.length > 0) this.#onChanged(prefixes);
  }

  /** Whether the current rules might decide about a lock of this name differently from `before`. */
  concerns(name: string, before: Rules): boolean {
    if (before === this.#rules) return false;
    let prefixes = this.#changed.get(before);
    if (!prefixes) {
      prefixes = changedPrefixes(before, this.#rules);
      this.#changed.set(before, prefixes);
    }
    return prefixes.some((prefix) => name.startsWith(prefix));
  }
}

function changedPrefixes(before: Rules, now: Rules): string[] {
  const old = new Map(before.map((rule) => [rule.prefix, rule]));
  const changed = now.filter(({ prefix, version, limit }) => {
    const rule = old.get(prefix);
    old.delete(prefix);
    return rule ? rule.version !== version || rule.limit !== limit : limit !== null;
  });
  return [...changed.map(({ prefix }) => prefix), ...old.keys()];
}
