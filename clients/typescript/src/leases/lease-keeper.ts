// Renews the leases that this client holds, many in one command, and detects lost ones. A lease is lost when its
// deadline has passed, which the keeper checks before each renewal, or when the server says so.

import type { Lease } from "#proto/rowlock/v1/lock_pb.js";
import type { LostLease, RenewedLease } from "#proto/rowlock/v1/lock_service_pb.js";
import { type ClaimEndView, claimEndView } from "../claim-end.ts";
import type { Clock } from "../clock.ts";
import type { Calls } from "../connection/calls.ts";
import type { Connection } from "../connection/connection.ts";
import { RowlockError } from "../rowlock-error.ts";
import type { HeldLease } from "./held-lease.ts";

/** The interval of checks of the clock while a lease is held, to notice that the machine was suspended. */
const LOOK_EVERY_MS = 1_000;
/** The pause before a failed renewal is retried: short, but at most two fit into a third of the shortest ttl. */
const RENEW_AGAIN_MS = 150;
/** The same if the policy of the server does not allow it, which changes seldom. */
const DENIED_AGAIN_MS = 1_000;
/** The reasons by which the server says that a lease has ended. */
const GONE = ["LEASE_LOST", "UNKNOWN_CLAIM"];

/** Learns of the held leases: see telemetry.ts. */
export interface LeaseObserver {
  kept(lease: HeldLease): void;
  /** It is lost, or is about to be given back. */
  ended(lease: HeldLease): void;
  /** Its renewal is overdue; called once for each. */
  late(lease: HeldLease): void;
}

export interface LeaseKeeperOptions {
  readonly calls: Calls;
  readonly clock: Clock;
  /** The connection whose server has answered, if there is one. */
  readonly open: () => Connection | undefined;
  /** Requests a connection. */
  readonly need: () => void;
  /** Moves to another server, as this one answers but cannot renew. */
  readonly leave: (error: RowlockError) => void;
  readonly observer?: LeaseObserver;
}

export class LeaseKeeper {
  readonly #options: LeaseKeeperOptions;
  readonly #held = new Map<string, HeldLease>();
  #timer: NodeJS.Timeout | undefined;
  #wakeAtMs = Number.POSITIVE_INFINITY;

  constructor(options: LeaseKeeperOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#held.size;
  }

  keep(lease: HeldLease): void {
    // One with the same id was lost by this client's own clock, and nobody has looked since.
    const former = this.#held.get(lease.id);
    if (former) this.#remove(former);
    this.#held.set(lease.id, lease);
    this.#options.observer?.kept(lease);
    this.#wakeAt(Math.min(lease.deadlineMs, lease.renewAtMs, this.#options.clock.now() + LOOK_EVERY_MS));
  }

  /** Stops renewing a lease. */
  drop(lease: HeldLease): void {
    if (this.#held.get(lease.id) === lease) this.#remove(lease);
    if (this.#held.size === 0) this.stop();
  }

  /** Returns the lease of this id, unless it is lost. */
  find(leaseId: string): HeldLease | undefined {
    const lease = this.#held.get(leaseId);
    lease?.look();
    return lease?.isLost ? undefined : lease;
  }

  /** Returns the held leases on any of these locks, oldest first. */
  holding(lockNames: readonly string[]): HeldLease[] {
    return [...this.#held.values()].filter(
      ({ tokens, isLost }) => !isLost && lockNames.some((name) => tokens.has(name)),
    );
  }

  /** Renews all leases in the first requests of a connection, so that its server knows of them. */
  begun(connection: Connection): void {
    this.#lookAtAll();
    this.#renew([...this.#held.values()], connection);
  }

  /** Notes for all leases that their connection is gone. */
  orphaned(): void {
    for (const lease of this.#held.values()) lease.orphaned();
  }

  confirmed(leases: readonly Lease[], basisMs: number): void {
    // Most responses confirm nothing, so skip the work below.
    if (leases.length === 0) return;
    for (const lease of leases) {
      const held = this.#held.get(lease.leaseId);
      // The server confirmed it after the acknowledgement, but the response may have heard later requests, too.
      if (held) this.#prolong(held, lease, Math.min(basisMs, held.toldMs));
    }
    this.#wake();
  }

  lost(leases: readonly LostLease[]): void {
    for (const { leaseId, lockName, end } of leases)
      this.#lose(leaseId, lostError(lockName, end && claimEndView(end)));
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#wakeAtMs = Number.POSITIVE_INFINITY;
  }

  #lookAtAll(): void {
    for (const lease of this.#held.values()) {
      lease.look();
      if (lease.isLost) this.#remove(lease);
      else this.#lookIfLate(lease);
    }
  }

  #remove(lease: HeldLease): void {
    this.#held.delete(lease.id);
    this.#options.observer?.ended(lease);
  }

  #lookIfLate(lease: HeldLease): void {
    if (lease.isLate || this.#options.clock.now() < lease.overdueAtMs) return;
    lease.isLate = true;
    this.#options.observer?.late(lease);
  }

  #tick(): void {
    this.#lookAtAll();
    const nowMs = this.#options.clock.now();
    const held = [...this.#held.values()].filter((lease) => !lease.isRenewing);
    if (held.some(({ renewAtMs }) => renewAtMs <= nowMs)) {
      const open = this.#options.open();
      const due = held.filter(({ mayRenewAtMs }) => mayRenewAtMs <= nowMs);
      if (open) this.#renew(due, open);
      else this.#options.need();
    }
    this.#wake();
  }

  #renew(leases: readonly HeldLease[], { renewalsMax }: Connection): void {
    for (let at = 0; at < leases.length; at += renewalsMax)
      this.#renewTogether(leases.slice(at, at + renewalsMax));
  }

