// Every bound of the contract, with its reason. These bounds are the same on every server, so that clients can rely
// on them. config/settings.ts has what an operator may change.

const SECOND_US = 1_000_000;

/** Longest name, in bytes of UTF-8: what a unique key holds on every database without a prefix index. */
export const NAME_BYTES_MAX = 255;
/** Longest owner, label value and reason, in bytes: one line for a person to read. */
export const TEXT_BYTES_MAX = 255;
/** Longest label key, in bytes, and most labels of a claim: enough for job, run, host and the like. */
export const LABEL_KEY_BYTES_MAX = 63;
export const LABELS_MAX = 16;
/** Longest request id of a caller, in bytes: a UUID with a job's name before it, and what keptRequestId adds, in 128 bytes. */
export const REQUEST_ID_BYTES_MAX = 100;
/** Longest ticket or lease id, in characters: two 64-bit numbers and a secret of 22 characters. */
export const CLAIM_ID_CHARS_MAX = 64;

/** Longest status of a record, in bytes, and most statuses that one request wants: words of a small state machine. */
export const STATUS_BYTES_MAX = 63;
export const STATUSES_MAX = 16;
/** Most attempts that a record counts: far more than anybody needs. */
export const ATTEMPTS_MAX = 1_000_000;
/** Longest delay until the next grant of a lock: 10 years. A longer one is a mistake in a unit. */
export const DELAY_US_MAX = 3652.5 * 24 * 3600 * SECOND_US;

/** Most leases of one Capture, and most names to choose among: one answer, one transaction of some ten milliseconds. */
export const CAPTURE_MAX = 100;
export const CAPTURE_NAMES_MAX = 1_000;

/** Shortest time to live: below it, a network hiccup would end leases of healthy holders. */
export const TTL_US_MIN = SECOND_US;
/** Longest time to live and longest wait: 24 days, within the longest timer of Node (2^31 ms). Clients share it. */
export const DURATION_US_MAX = 24 * 24 * 3600 * SECOND_US;
/** Time to live if the request names none. */
export const TTL_US_DEFAULT = 30 * SECOND_US;
/** Shortest bounded wait. */
export const WAIT_US_MIN = 1_000;
/** Least remaining time that the server reports while it is not certain that the time has passed. */
export const RETRY_AFTER_US_MIN = 1_000;
/** Longest interval between position updates that a client can ask for, and the default. */
export const UPDATE_INTERVAL_US_MAX = 3600 * SECOND_US;
export const UPDATE_INTERVAL_US_DEFAULT = SECOND_US;

/** Drift between the database's clock and a server's own that does not count as a step, as a share of elapsed time. */
export const CLOCK_DRIFT_MAX = 0.001;

/** Longer than any server keeps a place after a sign of life: the longest grace period, and its pace of heartbeats. */
export const PLACE_US_MAX = 15 * 60 * SECOND_US;

/** Smallest step of the database's clock that counts as a jump: half of the shortest time to live. */
export const CLOCK_JUMP_US_MIN = TTL_US_MIN / 2;

/** Most permits of one request and highest limit: sums over a full queue stay far below 2^53. */
export const PERMITS_MAX = 1_000_000;
/** The highest waiting_max, and the highest bound of a server. */
export const WAITING_MAX_MAX = 1_000_000;
/** Shortest `per` of a rate. A rate counts up to PERMITS_MAX permits in it. */
export const RATE_PER_US_MIN = SECOND_US;
/** The limit of a lock without any setting: a plain Acquire is a mutex. */
export const LIMIT_DEFAULT = 1;

/** Longest pattern of a pool, in bytes with its star: its guard row is named after it. */
export const POOL_BYTES_MAX = 247;
/** Most pools over one name: what a claim lists of them is in its row. */
export const POOLS_OVER_NAME_MAX = 8;
/** Of those who wait at a pool, the first ones that a decision reads. So many may go on together. */
export const POOL_QUEUE_READ = 128;

/** Most locks of a claim beside the first one: their rows are locked together, and its list of them is in each of its rows. */
export const FURTHER_LOCKS_MAX = 7;

/** Waiters that a decision reads from the head of a queue: one for each command and this many more; and the most. */
export const QUEUE_HEAD_EXTRA = 1;
export const QUEUE_HEAD_MAX = 256;
/** Claims past their deadline that one decision reads for its locks. The next sweep takes the rest. */
export const DUE_MAX = 256;
/** Holders that one ForceRelease of a name ends. The answer lists all of them, at most 5.8 kB each, within 4 MiB. */
export const FORCE_RELEASE_MAX = 500;
/** Holders of a lock whose permits are counted for fair shares, the oldest first. */
export const SHARE_HOLDERS_MAX = FORCE_RELEASE_MAX;
/** The most waiters that are put in another order at once: with more, the queue keeps its order until fewer wait. */
export const REORDERED_MAX = 20_000;
/** Holders and waiters that GetLock, ListLocks and a refusal (holders only) show of a lock. */
export const SHOWN_BY_GET_MAX = 100;
export const SHOWN_BY_LIST_MAX = 10;
export const SHOWN_BY_REFUSAL_MAX = 10;
/** Locks on one page of ListLocks: the most, and the default. */
export const PAGE_SIZE_MAX = 1_000;
export const PAGE_SIZE_DEFAULT = 100;

/** The items, in order, in parts of `size`; the last one may have fewer. */
export function partsOf<Item>(items: readonly Item[], size: number): (readonly Item[])[] {
  const parts: (readonly Item[])[] = [];
  for (let at = 0; at < items.length; at += size) parts.push(items.slice(at, at + size));
  return parts;
}
