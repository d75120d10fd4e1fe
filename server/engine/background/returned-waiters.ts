// Clients that come back to their places while another transaction holds the lock's rows, so that nobody can decide
// about them yet. Meanwhile this replica keeps their places, as it does for streams, so that no other replica ends
// them.

import { type Claim, type ClaimKey, type ClaimRef, isServerMade } from "../../core/claim.ts";
import { comesBackTo, wasKept } from "../../core/decide.ts";
import type { Policy } from "../../core/rows.ts";
import type { Store } from "../../storage/store.ts";
import { RETURNED_READ_MAX } from "../engine-bounds.ts";
import type { Ask } from "../transaction/transaction.ts";

export interface ReturnedWaitersOptions {
  readonly store: Pick<Store, "claims" | "claimsByRequest" | "heartbeat">;
  readonly policy: Policy;
  readonly replica: bigint;
  readonly onFailure: (loop: string, error: unknown) => void;
}

interface Unread {
  readonly ask: Ask;
  /** The claims that earlier attempts at the command made. */
  readonly made: readonly ClaimKey[];
}

export class ReturnedWaiters {
  readonly #options: ReturnedWaitersOptions;
  /** Commands that wait, each with the place that it comes back to; null: none is known. */
  readonly #pending = new Map<Ask, ClaimRef | null>();
  #unread: Unread[] = [];
  #isReading = false;

  constructor(options: ReturnedWaitersOptions) {
    this.#options = options;
  }

  /** The command has to wait. If it comes back to a place, the place is kept until the command is answered. */
  heldUp(ask: Ask, made: readonly ClaimKey[] = []): void {
    const { verb } = ask.command;
    if ((verb !== "attach" && verb !== "acquire") || this.#pending.has(ask)) return;
    this.#pending.set(ask, null);
    this.#unread.push({ ask, made });
    if (this.#isReading) return;
    this.#isReading = true;
    void this.#read();
  }

  /** Places to heartbeat. */
  *claims(): Generator<ClaimRef> {
    for (const [ask, claim] of this.#pending) {
      if (ask.isOver) this.#pending.delete(ask);
      else if (claim) yield claim;
    }
  }

  async #read(): Promise<void> {
    while (this.#unread.length > 0) {
      try {
        await this.#keep(this.#unread.splice(0, RETURNED_READ_MAX));
      } catch (error) {
        this.#options.onFailure("returned-waiters", error);
      }
    }
    this.#isReading = false;
  }

  async #keep(unread: readonly Unread[]): Promise<void> {
    const { store, policy, replica } = this.#options;
    const asks = unread.map(({ ask }) => ask);
    const keys: ClaimKey[] = unread.flatMap(({ made }) => made);
    const requestIds: string[] = [];
    for (const { command } of asks) {
      if (command.verb === "attach") keys.push(command.ref);
      else if (command.verb === "acquire" && !isServerMade(command.requestId))
        requestIds.push(command.requestId);
    }
    const reads = await Promise.all([store.claims(keys), store.claimsByRequest(requestIds)]);
    const readMs = performance.now();
    const kept: Claim[] = [];
    for (const { nowUs, claims } of reads) {
      for (const claim of claims) {
        for (const ask of asks) {
          const isReturn = ask.lockId === claim.lockId && comesBackTo(ask.command, claim);
          if (!isReturn || !wasKept(claim, nowUs, (readMs - ask.submittedMs) * 1_000)) continue;
          if (!ask.isOver) this.#pending.set(ask, claim);
          kept.push(claim);
        }
      }
    }
    if (kept.length > 0) await store.heartbeat(replica, kept, policy.attachedForUs);
  }
}
