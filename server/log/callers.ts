// Finds the caller behind an event. The engine reports first which calls it has answered, and then what has happened.
// The addresses are kept in between; for a claim that waits, until it is granted.

import { type ClaimKey, keyText } from "../core/claim.ts";
import type { Caller, Command, Event, Outcome } from "../core/command.ts";

/** Most entries are of waiters. Beyond this the oldest entries are dropped, and their log lines have no address. */
const CALLERS_MAX = 10_000;

export class Callers {
  readonly #addresses = new Map<string, string>();

  answered(command: Command, outcome: Outcome): void {
    if (!("caller" in command) || !command.caller) return;
    const { caller } = command;
    switch (outcome.kind) {
      case "held":
        // A repeated call adds nothing new.
        if (command.verb === "acquire" && outcome.claim.secret === command.secret) {
          this.#keep(asked(outcome.claim), caller);
        }
        return;
      case "waiting":
        this.#keep(asked(outcome.claim), caller);
        return;
      case "released":
        if (command.verb === "release" && outcome.byThisCall) this.#keep(ended(command.ref), caller);
        return;
      case "forced":
        for (const claim of outcome.ended) this.#keep(ended(claim), caller);
        return;
      case "limit":
        this.#keep(limited(outcome.lock.id, outcome.version), caller);
        return;
      case "record":
        this.#keep(recorded(outcome.lockId, outcome.setVersion), caller);
        return;
      case "deleted":
        if (outcome.byThisCall) this.#keep(recorded(outcome.lockId, outcome.version), caller);
        return;
    }
  }

  /**
   * The address of the caller: for a grant, who asked for the lock; for an end, who ended it. Call it once for each
   * event.
   */
  of(event: Event): string | undefined {
    // Nearly always so if nothing is audited.
    if (this.#addresses.size === 0) return undefined;
    switch (event.kind) {
      case "enqueued":
        return this.#addresses.get(asked(event.claim));
      case "granted":
        return this.#take(asked(event.claim));
      case "ended":
        this.#take(asked(event.claim));
        return this.#take(ended(event.claim));
      case "limit_set":
        return this.#take(limited(event.lock.id, event.lock.limitVersion));
      case "record_set":
      case "record_deleted":
        return this.#take(recorded(event.lockId, event.record.version));
    }
  }

  #keep(key: string, caller: Caller): void {
    this.#addresses.delete(key);
    this.#addresses.set(key, caller.getPeer());
    if (this.#addresses.size <= CALLERS_MAX) return;
    for (const oldest of this.#addresses.keys()) {
      this.#addresses.delete(oldest);
      return;
    }
  }

  #take(key: string): string | undefined {
    const address = this.#addresses.get(key);
    if (address !== undefined) this.#addresses.delete(key);
    return address;
  }
}

function asked(key: ClaimKey): string {
  return `asked ${keyText(key)}`;
}

function ended(key: ClaimKey): string {
  return `ended ${keyText(key)}`;
}

function limited(lockId: bigint, version: bigint): string {
  return `limited ${lockId} ${version}`;
}

function recorded(lockId: bigint, version: bigint): string {
  return `recorded ${lockId} ${version}`;
}
