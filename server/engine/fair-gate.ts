// A bounded queue that goes round the clients that have something in it; and a gate before it, which lets a few pieces of
// work of one kind run at once. A piece of work holds its place until it is over, even if nobody waits for it any more.
// Work that nobody wants when its turn comes is dropped. Knows nothing of the work.

import type { BoundUse } from "../core/bound-use.ts";
import type { Caller } from "../core/command.ts";
import { type Fault, overloaded } from "./faults.ts";

/** Whose call it is, for fair shares: a principal over all its connections, or else a session or a connection. */
export function sourceOf(caller: Caller | undefined): unknown {
  return caller?.principal || (caller?.source ?? caller?.getPeer());
}

/**
 * A bounded queue that goes round its sources. Items of one source keep their order, and after one item of a source
 * come the other sources, so nobody waits for everything that one source has asked for. When the queue is full, the
 * source with most items loses the last item that it added. Knows nothing of the items.
 */
export class FairQueue<Item> {
  readonly #max: number;
  readonly #eachMax: number;
  /** By source: the first item of the first source is next. No source is empty. */
  readonly #queues = new Map<unknown, Item[]>();
  #size = 0;

  /** Takes at most `max` items of all sources, and `eachMax` of one. */
  constructor(max: number, eachMax = max) {
    this.#max = max;
    this.#eachMax = eachMax;
  }

  get size(): number {
    return this.#size;
  }

  /**
   * Returns the item that loses its place, or null: the last one of the source with most items. It is the new one if
   * its source has `eachMax`, or if the queue is full and its source would then have as many as any other.
   */
  add(source: unknown, item: Item): Item | null {
    const own = this.#queues.get(source) ?? [];
    if (own.length >= this.#eachMax) return item;
    let refused: Item | null = null;
    if (this.#size >= this.#max) {
      const longest = this.#longest();
      if (longest.length <= own.length + 1) return item;
      refused = longest.pop() ?? null;
    } else this.#size += 1;
    own.push(item);
    this.#queues.set(source, own);
    return refused;
  }

  /** Removes and returns the next item. */
  next(): Item | undefined {
    for (const [source, queue] of this.#queues) {
      const item = queue.shift();
      this.#size -= 1;
      // The other sources come first now.
      this.#queues.delete(source);
      if (queue.length > 0) this.#queues.set(source, queue);
      return item;
    }
    return undefined;
  }

  /** Whether one source has more than so many items while others have some, too. */
  isCrowded(most: number): boolean {
    return this.#queues.size > 1 && this.#longest().length > most;
  }

  /** Removes and returns all items, one after the other. */
  *all(): Generator<Item, void, void> {
    for (let item = this.next(); item !== undefined; item = this.next()) yield item;
  }

  #longest(): Item[] {
    let longest: Item[] = [];
    for (const queue of this.#queues.values()) if (queue.length > longest.length) longest = queue;
    return longest;
  }
}

export interface FairGateOptions {
  readonly atOnce: number;
  readonly queuedMax: number;
  /** At most this much queued work of one client; unset: `queuedMax`. */
  readonly queuedEachMax?: number;
  /** Name of the bound of the queue, for the fault when it is full. */
  readonly bound: string;
}

interface Turn {
  readonly isOver: () => boolean;
  /** `begins`: whether the work may begin. */
  readonly resolve: (begins: boolean) => void;
  readonly reject: (why: Fault) => void;
}

const never = () => false;

export class FairGate {
  readonly #options: FairGateOptions;
  readonly #queue: FairQueue<Turn>;
  #running = 0;

  constructor(options: FairGateOptions) {
    this.#options = options;
    this.#queue = new FairQueue(options.queuedMax, options.queuedEachMax);
  }

  get bounds(): readonly BoundUse[] {
    const { bound, atOnce, queuedMax } = this.#options;
    return [
      { bound, kind: "room", used: this.#queue.size, max: queuedMax },
      { bound: bound.replace(/queued$/, "at_once"), kind: "turns", used: this.#running, max: atOnce },
    ];
  }

  /** Runs the work when it is the caller's turn. Throws as `begin` does, and what the work throws. */
  async run<Answer>(work: () => Promise<Answer>, caller?: Caller): Promise<Answer> {
    await this.begin(caller);
    try {
      return await work();
    } finally {
      this.end();
    }
  }

  /**
   * Resolves when it is the caller's turn. True: the work may begin, and the caller must call `end` afterwards. False:
   * `isOver` says that nobody wants the work any more. Throws a Fault if the queue is full and this client has most of
   * it. A client that is already queued may also be refused later.
   */
  async begin(caller?: Caller, isOver: () => boolean = never): Promise<boolean> {
    if (isOver()) return false;
    if (this.#running < this.#options.atOnce) {
      this.#running += 1;
      return true;
    }
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    const { bound } = this.#options;
    const refused = this.#queue.add(sourceOf(caller), { isOver, resolve, reject });
    refused?.reject(overloaded(bound, `Too much work is queued (${bound}).`));
    return await promise;
  }

  /** Passes the place to the next piece of work in the queue, or frees it. */
  end(): void {
    for (let turn = this.#queue.next(); turn; turn = this.#queue.next()) {
      const begins = !turn.isOver();
      turn.resolve(begins);
      if (begins) return;
    }
    this.#running -= 1;
  }
}
