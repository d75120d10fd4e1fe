// The leases of one session: tells which of them have ended, and confirms those that were granted after a wait, once the
// client has acknowledged the grant. Not at once: many are renewed or given back by then.

import type { Lease, RefusalReason } from "#proto/rowlock/v1/lock_pb.js";
import type { SessionResponse } from "#proto/rowlock/v1/lock_service_pb.js";
import type { Claim, ClaimRef } from "../../core/claim.ts";
import { parseClaimId } from "../../core/claim-id.ts";
import { Fault } from "../../engine/faults.ts";
import type { LockEngine } from "../../engine/lock-engine.ts";
import { leaseMessage } from "../messages/messages.ts";
import { reasonMessage } from "../messages/reasons.ts";
import { type AnyLease, shorten } from "./leases-in.ts";

export interface SessionLeasesOptions {
  readonly engine: Pick<LockEngine, "onLost" | "confirm" | "nowUs">;
  readonly confirmAfterMs: number;
  readonly say: (part: Partial<Pick<SessionResponse, "lost" | "confirmed">>) => void;
  /** Something that nobody foresaw. */
  readonly onBug: (error: unknown) => void;
}

interface Held {
  readonly ref: ClaimRef;
  readonly lockName: string;
  isProvisional: boolean;
  /** Takes the listener away. */
  readonly forget: () => void;
}

export class SessionLeases {
  readonly #options: SessionLeasesOptions;
  readonly #held = new Map<string, Held>();
  /** Provisional leases, by the responses that brought them, in order. */
  #unacknowledged: { readonly response: number; readonly leaseId: string }[] = [];
  #toConfirm: string[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(options: SessionLeasesOptions) {
    this.#options = options;
  }

  /** The response tells the client of this lease. */
  told(lease: AnyLease, response: number): void {
    const { leaseId = "", lockName = "", provisional = false } = lease;
    const held = this.#held.get(leaseId);
    if (held) held.isProvisional = provisional;
    else {
      const ref = parseClaimId(leaseId) as ClaimRef;
      const forget = this.#options.engine.onLost(ref, (ended) => this.#lost(leaseId, lockName, ended));
      this.#held.set(leaseId, { ref, lockName, isProvisional: provisional, forget });
    }
    if (provisional) this.#unacknowledged.push({ response, leaseId });
  }

  /** The client gives it back, so its end is no loss. */
  givenBack(leaseId: string): void {
    this.#held.get(leaseId)?.forget();
    this.#held.delete(leaseId);
  }

  /** The client has received so many responses. */
  acknowledged(received: bigint): void {
    const first = this.#unacknowledged[0];
    if (!first || first.response > received) return;
    const rest = this.#unacknowledged.findIndex(({ response }) => response > received);
    const read = this.#unacknowledged.splice(0, rest < 0 ? this.#unacknowledged.length : rest);
    for (const { leaseId } of read) this.#toConfirm.push(leaseId);
    this.#confirmLater();
  }

  close(): void {
    clearTimeout(this.#timer);
    for (const { forget } of this.#held.values()) forget();
    this.#held.clear();
    this.#unacknowledged = [];
    this.#toConfirm = [];
  }

  #lost(leaseId: string, lockName: string, { endReason }: Claim): void {
    if (!this.#held.delete(leaseId) || !endReason) return;
    const reason: RefusalReason = reasonMessage(endReason);
    this.#options.say({ lost: [{ $typeName: "rowlock.v1.LostLease", leaseId, lockName, reason }] });
  }

  #confirmLater(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      for (const leaseId of this.#toConfirm.splice(0)) void this.#confirm(leaseId);
    }, this.#options.confirmAfterMs);
  }

  async #confirm(leaseId: string): Promise<void> {
    const held = this.#held.get(leaseId);
    if (!held?.isProvisional) return;
    try {
      const { outcome, nowUs } = await this.#options.engine.confirm(held.ref);
      if (outcome.kind !== "held" || !this.#held.has(leaseId)) return;
      held.isProvisional = false;
      const lease: Lease = leaseMessage(outcome.claim, held.lockName, nowUs);
      shorten(lease, this.#options.engine.nowUs());
      this.#options.say({ confirmed: [lease] });
    } catch (error) {
      if (!(error instanceof Fault)) return this.#options.onBug(error);
      // The database is away, or has too much to do. By the end of the grace period it is over by itself.
      if (!this.#held.has(leaseId)) return;
      this.#toConfirm.push(leaseId);
      this.#confirmLater();
    }
  }
}
