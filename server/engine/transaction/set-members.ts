// The rows of claims for several locks that this server has decided about, so that its next decision about one of them reads
// all of them at once. A decision that misses some says so, and begins anew.

import { type ClaimKey, keyText } from "../../core/claim.ts";
import type { Command } from "../../core/command.ts";
import type { Decided } from "../../core/decide-batch.ts";
import { RecentMap } from "../../core/recent-map.ts";
import { SETS_REMEMBERED_MAX } from "../engine-bounds.ts";

export class SetMembers {
  readonly #members = new RecentMap<string, readonly ClaimKey[]>(SETS_REMEMBERED_MAX);

  /** Call after a commit, with what it decided. */
  learn(decided: ReadonlyMap<bigint, Decided>): void {
    for (const { outcomes } of decided.values()) {
      for (const outcome of outcomes) {
        const claim = outcome !== undefined && "claim" in outcome ? outcome.claim : null;
        if (claim === null || claim.members === null) continue;
        if (claim.state === "ended") this.#members.delete(keyText(claim));
        else this.#members.set(keyText(claim), claim.members);
      }
    }
  }

  /** Decisions have missed their rows. */
  missed(sets: readonly (readonly ClaimKey[])[]): void {
    for (const members of sets) for (const key of members) this.#members.set(keyText(key), members);
  }

  /** Whether the command is about locks beside its own, as far as this server knows. */
  spans(command: Command): boolean {
    return this.spannedBy(command).length > 0;
  }

  /** The locks beside its own. */
  spannedBy(command: Command): readonly bigint[] {
    if (command.verb === "acquire") return command.also?.map(({ lockId }) => lockId) ?? [];
    const keys = "ref" in command ? [command.ref] : command.verb === "advance" ? (command.claims ?? []) : [];
    return keys.flatMap((key) => this.membersOf(key)?.map(({ lockId }) => lockId) ?? []);
  }

  membersOf(claim: ClaimKey): readonly ClaimKey[] | undefined {
    return this.#members.size === 0 ? undefined : this.#members.get(keyText(claim));
  }
}
