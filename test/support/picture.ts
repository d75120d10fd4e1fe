// The state that a watch of an engine has reported so far, assembled as a client would.

import type { LockWatch, ViewedLock, WatchUpdate } from "../../server/engine/answers.ts";

export class Picture {
  readonly watch: LockWatch;
  /** By name, as of the last complete snapshot and the updates after it. */
  locks = new Map<string, ViewedLock>();
  readonly updates: WatchUpdate[] = [];
  #snapshot: Map<string, ViewedLock> | null = new Map();
  #arrived: (() => void)[] = [];

  /** Takes updates only when a method is called. */
  constructor(watch: LockWatch) {
    this.watch = watch;
  }

  /** Takes updates until the watch is closed; resolves with the reason. */
  async takeAll(): Promise<Error> {
    try {
      for (;;) await this.take();
    } catch (error) {
      return error as Error;
    }
  }

  async take(): Promise<WatchUpdate> {
    const update = await this.watch.next();
    this.updates.push(update);
    if (update.beganAnew) this.#snapshot = new Map();
    const known = this.#snapshot ?? this.locks;
    for (const view of update.locks) known.set(view.lock.name, view);
    for (const name of update.deleted) known.delete(name);
    if (update.complete) {
      this.locks = known;
      this.#snapshot = null;
    }
    for (const tell of this.#arrived.splice(0)) tell();
    return update;
  }

  get isComplete(): boolean {
    return this.#snapshot === null;
  }

  get begunAnew(): number {
    return this.updates.filter(({ beganAnew }) => beganAnew).length;
  }

  /** Resolves as soon as `fits` returns true, while another call takes the updates. */
  async until(fits: (picture: this) => boolean): Promise<void> {
    while (!fits(this)) await new Promise<void>((resolve) => this.#arrived.push(resolve));
  }
}
