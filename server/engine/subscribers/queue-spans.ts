// The queue spans of this replica: how long a traced call's claim waits for its grant. A span begins with the answer
// `waiting` and ends when this replica learns of the grant or the end.

import { type Claim, type ClaimKey, keyText } from "../../core/claim.ts";
import type { BatchEvent } from "../../core/decide-batch.ts";
import type { Span } from "../../core/span.ts";
import { OWN_GRANT_AWAITED_MS, QUEUE_SPANS_MAX } from "../engine-bounds.ts";

interface OpenSpan {
  readonly span: Span;
  /** A read has shown that the claim no longer waits. */
  seen?: { readonly claim: Claim; readonly atMs: number; readonly timer: NodeJS.Timeout };
}

export class QueueSpans {
  /** By the claim's key; the one that has waited longest comes first. */
  readonly #open = new Map<string, OpenSpan>();

  /** The claim waits on behalf of this call. Calls that come back to a claim share its first span. */
  begin(claim: ClaimKey, call: Span, lockName: string): void {
    const key = keyText(claim);
    if (this.#open.has(key)) return;
    this.#open.set(key, { span: call.part("queue", { "rowlock.lock": lockName }) });
    if (this.#open.size <= QUEUE_SPANS_MAX) return;
    const [oldest] = this.#open.keys();
    if (oldest !== undefined) this.#end(oldest);
  }

  /** Waits of traced calls. */
  get count(): number {
    return this.#open.size;
  }

  /** This replica has committed these events, in order. Ends the waits that are over, with a link to who made room. */
  committed(events: readonly BatchEvent[]): void {
    let madeRoom: Span | undefined;
    let lockName = "";
    for (const { event, lockName: name } of events) {
      if (name !== lockName) madeRoom = undefined;
      lockName = name;
      if (event.kind === "granted") this.#end(keyText(event.claim), event.claim, madeRoom);
      if (event.kind === "ended") this.#end(keyText(event.claim), event.claim);
      if (event.kind === "granted" || event.kind === "enqueued") continue;
      // A waiter that ends because it never fits has only come to its turn: who made room is the call before.
      if (event.caller || (event.kind === "ended" && event.was === "held")) madeRoom = event.caller?.span;
    }
  }

  /**
   * A read has shown that the claim was granted or has ended. If this replica has done that itself, it may hear of its
   * own commit only after the read, so the end waits a moment for the link.
   */
  settled(claim: Claim): void {
    if (this.#open.size === 0) return;
    const key = keyText(claim);
    const waiting = this.#open.get(key);
    if (!waiting || waiting.seen) return;
    const timer = setTimeout(() => this.#end(key), OWN_GRANT_AWAITED_MS).unref();
    waiting.seen = { claim, atMs: performance.now(), timer };
  }

  /** This replica stops, and learns of nothing any more. */
  stop(): void {
    for (const key of this.#open.keys()) this.#end(key);
  }

  /** Without a claim and a read that has shown one, nobody here knows how the wait went on. */
  #end(key: string, ended?: Claim, madeRoom?: Span): void {
    const waiting = this.#open.get(key);
    if (!waiting) return;
    this.#open.delete(key);
    const { span, seen } = waiting;
    clearTimeout(seen?.timer);
    if (madeRoom) span.link(madeRoom);
    const { state = "unknown", endReason = null } = ended ?? seen?.claim ?? {};
    const attributes = {
      "rowlock.outcome": state,
      ...(endReason !== null && { "rowlock.reason": endReason }),
    };
    span.end(attributes, undefined, seen?.atMs);
  }
}
