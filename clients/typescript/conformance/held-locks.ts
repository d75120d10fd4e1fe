// Locks by the handles that the runner gave them: asked for, held in a scope or without one, looked at and let go.

import { type Lock, type LockOptions, type Refusal, type Rowlock, RowlockError } from "../src/index.ts";
import type { Command, Verb } from "./verb.ts";

interface Handle {
  readonly asking: AbortController;
  lock?: Lock;
  /** Of a scope: ends it, and rejects where it has ended badly. */
  leave?: () => Promise<void>;
}

export class HeldLocks {
  readonly #clientOf: (command: Command) => Rowlock;
  readonly #tell: (event: object) => void;
  readonly #handles = new Map<string, Handle>();

  constructor(clientOf: (command: Command) => Rowlock, tell: (event: object) => void) {
    this.#clientOf = clientOf;
    this.#tell = tell;
  }

  readonly verbs: Readonly<Record<string, Verb>> = {
    acquire: (asked, answer) => this.#acquire(asked, answer),
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
    release: async (asked) => ({ released: await this.#held(asked).release() }),
    handOver: async (asked) => {
      const { leaseId, token } = await this.#held(asked).handOver(asked.ttlMs);
      return { leaseId, token: String(token) };
    },
  };

  async #acquire(asked: Command, answer: (result: object) => void): Promise<object | undefined> {
    const client = this.#clientOf(asked);
    const handle: Handle = { asking: new AbortController() };
    this.#handles.set(asked.lock, handle);
    const options = this.#optionsOf(asked, handle.asking.signal);
    const granted = (lock: Lock) => {
      handle.lock = lock;
      answer(grantOf(lock));
      lock.onState((state) => {
        if (state !== "lost") this.#tell({ event: "state", lock: asked.lock, state });
      });
      lock.signal.addEventListener("abort", () => {
        if (lock.signal.reason.reason !== "LEASE_LOST") return;
        this.#tell({ event: "state", lock: asked.lock, state: "lost" });
      });
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

  /** Comes back with the scope entered; how it ended is for `leave` to tell. */
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

  #optionsOf(asked: Command, signal: AbortSignal): LockOptions {
    const { waitMs, ttlMs, marginMs, permits, mode, requestId, owner, labels, positionIntervalMs } = asked;
    return {
      signal,
      ...(waitMs !== undefined && { wait: waitMs }),
      ...(ttlMs !== undefined && { ttl: ttlMs }),
      ...(marginMs !== undefined && { margin: marginMs }),
      ...(permits !== undefined && { permits }),
      ...(mode !== undefined && { mode }),
      ...(requestId !== undefined && { requestId }),
      ...(owner !== undefined && { owner }),
      ...(labels && { labels }),
      ...(positionIntervalMs !== undefined && { positionInterval: positionIntervalMs }),
      ...(asked.positions && {
        onPosition: (place) => this.#tell({ event: "position", lock: asked.lock, ...place }),
      }),
    };
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

function grantOf({ token, leaseId, mode, permits }: Lock): object {
  return { granted: { token: String(token), leaseId, mode, permits } };
}

function refusedOf(refusal: Refusal): object {
  const { reason, message, retryAfterMs } = refusal;
  const holders = "holders" in refusal ? refusal.holders : [];
  return {
    reason,
    message,
    retryAfterMs,
    holders: holders.map(({ owner, token }) => ({ owner, token: String(token) })),
  };
}
