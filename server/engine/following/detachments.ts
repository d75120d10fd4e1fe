// Reports to the database that calls have gone: a place's grace period begins, or a claim ends that nobody can act on
// any more. Repeats each report until the database knows, for two reasons. A report fails while the database is away or
// this server is overloaded. And a heartbeat under way may mark a place as alive after its call has gone. A place that
// is never reported ends with its grace period.

import type { ClaimKey } from "../../core/claim.ts";
import type { Detach, Withdraw } from "../../core/command.ts";
import { partsOf } from "../../core/parts.ts";
import { DETACHMENTS_AT_ONCE, DETACHMENTS_MAX } from "../engine-bounds.ts";
import { Fault } from "../faults.ts";

export interface DetachmentsOptions {
  /** Sends the command. Throws a Fault. */
  readonly tell: (lockId: bigint, command: Detach | Withdraw) => Promise<unknown>;
  /** Whether the claim has a follower here, or has one again. */
  readonly isFollowed: (key: ClaimKey) => boolean;
  readonly onFailure: (loop: string, error: unknown) => void;
}

interface Detachment {
  readonly lockId: bigint;
  readonly command: Detach | Withdraw;
  isUnderWay: boolean;
}

export class Detachments {
  readonly #options: DetachmentsOptions;
  /** Detachments that the database does not know yet, the oldest first. */
  readonly #untold = new Set<Detachment>();
  /** Detachments added since the heartbeats under way began. */
  #sinceHeartbeat: Detachment[] = [];
  #heartbeats = 0;

  constructor(options: DetachmentsOptions) {
    this.#options = options;
  }

  add(lockId: bigint, command: Detach | Withdraw): void {
    const detachment = { lockId, command, isUnderWay: false };
    if (this.#heartbeats > 0) this.#sinceHeartbeat.push(detachment);
    this.#keep(detachment);
    void this.#tell(detachment);
  }

  /** Repeats the reports that failed. The first one goes alone: if it fails, the others would fail too. */
  async repeat(): Promise<void> {
    const waiting = [...this.#untold].filter(({ isUnderWay }) => !isUnderWay);
    const [first, ...others] = waiting;
    if (!first || !(await this.#tell(first))) return;
    for (const part of partsOf(others, DETACHMENTS_AT_ONCE)) {
      const told = await Promise.all(part.map((detachment) => this.#tell(detachment)));
      if (told.includes(false)) return;
    }
  }

  /** Runs a heartbeat, and afterwards reports again the calls that went meanwhile. */
  async during(heartbeat: () => Promise<void>): Promise<void> {
    this.#heartbeats += 1;
    try {
      await heartbeat();
    } finally {
      this.#heartbeats -= 1;
      if (this.#heartbeats === 0) {
        for (const { lockId, command } of this.#sinceHeartbeat.splice(0)) this.add(lockId, command);
      }
    }
  }

  #keep(detachment: Detachment): void {
    this.#untold.add(detachment);
    if (this.#untold.size <= DETACHMENTS_MAX) return;
    for (const oldest of this.#untold) {
      this.#untold.delete(oldest);
      return;
    }
  }

  /** Resolves with false if the report must be repeated. A report that fails with anything but a Fault is dropped. */
  async #tell(detachment: Detachment): Promise<boolean> {
    const { tell, isFollowed, onFailure } = this.#options;
    const { lockId, command } = detachment;
    try {
      detachment.isUnderWay = true;
      const isBack = command.verb === "detach" && isFollowed(command.ref);
      if (!isBack) await tell(lockId, command);
    } catch (error) {
      detachment.isUnderWay = false;
      if (error instanceof Fault) return false;
      onFailure("departures", error);
    }
    this.#untold.delete(detachment);
    return true;
  }
}
