// The checks of requests, field by field. Each adds what it finds to the list of violations, and returns a value that is
// only good if it found nothing. Pure. Refuses values, never repairs them.

import type { Duration, Timestamp } from "@bufbuild/protobuf/wkt";
import type { LeaseTerms, Backoff as WireBackoff } from "#proto/rowlock/v1/lock_pb.js";
import type { ClaimReference, ListChangesRequest } from "#proto/rowlock/v1/lock_service_pb.js";
import * as bounds from "../../core/bounds.ts";
import {
  type Backoff,
  type ClaimRef,
  parseClaimId,
  SERVER_MADE_PREFIX,
  type Terms,
} from "../../core/claim.ts";
import { isOwnName } from "../../core/lock.ts";
import { LABELS_CHECKED_MAX, QUOTED_CHARS_MAX } from "../grpc-bounds.ts";
import { badRequest, type Violation } from "../messages/call-error.ts";
import { spanText, spanUs } from "../messages/messages.ts";

/** What google.protobuf.Duration itself allows: about 10,000 years. */
const DURATION_SECONDS_MAX = 315_576_000_000n;
export const NANOS_MAX = 999_999_999;
/** The last second of the year 9999, as google.protobuf.Timestamp allows it. */
const INSTANT_SECONDS_MAX = 253_402_300_799n;
const TICKET_NUMBER_MAX = 2n ** 63n - 1n;

/** What many decoders of callers make of bytes that are not UTF-8, so that two names become one. */
const REPLACED = "\ufffd";
const REPLACED_WORDS = "has U+FFFD, which stands for bytes that are not valid UTF-8: send the text in UTF-8";

interface Bounds {
  readonly minUs: number;
  readonly maxUs: number;
}

export const TTL: Bounds = { minUs: bounds.TTL_US_MIN, maxUs: bounds.DURATION_US_MAX };
/** How long a call may wait. */
export const WAIT: Bounds = { minUs: bounds.WAIT_US_MIN, maxUs: bounds.DURATION_US_MAX };
/** The `per` of a rate. */
export const PER: Bounds = { minUs: bounds.RATE_PER_US_MIN, maxUs: bounds.DURATION_US_MAX };
/** How long a lock may rest between two leases. */
export const DELAY: Bounds = { minUs: 0, maxUs: bounds.DELAY_US_MAX };
/** Between a failure and the next grant. */
const REST: Bounds = { minUs: 1, maxUs: bounds.DELAY_US_MAX };
export const HEAD_START: Bounds = { minUs: 0, maxUs: bounds.DURATION_US_MAX };

/** Stands in for a claim id that was refused. */
export const NO_CLAIM: ClaimRef = { lockId: 0n, ticketNumber: 0n, secret: "" };

/** The locks of a listing: one of them, or (null) all with a prefix. */
interface ListedLocks {
  readonly lockName: string | null;
  readonly prefix: string;
}

interface LeaseAsk {
  /** null: without end. */
  readonly ttlUs: number | null;
  readonly owner: string;
  readonly labels: Readonly<Record<string, string>>;
  /** What it wants of the lock's record; null: nothing. */
  readonly terms: Terms | null;
}

/** What a request asks that sets nothing. */
const PLAIN: LeaseAsk = { ttlUs: bounds.TTL_US_DEFAULT, owner: "", labels: {}, terms: null };

/** Checks one request, and collects what is wrong with it, so that the caller learns all of it at once. */
export class Check {
  readonly #found: Violation[];
  /** Stands before each field's name. */
  readonly #prefix: string;

  constructor(found: Violation[] = [], prefix = "") {
    this.#found = found;
    this.#prefix = prefix;
  }

  /** `description` continues the sentence that the field's name begins: `is 0 s; use 1 s to 24 days`. */
  add(field: string, description: string): void {
    this.#found.push({ field: this.#prefix + field, description });
  }