  #renewTogether(leases: readonly HeldLease[]): void {
    for (const lease of leases) lease.isRenewing = true;
    this.#options.calls.begin({
      kind: "urgent",
      command: () => ({
        case: "renewLeases",
        value: {
          $typeName: "rowlock.v1.RenewLeases",
          leases: leases.map(({ id }) => ({ $typeName: "rowlock.v1.RenewRequest", leaseId: id })),
        },
      }),
      // Not repeated on another connection, which begins by renewing all leases.
      repeat: "on this connection",
      giveUpAfterMs: () => Number.POSITIVE_INFINITY,
      answered: (result, basisMs) => {
        const renewed = result.case === "renewLeases" ? result.value.leases : [];
        leases.forEach((lease, index) => {
          this.#renewed(lease, renewed[index], basisMs);
        });
        this.#wake();
        return true;
      },
      failed: (error) => {
        for (const lease of leases) this.#failed(lease, error);
        this.#wake();
      },
    });
  }

  #renewed(lease: HeldLease, renewed: RenewedLease | undefined, basisMs: number): void {
    lease.isRenewing = false;
    if (renewed?.outcome.case === "lease") this.#prolong(lease, renewed.outcome.value, basisMs);
    else if (renewed?.outcome.case === "error")
      this.#failed(lease, RowlockError.ofStatus(renewed.outcome.value));
  }

  /** Prolongs a lease, unless its deadline has passed: then it stays lost, whatever the server says. */
  #prolong(held: HeldLease, lease: Lease, basisMs: number): void {
    held.look();
    if (held.isLost) return;
    this.#lookIfLate(held);
    held.prolonged(lease, basisMs);
  }

  #failed(lease: HeldLease, error: RowlockError): void {
    lease.isRenewing = false;
    if (GONE.includes(error.reason)) {
      this.#lose(lease.id, error);
      return;
    }
    const pauseMs = error.reason === "RIGHT_MISSING" ? DENIED_AGAIN_MS : RENEW_AGAIN_MS;
    lease.renewAtMs = this.#options.clock.now() + Math.max(pauseMs, error.retryAfterMs ?? 0);
    if (lease.state === "uncertain" && this.#options.open()) this.#options.leave(error);
  }

  #lose(leaseId: string, error: RowlockError): void {
    const lease = this.#held.get(leaseId);
    if (!lease) return;
    lease.lose(error);
    this.#remove(lease);
  }

  #wake(): void {
    if (this.#held.size === 0) {
      this.stop();
      return;
    }
    const nowMs = this.#options.clock.now();
    let atMs = nowMs + LOOK_EVERY_MS;
    for (const { deadlineMs, overdueAtMs, renewAtMs, isRenewing } of this.#held.values()) {
      atMs = Math.min(atMs, overdueAtMs > nowMs ? overdueAtMs : deadlineMs);
      // Without a connection, no renewal is due: the next connection begins by renewing all leases.
      if (!isRenewing && this.#options.open()) atMs = Math.min(atMs, renewAtMs);
    }
    this.#wakeAt(atMs);
  }

  #wakeAt(atMs: number): void {
    if (this.#timer && this.#wakeAtMs <= atMs) return;
    clearTimeout(this.#timer);
    this.#wakeAtMs = atMs;
    const inMs = Math.max(1, Math.ceil(atMs - this.#options.clock.now()));
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#tick();
    }, inMs);
  }
}

function lostError(lockName: string, end: ClaimEndView | undefined): RowlockError {
  const how = end?.reason ? ` (${end.reason.toLowerCase()})` : "";
  return new RowlockError(
    "LEASE_LOST",
    "FAILED_PRECONDITION",
    `The lease on "${lockName}" has ended${how}: stop the work that the lock protects.`,
    end && { end },
  );
}
