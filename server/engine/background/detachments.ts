// Reports to the database that calls have gone: a place's grace period begins, or a claim ends that nobody can act on
// any more. Repeats each report until the database knows, for two reasons. A report fails while the database is away or
// this server is overloaded. And a heartbeat under way may mark a place as alive after its call has gone. A place that
// is never reported ends with its grace period.

import type { BoundUse } from "../../core/bound-use.ts";
import { partsOf } from "../../core/bounds.ts";
import type { Command, Detach, Withdraw } from "../../core/command.ts";
import { RecentMap } from "../../core/recent-map.ts";
import { DETACHMENTS_AT_ONCE, DETACHMENTS_MAX } from "../engine-bounds.ts";
import { Fault } from "../faults.ts";
import type { Followers } from "../subscribers/followers.ts";

export interface DetachmentsOptions {
  /** Throws a Fault. */
  readonly submit: (lockId: bigint, command: Command) => Promise<unknown>;
  readonly followers: Pick<Followers, "claim">;
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
  readonly #unsent = new RecentMap<Detachment, null>(DETACHMENTS_MAX);
  /** Detachments added since the heartbeats under way began. */
  #sinceHeartbeat: Detachment[] = [];
  #heartbeats = 0;

  constructor(options: DetachmentsOptions) {
    this.#options = options;
  }

  get bounds(): readonly BoundUse[] {
    return [{ bound: "detachments", kind: "room", used: this.#unsent.size, max: DETACHMENTS_MAX }];
  }

  add(lockId: bigint, command: Detach | Withdraw): void {
    const detachment = { lockId, command, isUnderWay: false };
    if (this.#heartbeats > 0) this.#sinceHeartbeat.push(detachment);
    this.#unsent.set(detachment, null);
    void this.#send(detachment);
  }

  /** Repeats the reports that failed. The first one goes alone: if it fails, the others would fail too. */
  async repeat(): Promise<void> {
    const waiting = [...this.#unsent.keys()].filter(({ isUnderWay }) => !isUnderWay);
    const [first, ...others] = waiting;
    if (!first || !(await this.#send(first))) return;
    for (const part of partsOf(others, DETACHMENTS_AT_ONCE)) {
      const sent = await Promise.all(part.map((detachment) => this.#send(detachment)));
      if (sent.includes(false)) return;
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

  /** Resolves with false if the report must be repeated. A report that fails with anything but a Fault is dropped. */
  async #send(detachment: Detachment): Promise<boolean> {
    const { submit, followers, onFailure } = this.#options;
    const { lockId, command } = detachment;
    try {
      detachment.isUnderWay = true;
      const isBack = command.verb === "detach" && followers.claim(command.ref) !== undefined;
      if (!isBack) await submit(lockId, command);
    } catch (error) {
      detachment.isUnderWay = false;
      if (error instanceof Fault) return false;
      onFailure("detachments", error);
    }
    this.#unsent.delete(detachment);
    return true;
  }
}