  /** Checks a nested message; `parent` is its field. */
  within(parent: string): Check {
    return new Check(this.#found, `${this.#prefix}${parent}.`);
  }

  /** Returns `value` if nothing was found; otherwise throws a CallError with all violations. */
  checked<Value>(value: Value): Value {
    if (this.#found.length > 0) throw badRequest(this.#found);
    return value;
  }

  /** A lock's name: neither empty nor one of the servers' own names. */
  name(name: string, field: string): string {
    if (name === "")
      this.add(field, `is required: name the lock, in 1 to ${bounds.NAME_BYTES_MAX} bytes of UTF-8`);
    else if (isOwnName(name)) this.add(field, "begins with a NUL: such locks are the servers' own");
    else this.text(name, bounds.NAME_BYTES_MAX, field);
    return name;
  }

  text(text: string, bytesMax: number, field: string): string {
    // No UTF-16 code unit takes more than 3 bytes in UTF-8, so most texts need not be measured.
    const bytes = text.length * 3 <= bytesMax ? 0 : Buffer.byteLength(text);
    if (bytes > bytesMax) this.add(field, `is ${bytes} bytes long; use at most ${bytesMax} bytes of UTF-8`);
    if (text.includes(REPLACED)) this.add(field, REPLACED_WORDS);
    return text;
  }

  /** What the value of an enum means; undefined: nothing. `names`: all values, for the error. */
  enum<Meaning>(
    value: number,
    meanings: Readonly<Record<number, Meaning>>,
    field: string,
    names: string,
  ): Meaning | undefined {
    const meaning = meanings[value];
    if (!meaning) this.add(field, `is ${value}, which is not a known value: use ${names}`);
    return meaning;
  }

  reason(text: string, required: boolean): string {
    if (required && text === "")
      this.add("reason", `is required: say why, in 1 to ${bounds.TEXT_BYTES_MAX} bytes`);
    return this.text(text, bounds.TEXT_BYTES_MAX, "reason");
  }

  /**
   * Returns a span of time in microseconds; undefined: the request gives none. Rounds parts of a microsecond up, so that
   * nothing ends before the requested time; the bounds apply to the exact value.
   */
  duration(duration: Duration | undefined, { minUs, maxUs }: Bounds, field: string): number | undefined {
    if (!duration) return undefined;
    const { seconds, nanos } = duration;
    if (!isWellFormed(seconds, nanos)) {
      this.add(
        field,
        "is not a valid Duration: nanos are within +-999,999,999 and have the sign of the seconds",
      );
      return 0;
    }
    // A number is exact to the nanosecond within 104 days, and to a part of a microsecond within any bounds.
    const us = spanUs(duration);
    if (us < minUs || us > maxUs)
      this.add(field, `is ${secondsText(seconds, nanos)}; use ${spanText(minUs)} to ${spanText(maxUs)}`);
    return Math.ceil(us);
  }

  /** An instant, in microseconds since 1970; null: the request gives none. Parts of a microsecond do not count. */
  instant(instant: Timestamp | undefined, field: string): number | null {
    if (!instant) return null;
    const { seconds, nanos } = instant;
    if (nanos < 0 || nanos > NANOS_MAX || seconds < 0n || seconds > INSTANT_SECONDS_MAX) {
      this.add(field, "is not a valid Timestamp from 1970 on");
      return null;
    }
    return Number(seconds) * 1e6 + Math.floor(nanos / 1_000);
  }

  /** What the values of a repeated enum mean. Reports the first that means nothing. */
  enums<Meaning>(
    values: readonly number[],
    meanings: Readonly<Record<number, Meaning>>,
    field: string,
    names: string,
  ): readonly Meaning[] {
    const found = new Set<Meaning>();
    for (const [index, value] of values.entries()) {
      const meaning = this.enum(value, meanings, `${field}[${index}]`, names);
      if (meaning === undefined) break;
      found.add(meaning);
    }
    return [...found];
  }

  listedLocks(locks: ListChangesRequest["locks"]): ListedLocks {
    switch (locks.case) {
      case "lockName":
        return { lockName: this.name(locks.value, "lock_name"), prefix: "" };
      case "prefix":
        return { lockName: null, prefix: this.text(locks.value, bounds.NAME_BYTES_MAX, "prefix") };
      case undefined:
        return { lockName: null, prefix: "" };
    }
  }

  claimReference({ lockName, ticketNumber }: ClaimReference, field: string) {
    if (ticketNumber < 1n || ticketNumber > TICKET_NUMBER_MAX)
      this.add(
        `${field}.ticket_number`,
        `is ${ticketNumber}, which no claim has: pass the ticket_number of a claim as GetLock lists it`,
      );
    return { name: this.name(lockName, `${field}.lock_name`), ticketNumber };
  }

  claimId(id: string, field: string): ClaimRef {
    const ref = parseClaimId(id);
    if (!ref)
      this.add(
        field,
        id === ""
          ? "is required: pass the lease_id of a Lease or the ticket_id of a Ticket"
          : "is not an id of this server: pass the lease_id of a Lease or the ticket_id of a Ticket, unchanged",
      );
    return ref ?? NO_CLAIM;
  }

  /** Refuses ids with the prefix of those that the server makes. */
  requestId(requestId: string): string {
    if (requestId.startsWith(SERVER_MADE_PREFIX))
      this.add(
        "request_id",
        "begins with a NUL, which is reserved for the server: use another id, such as a UUID",
      );
    return this.text(requestId, bounds.REQUEST_ID_BYTES_MAX, "request_id");
  }

  /** Checks the number of labels, and the first LABELS_CHECKED_MAX of them. */
  labels(labels: LeaseTerms["labels"]): LeaseTerms["labels"] {
    const keys = Object.keys(labels);
    if (keys.length > bounds.LABELS_MAX)
      this.add("labels", `has ${keys.length} entries; use at most ${bounds.LABELS_MAX}`);
    for (const key of keys.slice(0, LABELS_CHECKED_MAX)) {
      const field = `labels[${JSON.stringify(key.slice(0, QUOTED_CHARS_MAX).toWellFormed())}]`;
      const bytes = Buffer.byteLength(key);
      if (bytes < 1 || bytes > bounds.LABEL_KEY_BYTES_MAX)
        this.add(field, `has a key of ${bytes} bytes; use 1 to ${bounds.LABEL_KEY_BYTES_MAX} bytes of UTF-8`);
      else if (key.includes(REPLACED)) this.add(field, REPLACED_WORDS);
      this.text(labels[key] ?? "", bounds.TEXT_BYTES_MAX, field);
    }
    return labels;
  }

  /** The terms of a request that takes no lease. */
  spendTerms(terms: LeaseTerms | undefined): void {
    const { lasting, minInterval, lockDelay, statusIfLost, backoff } = terms ?? {};
    const ofLeases = {
      ttl: lasting?.case === "ttl",
      no_expiry: lasting?.case === "noExpiry",
      min_interval: minInterval !== undefined,
      lock_delay: lockDelay !== undefined,
      status_if_lost: statusIfLost !== undefined,
      backoff: backoff !== undefined,
    };
    for (const [field, isSet] of Object.entries(ofLeases))
      if (isSet) this.add(field, "is for a lease, and spend_only takes none: leave one of them unset");
  }

  leaseTerms(terms: LeaseTerms | undefined): LeaseAsk {
    if (!terms) return PLAIN;
    const { lasting, owner, labels } = terms;
    return {
      ttlUs:
        lasting.case === "noExpiry"
          ? null
          : (this.duration(lasting.value, TTL, "ttl") ?? bounds.TTL_US_DEFAULT),
      owner: this.text(owner, bounds.TEXT_BYTES_MAX, "owner"),
      labels: this.labels(labels),
      terms: this.#recordTerms(terms),
    };
  }

  #recordTerms({ minInterval, lockDelay, statusIfLost, ifStatus, backoff }: LeaseTerms): Terms | null {
    const terms: Terms = {
      minIntervalUs: this.duration(minInterval, DELAY, "min_interval") ?? null,
      lockDelayUs: this.duration(lockDelay, DELAY, "lock_delay") ?? null,
      statusIfLost: this.status(statusIfLost, "status_if_lost") ?? null,
      ifStatus: this.statuses(ifStatus, "if_status"),
      ...(backoff && { backoff: this.#backoff(backoff) }),
    };
    const says =
      terms.minIntervalUs ||
      terms.lockDelayUs ||
      terms.statusIfLost !== null ||
      ifStatus.length > 0 ||
      backoff !== undefined;
    return says ? terms : null;
  }

  #backoff({ first, max }: WireBackoff): Backoff {
    if (!first) this.add("backoff.first", "is missing: say how long the lock rests after the first failure");
    const firstUs = this.duration(first, REST, "backoff.first") ?? REST.minUs;
    const maxUs = this.duration(max, REST, "backoff.max") ?? firstUs;
    if (maxUs < firstUs) this.add("backoff.max", "is less than backoff.first: make it at least as long");
    return { firstUs, maxUs };
  }

  statuses(statuses: readonly string[], field: string): readonly string[] {
    if (statuses.length > bounds.STATUSES_MAX)
      this.add(field, `has ${statuses.length} entries; use at most ${bounds.STATUSES_MAX}`);
    return statuses
      .slice(0, bounds.STATUSES_MAX)
      .map((status, index) => this.text(status, bounds.STATUS_BYTES_MAX, `${field}[${index}]`));
  }

  /** undefined: the request gives none. */
  status(status: string | undefined, field: string): string | undefined {
    return status === undefined ? undefined : this.text(status, bounds.STATUS_BYTES_MAX, field);
  }

  /** undefined: the request gives none. */
  attempts(attemptsLeft: number | undefined): number | undefined {
    if (attemptsLeft !== undefined && attemptsLeft > bounds.ATTEMPTS_MAX)
      this.add("attempts_left", `is ${attemptsLeft}; use 0 to ${bounds.ATTEMPTS_MAX}`);
    return attemptsLeft;
  }
}

function isWellFormed(seconds: bigint, nanos: number): boolean {
  if (seconds > DURATION_SECONDS_MAX || seconds < -DURATION_SECONDS_MAX) return false;
  if (Math.abs(nanos) > NANOS_MAX) return false;
  return nanos === 0 || seconds === 0n || nanos > 0 === seconds > 0n;
}

/** For a person: `-1.5 s`. */
function secondsText(seconds: bigint, nanos: number): string {
  const sign = seconds < 0n || nanos < 0 ? "-" : "";
  const whole = seconds < 0n ? -seconds : seconds;
  const fraction = nanos === 0 ? "" : `.${String(Math.abs(nanos)).padStart(9, "0").replace(/0+$/, "")}`;
  return `${sign}${whole}${fraction} s`;
}
