// The spans of one transaction: a part of each traced call whose commands it carries. The first of them has the
// statements; the others have the same times and a link to it.

import type { SubmittedByLock } from "../../core/decide-batch.ts";
import type { Span, SpanAttributes } from "../../core/span.ts";

export class TransactionSpan {
  /** The statements of the transaction are its parts. */
  readonly span: Span;
  readonly #others: readonly Span[];
  #attempts = 0;

  constructor([first, ...others]: readonly [Span, ...Span[]], attributes: SpanAttributes = {}) {
    this.span = first.part("transaction", attributes);
    this.#others = others.map((call) => call.part("transaction", attributes));
    for (const call of others) this.span.link(call);
    for (const other of this.#others) other.link(this.span);
  }

  /** Begins the spans of a transaction with these commands; undefined: none of their calls is traced. */
  static of(asked: SubmittedByLock): TransactionSpan | undefined {
    const calls = new Set<Span>();
    let commands = 0;
    for (const list of asked.values()) {
      commands += list.length;
      for (const { command } of list)
        if ("caller" in command && command.caller?.span) calls.add(command.caller.span);
    }
    const [first, ...others] = calls;
    const attributes = { "rowlock.commands": commands, "rowlock.locks": asked.size };
    return first && new TransactionSpan([first, ...others], attributes);
  }

  tried(): void {
    this.#attempts += 1;
  }

  /** Ends the spans with the promise, which it returns. */
  async until<Result>(deciding: Promise<Result>): Promise<Result> {
    let error: string | undefined;
    try {
      return await deciding;
    } catch (thrown) {
      error = reasonOf(thrown);
      throw thrown;
    } finally {
      const retries = Math.max(0, this.#attempts - 1);
      for (const span of [this.span, ...this.#others]) span.end({ "rowlock.retries": retries }, error);
    }
  }
}

/** The reason of a StoreError or a Fault, such as `lock_wait_timeout`. */
function reasonOf(error: unknown): string {
  return error instanceof Error && "reason" in error ? String(error.reason) : "unexpected";
}
