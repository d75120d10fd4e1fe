// The queue spans of this replica: how long a traced call's claim waits for its grant. A span begins with the answer
// `waiting` and ends when this replica learns of the grant or the end.

import { type Claim, type ClaimKey, keyText } from "../../core/claim.ts";
import type { BatchEvent } from "../../core/decide-batch.ts";
import type { Span } from "../../core/span.ts";
import { QUEUE_SPANS_MAX } from "../engine-bounds.ts";

export class QueueSpans {
  /** By the claim's key; the one that has waited longest comes first. */
  readonly #open = new Map<string, Span>();

  /** The claim waits on behalf of this call. Calls that come back to a claim share its first span. */
  begin(claim: ClaimKey, call: Span, lockName: string): void {
    const key = keyText(claim);
    if (this.#open.has(key)) return;
    this.#open.set(key, call.part("queue", { "rowlock.lock": lockName }));
    if (this.#open.size <= QUEUE_SPANS_MAX) return;
    const [oldest] = this.#open;
    if (oldest) this.#end(...oldest, UNKNOWN);
  }

  /** This replica has committed these events, in order. Links each wait that is over to the call that made room. */
  linkGrants(events: readonly BatchEvent[]): void {
    if (this.#open.size === 0) return;
    let madeRoom: Span | undefined;
    let lockName = "";
    for (const { event, lockName: name } of events) {
      if (name !== lockName) madeRoom = undefined;
      lockName = name;
      if (event.kind === "enqueued") continue;
      if (event.kind === "granted") {
        if (madeRoom) this.#open.get(keyText(event.claim))?.link(madeRoom);
        continue;
      }
      // A waiter that ends because it never fits has only come to its turn: who made room is the call before.
      if (event.caller || (event.kind === "ended" && event.was === "held")) madeRoom = event.caller?.span;
    }
  }

  /** The claim was granted or has ended. */
  settled(claim: Claim): void {
    if (this.#open.size === 0) return;
    const key = keyText(claim);
    const span = this.#open.get(key);
    if (span) this.#end(key, span, claim.state, claim.endReason);
  }

  /** This replica stops, and learns of nothing any more. */
  stop(): void {
    for (const [key, span] of this.#open) this.#end(key, span, UNKNOWN);
  }

  #end(key: string, span: Span, outcome: string, reason: string | null = null): void {
    this.#open.delete(key);
    span.end({ "rowlock.outcome": outcome, ...(reason !== null && { "rowlock.reason": reason }) });
  }
}

/** The outcome of a wait whose end this replica has not seen: another one has granted or ended the claim. */
const UNKNOWN = "unknown";
