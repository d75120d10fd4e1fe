// Holds locks by the handles that the runner gives them: acquires them, with or without a scope, and releases them.

import {
  type LimitView,
  type Lock,
  type LockOptions,
  type Refusal,
  type RowlockClient,
  RowlockError,
} from "../src/index.ts";
import { captureOptionsOf, lockOptionsOf, spendOptionsOf } from "./lock-options.ts";
import { queueRulesOf } from "./queue-rules.ts";
import { rateOf } from "./rates.ts";
import { releaseOptionsOf } from "./record-verbs.ts";
import type { Command, Verb } from "./verb.ts";

interface Handle {
  readonly asking: AbortController;
  lock?: Lock;
  /** Ends the scope, if the lock has one; rejects with the error that the scope throws. */
  leave?: () => Promise<void>;
}

export class HeldLocks {
  readonly #clientOf: (command: Command) => RowlockClient;
  readonly #tell: (event: object) => void;
  readonly #handles = new Map<string, Handle>();

  constructor(clientOf: (command: Command) => RowlockClient, tell: (event: object) => void) {
    this.#clientOf = clientOf;
    this.#tell = tell;
  }

  readonly verbs: Readonly<Record<string, Verb>> = {
    acquire: (asked, answer) => this.#acquire(asked, answer),
    spend: (asked) => this.#spend(asked),
    capture: (asked, answer) => this.#capture(asked, answer),
    giveUp: async (asked) => {
      this.#find(asked).asking.abort(new RowlockError("CANCELLED", "CANCELLED", "The runner gave up."));
      return {};
    },
    leave: async (asked) => {
      await this.#find(asked).leave?.();
      return { released: true };
    },
    state: async (asked) => {
      const { state, remainingMs } = this.#held(asked);
      return { state, remainingMs: remainingMs === Number.POSITIVE_INFINITY ? null : remainingMs };
    },
    release: async (asked) => ({ released: await this.#held(asked).release(releaseOptionsOf(asked)) }),
    handOver: async (asked) => {
      const { leaseId, token } = await this.#held(asked).handOver(asked.ttlMs);
      return { leaseId, token: String(token) };
    },
  };

  async #acquire(asked: Command, answer: (result: object) => void): Promise<object | undefined> {
    const client = this.#clientOf(asked);
    const handle = this.#begin(asked.lock);
    const options = lockOptionsOf(asked, handle.asking.signal, this.#tellOf(asked));
    const granted = (lock: Lock) => {
      answer(grantOf(lock));
      this.#hold(asked.lock, lock);
    };
    if (asked.scope) {
      await this.#enter(handle, granted, (work) => client.withLock(asked.name, options, work));
      return undefined;
    }
    const { lock, refusal } = await client.acquire(asked.name, options);
    if (!lock) return { refused: refusedOf(refusal) };
    granted(lock);
    return undefined;
  }

  /** A refusal is an error of this client's `spend`, and a result of the verb. */
  async #spend(asked: Command): Promise<object> {
    const { signal } = this.#begin(asked.lock).asking;
    try {
      const { token, permits, requestId } = await this.#clientOf(asked).spend(
        asked.name,
        spendOptionsOf(asked, signal, this.#tellOf(asked)),
      );
      return { spent: { token: String(token), permits, requestId } };
    } catch (error) {
      if (error instanceof RowlockError && error.refusal) return { refused: refusedOf(error.refusal) };
      throw error;
    }
  }

  #tellOf({ lock }: Command) {
    const position: LockOptions["onPosition"] = (place) => this.#tell({ event: "position", lock, ...place });
    const waiting: LockOptions["onWaiting"] = ({ summary, heldByYou, place: { ahead } }) =>
      this.#tell({ event: "waiting", lock, summary, heldByYou, ahead });
    return { position, waiting };
  }

  async #capture(asked: Command, answer: (result: object) => void): Promise<undefined> {
    const { signal } = this.#begin(asked.lock).asking;
    const { locks, retryAfterMs } = await this.#clientOf(asked).capture(captureOptionsOf(asked, signal));
    const taken = locks.map((lock, index) => ({ handle: `${asked.lock}${index}`, lock }));
    const captured = taken.map(({ handle, lock: { name, token, leaseId } }) => ({
      lock: handle,
      name,
      token: String(token),
      leaseId,
    }));
    answer({ captured, ...(retryAfterMs !== undefined && { retryAfterMs }) });
    for (const { handle, lock } of taken) this.#hold(handle, lock);
  }

  #begin(name: string): Handle {
    const handle: Handle = { asking: new AbortController() };
    this.#handles.set(name, handle);
    return handle;
  }

  /** Sends the lock's events from now on, after its answer. */
  #hold(name: string, lock: Lock): void {
    const handle = this.#handles.get(name) ?? this.#begin(name);
    handle.lock = lock;
    lock.onState((state) => {
      if (state !== "lost") this.#tell({ event: "state", lock: name, state, atMs: monotonicMs() });
    });
    lock.signal.addEventListener("abort", () => {
      if (lock.signal.reason.reason !== "LEASE_LOST") return;
      this.#tell({ event: "state", lock: name, state: "lost", atMs: monotonicMs() });
    });
  }

  /** Resolves when the scope is entered; `leave` reports how it ends. */
  async #enter(
    handle: Handle,
    granted: (lock: Lock) => void,
    withLock: (work: (lock: Lock) => Promise<void>) => Promise<void>,
  ): Promise<void> {
    const [entered, left] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const scope = withLock(async (lock) => {
      granted(lock);
      entered.resolve();
      await left.promise;
    });
    handle.leave = () => {
      left.resolve();
      return scope;
    };
    await Promise.race([entered.promise, scope]);
  }

  #find({ lock }: Command): Handle {
    const found = this.#handles.get(lock);
    if (!found) throw new Error(`There is no lock ${lock}.`);
    return found;
  }

  #held(asked: Command): Lock {
    const { lock } = this.#find(asked);
    if (!lock) throw new Error(`The lock ${asked.lock} was not granted.`);
    return lock;
  }
}

/** Of the clock that all processes of the machine share, in milliseconds. */
function monotonicMs(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000;
}

function grantOf({ token, tokens, leaseId, mode, permits }: Lock): object {
  const byName = Object.fromEntries(Array.from(tokens, ([name, each]) => [name, String(each)]));
  return { granted: { token: String(token), tokens: byName, leaseId, mode, permits } };
}

function refusedOf(refusal: Refusal): object {
  const { reason, message, retryAfterMs, lockName } = refusal;
  const holders = "holders" in refusal ? refusal.holders : [];
  const rate = "rate" in refusal && refusal.rate ? { rate: rateOf(refusal.rate) } : {};
  const rules =
    "queueRules" in refusal && refusal.queueRules ? { queueRules: queueRulesOf(refusal.queueRules) } : {};
  const limit = "limit" in refusal && refusal.limit ? { limit: limitOf(refusal.limit) } : {};
  const status = "status" in refusal ? { status: refusal.status } : {};
  const isOwn = "heldByYou" in refusal ? { heldByYou: refusal.heldByYou } : {};
  return {
    reason,
    message,
    retryAfterMs,
    lockName,
    ...status,
    ...rate,
    ...rules,
    ...limit,
    ...isOwn,
    holders: holders.map(({ owner, token }) => ({ owner, token: String(token) })),
  };
}

function limitOf({ permits, source, pattern, reason }: LimitView): object {
  return { permits, source, ...(pattern !== undefined && { pattern }), reason };
}
