// The leases of one session: reports which of them have ended, and confirms those granted after a wait once the client has
// acknowledged the grant; a little later, because the client renews or releases many leases before that. A lease belongs
// to the session from the tick of the commit that gave or kept it, so that no end goes unreported while the answer is on
// its way.

import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Lease, LeaseSchema } from "#proto/rowlock/v1/lock_pb.js";
import type { SessionResponse } from "#proto/rowlock/v1/lock_service_pb.js";
import {
  type Claim,
  type ClaimRef,
  formatClaimId,
  isGivenBack,
  parseClaimId,
  secretOf,
} from "../../core/claim.ts";
import type { LockEngine } from "../../engine/engine.ts";
import { Fault } from "../../engine/faults.ts";
import { LEASE_FORGOTTEN_AFTER_MS } from "../grpc-bounds.ts";
import { CallError } from "../messages/call-error.ts";
import { durationMessage, endMessage, leaseMessage, spanUs } from "../messages/messages.ts";

type AnyLease = MessageInitShape<typeof LeaseSchema>;

export interface SessionLeasesOptions {
  readonly engine: Pick<LockEngine, "onLost" | "nowUs">;
  readonly confirm: LockEngine["confirm"];
  readonly confirmAfterMs: number;
  readonly say: (part: Partial<Pick<SessionResponse, "lost" | "confirmed">>) => void;
  /** The ended claim, as far as the session's caller may see how it ended. */
  readonly shown: (ended: Claim, lockName: string) => Claim;
  readonly onBug: (error: unknown) => void;
  /** This server's own clock; unset: performance.now(). */
  readonly nowMs?: () => number;
}

/**
 * What a session knows of a lease:
 *
 *   unheard ──┬─► provisional ──┬─► held ──► given_back
 *             ├─► endless ──────┤
 *             └─────────────────┘
 *
 * - `unheard`: no answer has carried it to the client yet.
 * - `provisional`: the client has it, and it is to be confirmed once the client has acknowledged it.
 * - `endless`: the same for a lease without end. No deadline ends it if its client never received it, so it is
 *   confirmed, too, but the client need not know.
 * - `held`: the client has it.
 * - `given_back`: the client has released it.
 *
 * An answer to a renewal may make it provisional again. `ended` is set as soon as it has ended in any state.
 */
type State = "unheard" | "provisional" | "endless" | "held" | "given_back";

export interface SessionLease {
  readonly ref: ClaimRef;
  lockName: string;
  state: State;
  ended: Claim | undefined;
  /** When it ends unless it is renewed, by this server's own clock; null: never by itself. */
  endsAtMs: number | null;
  /** Answers about it that are decided but not sent yet. */
  answers: number;
  releases: number;
  isForgotten: boolean;
  readonly forget: () => void;
}

