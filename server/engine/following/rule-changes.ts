// Which locks a change of the limit rules may let somebody in at. Where several servers of a database can be written, one may
// leave a waiter by older rules while another one changes them, and neither sees the other. So each server remembers by
// which rules it has decided last about the locks that are followed here, and decides again where they are others now.

import type { LimitRule } from "../../core/limit.ts";
import type { Store } from "../../storage/store.ts";

export type Rules = readonly LimitRule[];

export class RuleChanges {
  readonly #read: Store["limitRules"];
  #revision: bigint | null = null;
  #rules: Rules = [];
  /** Prefixes of rules that are others now, by the rules of before. */
  #changed = new Map<Rules, readonly string[]>();

  constructor(read: Store["limitRules"]) {
    this.#read = read;
  }

  /** The rules as they are now. */
  get rules(): Rules {
    return this.#rules;
  }

  /** The rules have this revision now. Throws StoreErrors; it is to be told of it again then. */
  async saw(revision: bigint): Promise<void> {
    if (revision === this.#revision) return;
    // Those of a later revision, it may be: then that one is told of soon, and they are read again.
    this.#rules = await this.#read();
    this.#changed = new Map();
    this.#revision = revision;
  }

  /** Whether a decision about a lock of this name might be another one now than by those rules. */
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
