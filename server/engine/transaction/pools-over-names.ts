// Which pools are over which names, by the limit rules that this server's decisions read last. A plan reads them, and a decision
// that needs others says so. Of all locks under one root pool, the widest one, one lane decides at once: two would only meet at
// the pool's row.

import type { LimitRule } from "../../core/limit.ts";
import { poolPrefix, poolsOver } from "../../core/pools.ts";

const NONE: readonly bigint[] = [];

export class PoolsOverNames {
  #rules: readonly LimitRule[] = [];
  #ofPools: readonly LimitRule[] = [];

  /** Call after a commit, with the rules that its decision used. */
  learn(rules: readonly LimitRule[]): void {
    if (rules === this.#rules) return;
    this.#rules = rules;
    this.#ofPools = rules.filter(({ poolId }) => poolId);
  }

  /** Narrow to wide. `name` null: unknown. */
  over(name: string | null): readonly bigint[] {
    return name === null || this.#ofPools.length === 0 ? NONE : poolsOver(name, this.#ofPools);
  }

  /** The widest pool over the name of a lock or of a pool; null: there is none, as far as is known. */
  rootOf(name: string | null): bigint | null {
    if (name === null || this.#ofPools.length === 0) return null;
    return this.over(poolPrefix(name) ?? name).at(-1) ?? null;
  }
}