export class SessionLeases {
  readonly #options: SessionLeasesOptions;
  readonly #nowMs: () => number;
  /** By secret, which no other lease has: an id would be made anew, and hashed, for each look. */
  readonly #held = new Map<string, SessionLease>();
  /** Leases to confirm, with the responses that carried them, in order. */
  #unacknowledged: { readonly response: number; readonly lease: SessionLease }[] = [];
  #toConfirm: SessionLease[] = [];
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: SessionLeasesOptions) {
    this.#options = options;
    this.#nowMs = options.nowMs ?? (() => performance.now());
  }

  get count(): number {
    return this.#held.size;
  }

  /** An open call was given the lease or has kept it, in the tick of the commit. Pass the result to `answered`. */
  decided(claim: Claim): SessionLease | undefined {
    if (this.#isClosed) return undefined;
    const lease = this.#lease(claim);
    lease.answers += 1;
    lease.endsAtMs = this.#endsAtMs(claim.deadlineUs);
    return lease;
  }

  /** The same for a call that is already over: its client does not hear of it. */
  keptUnheard(claim: Claim): void {
    const lease = this.#held.get(claim.secret);
    if (lease) lease.endsAtMs = this.#endsAtMs(claim.deadlineUs);
  }

  /** The client was sent the answers about these leases, or nobody waits for them any more. */
  answered(leases: readonly SessionLease[]): void {
    for (const lease of leases) {
      lease.answers -= 1;
      const isOver = lease.ended || lease.state === "given_back" || lease.state === "unheard";
      if (lease.answers === 0 && isOver) this.#drop(lease);
    }
  }

  endOf(ref: ClaimRef): Claim | undefined {
    const lease = this.#held.get(ref.secret);
    return lease?.ended && this.#options.shown(lease.ended, lease.lockName);
  }

  /** This response carries the lease to the client. If the lease has ended meanwhile, its remaining time becomes 0. */
  reported(message: AnyLease, response: number): void {
    const { leaseId = "", lockName = "", provisional = false } = message;
    const lease = this.#held.get(secretOf(leaseId)) ?? this.#lease(parseClaimId(leaseId) as ClaimRef);
    const isFirst = lease.state === "unheard";
    if (lease.state !== "given_back")
      lease.state = provisional ? "provisional" : isFirst && message.ttl === undefined ? "endless" : "held";
    lease.lockName = lockName;
    if (lease.answers === 0)
      lease.endsAtMs = this.#endsAtMs(message.expiresAt ? spanUs(message.expiresAt) : null);
    if (lease.ended) {
      endNow(message);
      if (isFirst) this.#sayLost(lease, lease.ended);
      return;
    }
    shorten(message, this.#options.engine.nowUs());
    if (isUnconfirmed(lease)) this.#unacknowledged.push({ response, lease });
  }

  /** If that ends it, the end is no loss. Pass the result to `gaveBack`; undefined: the session does not know it. */
  givesBack(leaseId: string): SessionLease | undefined {
    const lease = this.#held.get(secretOf(leaseId));
    if (lease) lease.releases += 1;
    return lease;
  }

  gaveBack(lease: SessionLease, isDone: boolean): void {
    if (lease.isForgotten) return;
    lease.releases -= 1;
    if (isDone) lease.state = "given_back";
    const isGivenBack = lease.state === "given_back";
    // Somebody else has released it meanwhile.
    const isLost = lease.ended && !isGivenBack && lease.releases === 0;
    if (lease.ended && isLost) this.#sayLost(lease, lease.ended);
    if (lease.answers === 0 && (isLost || isGivenBack)) this.#drop(lease);
  }

  acknowledged(received: bigint): void {
    const first = this.#unacknowledged[0];
    if (!first || first.response > received) return;
    const rest = this.#unacknowledged.findIndex(({ response }) => response > received);
    const read = this.#unacknowledged.splice(0, rest < 0 ? this.#unacknowledged.length : rest);
    for (const { lease } of read) this.#toConfirm.push(lease);
    this.#confirmLater();
  }

  /**
   * Forgets leases that another server has ended. This server's own clock decides: no lease ends when the database's is
   * set ahead.
   */
  forgetEnded(): void {
    const untilMs = this.#nowMs() - LEASE_FORGOTTEN_AFTER_MS;
    for (const lease of this.#held.values()) {
      const { endsAtMs, answers, releases } = lease;
      if (endsAtMs !== null && endsAtMs < untilMs && answers + releases === 0) this.#drop(lease);
    }
    // A client that acknowledges nothing must not make the session remember all leases that it ever got.
    this.#unacknowledged = this.#unacknowledged.filter(({ lease }) => !lease.isForgotten);
  }

  /** An answer reports that the lease has ended, perhaps at another server. `how`: the ended claim, if known. */
  reportedEnded(ref: ClaimRef, how: Claim | undefined): void {
    const lease = this.#held.get(ref.secret);
    if (!lease) return;
    lease.ended ??= how;
    if (lease.answers === 0) this.#drop(lease);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    for (const lease of this.#held.values()) this.#drop(lease);
    this.#unacknowledged = [];
    this.#toConfirm = [];
  }

  #lease({ lockId, ticketNumber, secret }: ClaimRef): SessionLease {
    const before = this.#held.get(secret);
    if (before) return before;
    const ref = { lockId, ticketNumber, secret };
    const lease: SessionLease = {
      ref,
      lockName: "",
      state: "unheard",
      ended: undefined,
      endsAtMs: null,
      answers: 0,
      releases: 0,
      isForgotten: false,
      forget: this.#options.engine.onLost(ref, (ended) => this.#lost(lease, ended)),
    };
    this.#held.set(secret, lease);
    return lease;
  }

  #endsAtMs(endsAtUs: number | null): number | null {
    return endsAtUs === null ? null : this.#nowMs() + (endsAtUs - this.#options.engine.nowUs()) / 1_000;
  }

  #drop(lease: SessionLease): void {
    if (lease.isForgotten) return;
    lease.isForgotten = true;
    lease.forget();
    this.#held.delete(lease.ref.secret);
  }

  #lost(lease: SessionLease, ended: Claim): void {
    lease.ended = ended;
    // The client's own release may have ended it: the answer to that will show.
    if ((lease.releases > 0 || lease.state === "given_back") && isGivenBack(ended.endReason)) return;
    if (lease.state !== "unheard") this.#sayLost(lease, ended);
    if (lease.answers === 0) this.#drop(lease);
  }

  #sayLost({ ref, lockName }: SessionLease, ended: Claim): void {
    const leaseId = formatClaimId(ref);
    const end = endMessage(this.#options.shown(ended, lockName));
    this.#options.say({ lost: [{ $typeName: "rowlock.v1.LostLease", leaseId, lockName, end }] });
  }

  #confirmLater(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      for (const lease of this.#toConfirm.splice(0)) void this.#confirm(lease);
    }, this.#options.confirmAfterMs);
  }

  async #confirm(held: SessionLease): Promise<void> {
    if (held.isForgotten || !isUnconfirmed(held) || held.ended) return;
    try {
      const { outcome, nowUs } = await this.#options.confirm(held.ref);
      if (held.isForgotten || held.ended) return;
      if (outcome.kind === "ended") this.#lost(held, outcome.claim);
      if (outcome.kind !== "held") return;
      const wasProvisional = held.state === "provisional";
      if (isUnconfirmed(held)) held.state = "held";
      if (!wasProvisional) return;
      held.endsAtMs = this.#endsAtMs(outcome.claim.deadlineUs);
      const lease: Lease = leaseMessage(outcome.claim, held.lockName, nowUs);
      shorten(lease, this.#options.engine.nowUs());
      this.#options.say({ confirmed: [lease] });
    } catch (error) {
      const isOverloaded = error instanceof CallError && error.reason === "OVERLOADED";
      if (!(error instanceof Fault || isOverloaded)) return this.#options.onBug(error);
      // The database is away or overloaded. A provisional lease ends by itself with the grace period.
      if (held.isForgotten) return;
      this.#toConfirm.push(held);
      this.#confirmLater();
    }
  }
}

function isUnconfirmed({ state }: SessionLease): boolean {
  return state === "provisional" || state === "endless";
}

/** Sets the remaining time of a lease to 0: it has ended since its answer was made. */
function endNow(lease: AnyLease): void {
  lease.ttl = durationMessage(0);
}

/**
 * Lowers the remaining time of a lease to what is left now. Its answer was made at the decision. Meanwhile the session may
 * have heard its client again, and the client counts from then.
 */
export function shorten(lease: AnyLease, nowUs: number): void {
  const { ttl, expiresAt } = lease;
  if (!ttl || !expiresAt) return;
  const leftUs = spanUs(expiresAt) - nowUs;
  if (leftUs < spanUs(ttl)) lease.ttl = durationMessage(Math.floor(leftUs));
}
