// A watch of locks, over any number of connections. It keeps at most one unread state per lock, so a slow reader gets
// only the latest state of each lock.

import { create } from "@bufbuild/protobuf";
import type { Lock } from "#proto/rowlock/v1/lock_pb.js";
import { WatchLocksRequestSchema, type WatchLocksResponse } from "#proto/rowlock/v1/lock_service_pb.js";
import type { Call } from "./connection/call.ts";
import type { Calls } from "./connection/calls.ts";
import { type LockView, lockView } from "./views.ts";

export interface WatchOptions {
  /** Watch locks whose names begin so; "" (the default): all. */
  readonly prefix?: string;
  /** Ends the watch, which then throws the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** A part of a snapshot, or the changes since the snapshot. */
export interface WatchUpdate {
  /**
   * It begins a new snapshot, which replaces all updates before it, as the watch fell behind or continues over another
   * connection. Not set in the first update.
   */
  readonly beganAnew: boolean;
  /** The current states of locks, with at most 10 holders and 10 waiters each. */
  readonly locks: readonly LockView[];
  /** The names of locks that are gone; there may be names that no update had before. */
  readonly deleted: readonly string[];
  /** The snapshot is complete with this update: other locks do not exist. Set once for each snapshot. */
  readonly complete: boolean;
}

export interface WatchSettings extends WatchOptions {
  readonly calls: Calls;
  readonly giveUpAfterMs: number;
}

export class Watch {
  readonly #settings: WatchSettings;
  #call: Call | undefined;
  /** Unread updates: the current states of locks, and null for those that are gone. */
  readonly #news = new Map<string, Lock | null>();
  #beganAnew = false;
  #complete = false;
  /** Whether the current stream has brought a message, and whether any stream has. */
  #isHeard = false;
  #wasHeard = false;
  #end: { readonly why: unknown } | undefined;
  #wake: () => void = () => {};

  constructor(settings: WatchSettings) {
    this.#settings = settings;
  }

  /** Yields the updates. Call it once. Throws a RowlockError, or the reason of the signal. */
  async *updates(): AsyncGenerator<WatchUpdate, void, undefined> {
    const { calls, prefix = "", signal, giveUpAfterMs } = this.#settings;
    signal?.throwIfAborted();
    const giveUp = () => this.abandon(signal?.reason);
    signal?.addEventListener("abort", giveUp);
    this.#call = calls.begin({
      kind: "wait",
      command: () => {
        this.#isHeard = false;
        return { case: "watchLocks", value: create(WatchLocksRequestSchema, { prefix }) };
      },
      repeat: "always",
      giveUpAfterMs: () => giveUpAfterMs,
      answered: (result) => {
        if (result.case === "watchLocks") this.#hear(result.value);
        else this.abandon(new Error(`watchLocks was answered by ${result.case}`));
        return false;
      },
      failed: (error) => this.abandon(error),
    });
    try {
      for (;;) {
        if (this.#end) throw this.#end.why;
        if (this.#news.size > 0 || this.#beganAnew || this.#complete) yield this.#take();
        else await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      signal?.removeEventListener("abort", giveUp);
      calls.cancel(this.#call);
    }
  }

  /** Ends the watch: `updates` throws `why`, as soon as its reader asks for more. */
  abandon(why: unknown): void {
    this.#end ??= { why };
    if (this.#call) this.#settings.calls.cancel(this.#call);
    this.#wake();
  }

  #hear({ beganAnew, locks, deleted, complete }: WatchLocksResponse): void {
    if (beganAnew || (this.#wasHeard && !this.#isHeard)) {
      this.#news.clear();
      this.#beganAnew = true;
      this.#complete = false;
    }
    this.#isHeard = true;
    this.#wasHeard = true;
    for (const lock of locks) this.#news.set(lock.name, lock);
    for (const name of deleted) this.#news.set(name, null);
    this.#complete ||= complete;
    this.#wake();
  }

  #take(): WatchUpdate {
    const news = [...this.#news];
    const update = {
      beganAnew: this.#beganAnew,
      locks: news.flatMap(([, lock]) => (lock ? [lockView(lock)] : [])),
      deleted: news.flatMap(([name, lock]) => (lock ? [] : [name])),
      complete: this.#complete,
    };
    this.#news.clear();
    this.#beganAnew = false;
    this.#complete = false;
    return update;
  }
}
