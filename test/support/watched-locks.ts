// What a client of WatchLocks knows: the reported locks, kept as the contract says.

import type { Lock } from "#proto/rowlock/v1/lock_pb.js";
import type { WatchLocksResponse } from "#proto/rowlock/v1/lock_service_pb.js";
import type { RowlockError } from "../../clients/typescript/src/bare/index.ts";

export class WatchedLocks {
  /** The existing locks by name, as of the last message that belongs to a complete snapshot. */
  locks = new Map<string, Lock>();
  readonly messages: WatchLocksResponse[] = [];
  readonly cancel: () => void;
  #snapshot: Map<string, Lock> | null = new Map();
  #failure: RowlockError | undefined;
  #arrived: (() => void)[] = [];

  constructor(stream: AsyncIterable<WatchLocksResponse>, cancel: () => void) {
    this.cancel = cancel;
    void this.#read(stream);
  }

  get begunAnew(): number {
    return this.messages.filter(({ beganAnew }) => beganAnew).length;
  }

  /** Resolves as soon as `fits` returns true. Rejects with the failure that ends the stream. */
  async until(fits: (watched: this) => boolean): Promise<void> {
    while (!fits(this)) {
      if (this.#failure) throw this.#failure;
      await new Promise<void>((resolve) => this.#arrived.push(resolve));
    }
  }

  /** Resolves when the lock is known and fits. */
  async shows(name: string, fits: (lock: Lock) => boolean = () => true): Promise<Lock> {
    await this.until(({ locks }) => {
      const lock = locks.get(name);
      return lock !== undefined && fits(lock);
    });
    return this.locks.get(name) as Lock;
  }

  async complete(): Promise<void> {
    await this.until(({ messages }) => messages.some(({ complete }) => complete));
  }

  async failure(): Promise<RowlockError> {
    try {
      await this.until(() => false);
    } catch (error) {
      return error as RowlockError;
    }
    throw new Error("unreachable");
  }

  async #read(stream: AsyncIterable<WatchLocksResponse>): Promise<void> {
    try {
      for await (const message of stream) this.#take(message);
      throw new Error("the watch was closed in good order, which it never is");
    } catch (error) {
      this.#failure = error as RowlockError;
    }
    this.#tell();
  }

  #take(message: WatchLocksResponse): void {
    this.messages.push(message);
    if (message.beganAnew) this.#snapshot = new Map();
    const known = this.#snapshot ?? this.locks;
    for (const lock of message.locks) known.set(lock.name, lock);
    for (const name of message.deleted) known.delete(name);
    if (message.complete) {
      this.locks = known;
      this.#snapshot = null;
    }
    this.#tell();
  }

  #tell(): void {
    for (const tell of this.#arrived.splice(0)) tell();
  }
}
