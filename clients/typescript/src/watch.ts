// Locks being watched: what servers tell of them, over however many connections that takes. Whoever reads slowly is told the
// latest of each lock, and less often: no more is kept than there are locks.

import { create } from "@bufbuild/protobuf";
import type { Lock } from "#proto/rowlock/v1/lock_pb.js";
import { WatchLocksRequestSchema, type WatchLocksResponse } from "#proto/rowlock/v1/lock_service_pb.js";
import type { Calls } from "./connection/calls.ts";
import { type LockView, lockView } from "./views.ts";

export interface WatchOptions {
  /** Locks whose names begin so; "": all. */
  readonly prefix?: string;
  /** Ends the watch. */
  readonly signal?: AbortSignal | undefined;
}

/** A part of a snapshot, or what has changed since. */
export interface WatchUpdate {
  /**
   * It begins a snapshot that takes the place of all that was told before, as the watch fell behind, or goes on through another
   * connection. Not set in the first one.
   */
  readonly beganAnew: boolean;
  /** Each as it stands. Up to 10 holders and 10 waiters are listed for each. */
  readonly locks: readonly LockView[];
  /** Names of locks that are gone. One that was never told may be among them. */
  readonly deleted: readonly string[];
  /** With it the snapshot is complete: a lock that it has not told is not there. Set once for each snapshot. */
  readonly complete: boolean;
}

export interface WatchSettings extends WatchOptions {
  readonly calls: Calls;
  readonly giveUpAfterMs: number;
}

export class Watch {
  readonly #settings: WatchSettings;
  /** What is not read yet: locks as they stand, and null for those that are gone. */
  readonly #news = new Map<string, Lock | null>();
  #beganAnew = false;
  #complete = false;
  /** Whether a message of the stream that there is now has come, and of any. */
  #isHeard = false;
  #wasHeard = false;
  #end: { readonly why: unknown } | undefined;
  #wake: () => void = () => {};

  constructor(settings: WatchSettings) {
    this.#settings = settings;
  }

  /** To be called once. Throws a RowlockError, or the reason of the signal. */
  async *updates(): AsyncGenerator<WatchUpdate, void, undefined> {
    const { calls, prefix = "", signal, giveUpAfterMs } = this.#settings;
    signal?.throwIfAborted();
    const giveUp = () => this.abandon(signal?.reason);
    signal?.addEventListener("abort", giveUp);
    const call = calls.begin({
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
      calls.cancel(call);
    }
  }

  /** `updates` throws `why`. */
  abandon(why: unknown): void {
    this.#end ??= { why };
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
