// Computes what a server has room for in its memory, and notices when that memory runs short: by what is in use after
// a full garbage collection, because only that is certainly needed. Frees nothing itself.

import { constants, PerformanceObserver } from "node:perf_hooks";
import { getHeapStatistics } from "node:v8";
import type { Config } from "../config/config.ts";
import type { BoundUse } from "../core/bound-use.ts";

const MIB = 2 ** 20;
/** What the process needs beside the JavaScript heap: code, stacks, buffers, connections. */
const BESIDE_HEAP_BYTES = 96 * MIB;
/** Heap that an idle server needs, with its caches. */
const AT_REST_BYTES = 64 * MIB;
/** Measured and rounded up: 6 to 10 KB a wait, the most for a call of its own; 13 KB a session or connection. */
const WAIT_BYTES = 8 * 1_024;
const SESSION_BYTES = 16 * 1_024;
const CONNECTION_BYTES = 16 * 1_024;
/** What a new name of a lock takes in the caches until other names replace it, rounded up. */
const NAME_BYTES = 1_024;
/** Measured and rounded up: a lock with one holder, as the store remembers it. */
const CACHED_LOCK_BYTES = 1_700;
/** Seconds of new names for which there is room at once. */
const NAMES_S = 10;
/** Shares of the rest of the heap. What is left over is for calls under way and for garbage. */
const WAITS_SHARE = 1 / 2;
const SESSIONS_SHARE = 1 / 8;
const CONNECTIONS_SHARE = 1 / 8;
/** Of open calls with their headers, waits among them; then of those whose requests have not arrived. */
const STREAMS_SHARE = 3 / 4;
const PENDING_STREAMS_SHARE = 1 / 4;
const STREAM_BYTES_MIN = 2 * MIB;
const NAMES_SHARE = 1 / 16;
const CACHED_LOCKS_SHARE = 1 / 16;
/** Share of the waits that one principal may have: the others keep as many. */
const PRINCIPAL_WAITS_SHARE = 1 / 2;
/** Even a server with next to no memory serves this many. */
const ROOM_MIN = 100;
/** In use after a full collection: from the first share on memory is short, until it falls to the second. */
const SHORT_SHARE = 0.75;
const ENOUGH_SHARE = 0.65;

/** `processMax`: of the machine or container, as Node reports it; 0 or more than any machine has: no bound. */
export function heapMaxIn(processMax: number): number {
  const { heap_size_limit: heapMax } = getHeapStatistics();
  if (!(processMax > 0)) return heapMax;
  return Math.min(heapMax, Math.max(AT_REST_BYTES, processMax - BESIDE_HEAP_BYTES));
}

/**
 * What there is room for in such a heap: most of each at once; for new names, most in a second. Settings that are not null
 * replace what would be computed.
 */
export function capacityIn(heapMax: number, set: Partial<Config> = {}) {
  const rest = Math.max(0, heapMax - AT_REST_BYTES);
  const count = (share: number, bytes: number) => Math.max(ROOM_MIN, Math.floor((rest * share) / bytes));
  const waits = set.waitsMax ?? count(WAITS_SHARE, WAIT_BYTES);
  return {
    waits,
    principalWaits: set.principalWaitsMax ?? Math.max(1, Math.floor(waits * PRINCIPAL_WAITS_SHARE)),
    sessions: set.sessionsMax ?? count(SESSIONS_SHARE, SESSION_BYTES),
    connections: set.connectionsMax ?? count(CONNECTIONS_SHARE, CONNECTION_BYTES),
    streamBytes: Math.max(2 * STREAM_BYTES_MIN, Math.floor(rest * STREAMS_SHARE)),
    pendingStreamBytes: Math.max(STREAM_BYTES_MIN, Math.floor(rest * PENDING_STREAMS_SHARE)),
    namesPerSecond: set.namesPerSecond ?? count(NAMES_SHARE, NAME_BYTES * NAMES_S),
    /** Locks whose rows the store remembers. */
    cachedLocks: count(CACHED_LOCKS_SHARE, CACHED_LOCK_BYTES),
  };
}

export interface MemoryOptions {
  readonly heapMax: number;
  readonly onChange: (isShort: boolean, usedBytes: number) => void;
  /** Bytes in use now; by default those of the heap. */
  readonly usedBytes?: () => number;
}

export class Memory {
  readonly #options: MemoryOptions;
  readonly #collections = new PerformanceObserver((list) => {
    if (list.getEntries().some(isFull)) this.look();
  });
  #isShort = false;
  /** As the last full collection left it. */
  #usedBytes = 0;

  constructor(options: MemoryOptions) {
    this.#options = options;
  }

  /** What certainly was in use after the last full collection, of what may be before memory is short. */
  get bound(): BoundUse {
    const max = this.#options.heapMax * SHORT_SHARE;
    return { bound: "heap_bytes", kind: "room", used: this.#usedBytes, max };
  }

  readonly isShort = (): boolean => this.#isShort;

  start(): void {
    this.#collections.observe({ entryTypes: ["gc"] });
  }

  stop(): void {
    this.#collections.disconnect();
  }

  look(): void {
    const { heapMax, onChange, usedBytes = () => getHeapStatistics().used_heap_size } = this.#options;
    const used = usedBytes();
    this.#usedBytes = used;
    const isShort = used > heapMax * (this.#isShort ? ENOUGH_SHARE : SHORT_SHARE);
    if (isShort === this.#isShort) return;
    this.#isShort = isShort;
    onChange(isShort, used);
  }
}

function isFull(entry: PerformanceEntry): boolean {
  const { detail } = entry as unknown as { readonly detail?: { readonly kind?: number } };
  return detail?.kind === constants.NODE_PERFORMANCE_GC_MAJOR;
}
