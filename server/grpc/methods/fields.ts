// Shared by all request checks: the list of violations, and the checks of single fields. Each check adds what it finds
// to the list, and returns a value that is only good if it found nothing. Pure. Refuses values, never repairs them.

import type { Duration, Timestamp } from "@bufbuild/protobuf/wkt";
import type { LeaseTerms } from "#proto/rowlock/v1/lock_pb.js";
import type { ClaimReference, ListChangesRequest } from "#proto/rowlock/v1/lock_service_pb.js";
import {
  ATTEMPTS_MAX,
  DELAY_US_MAX,
  DURATION_US_MAX,
  LABEL_KEY_BYTES_MAX,
  LABELS_MAX,
  NAME_BYTES_MAX,
  REQUEST_ID_BYTES_MAX,
  STATUS_BYTES_MAX,
  STATUSES_MAX,
  TEXT_BYTES_MAX,
  TTL_US_DEFAULT,
  TTL_US_MIN,
  WAIT_US_MIN,
} from "../../core/bounds.ts";
import type { Terms } from "../../core/claim.ts";
import { type ClaimRef, parseClaimId, SERVER_MADE_PREFIX } from "../../core/claim.ts";
import { isOwnName } from "../../core/lock.ts";
import { LABELS_CHECKED_MAX, QUOTED_CHARS_MAX } from "../grpc-bounds.ts";
import { badRequest, type Violation } from "../messages/call-error.ts";
import { spanText, spanUs } from "../messages/times.ts";

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

export const TTL: Bounds = { minUs: TTL_US_MIN, maxUs: DURATION_US_MAX };
/** How long a call may wait. */
export const WAIT: Bounds = { minUs: WAIT_US_MIN, maxUs: DURATION_US_MAX };
/** How long a lock may rest between two leases. */
export const DELAY: Bounds = { minUs: 0, maxUs: DELAY_US_MAX };

/** Stands in for a claim id that was refused. */
export const NO_CLAIM: ClaimRef = { lockId: 0n, ticketNumber: 0n, secret: "" };

/** Collects what is wrong with a request, so that the caller learns all of it at once. */
export class Violations {
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

  /** Collects what is wrong with a nested message; `parent` is its field. */
  within(parent: string): Violations {
    return new Violations(this.#found, `${this.#prefix}${parent}.`);
  }

  /** Returns `value` if nothing was found; otherwise throws a CallError with all violations. */
  checked<Value>(value: Value): Value {
    if (this.#found.length > 0) throw badRequest(this.#found);
    return value;
  }
}

/** A lock's name: neither empty nor one of the servers' own names. */
export function checkName(name: string, field: string, violations: Violations): string {
  if (name === "")
    violations.add(field, `is required: name the lock, in 1 to ${NAME_BYTES_MAX} bytes of UTF-8`);
  else if (isOwnName(name)) violations.add(field, "begins with a NUL: such locks are the servers' own");
  else checkText(name, NAME_BYTES_MAX, field, violations);
  return name;
}

/** Text that may be empty. */
export function checkText(text: string, bytesMax: number, field: string, violations: Violations): string {
  // No UTF-16 code unit takes more than 3 bytes in UTF-8, so most texts need not be measured.
  const bytes = text.length * 3 <= bytesMax ? 0 : Buffer.byteLength(text);
  if (bytes > bytesMax)
    violations.add(field, `is ${bytes} bytes long; use at most ${bytesMax} bytes of UTF-8`);
  if (text.includes(REPLACED)) violations.add(field, REPLACED_WORDS);
  return text;
}

/**
 * What the value of an enum means; undefined: nothing. `names`: all values, for the error. Enums of proto3 are open: any
 * number can arrive.
 */
export function checkEnum<Meaning>(
  value: number,
  meanings: Readonly<Record<number, Meaning>>,
  field: string,
  names: string,
  violations: Violations,
): Meaning | undefined {
  const meaning = meanings[value];
  if (!meaning) violations.add(field, `is ${value}, which is not a known value: use ${names}`);
  return meaning;
}

/** The reason that a caller gives for a change. */
export function checkReason(text: string, required: boolean, violations: Violations): string {
  if (required && text === "")
    violations.add("reason", `is required: say why, in 1 to ${TEXT_BYTES_MAX} bytes`);
  return checkText(text, TEXT_BYTES_MAX, "reason", violations);
}

/**
 * Returns a span of time in microseconds; undefined: the request gives none. Rounds parts of a microsecond up, so that
 * nothing ends before the requested time; the bounds apply to the exact value.
 */
export function checkDuration(
  duration: Duration | undefined,
  { minUs, maxUs }: Bounds,
  field: string,
  violations: Violations,
): number | undefined {
  if (!duration) return undefined;
  const { seconds, nanos } = duration;
  if (!isWellFormed(seconds, nanos)) {
    violations.add(
      field,
      "is not a valid Duration: nanos are within +-999,999,999 and have the sign of the seconds",
    );
    return 0;
  }
  // A number is exact to the nanosecond within 104 days, and to a part of a microsecond within any bounds.
  const us = spanUs(duration);
  if (us < minUs || us > maxUs) {
    violations.add(field, `is ${secondsText(seconds, nanos)}; use ${spanText(minUs)} to ${spanText(maxUs)}`);
  }
  return Math.ceil(us);
}

/** An instant, in microseconds since 1970; null: the request gives none. Parts of a microsecond do not count. */
export function checkInstant(
  instant: Timestamp | undefined,
  field: string,
  violations: Violations,
): number | null {
  if (!instant) return null;
  const { seconds, nanos } = instant;
  if (nanos < 0 || nanos > NANOS_MAX || seconds < 0n || seconds > INSTANT_SECONDS_MAX) {
    violations.add(field, "is not a valid Timestamp from 1970 on");
    return null;
  }
  return Number(seconds) * 1e6 + Math.floor(nanos / 1_000);
}

/** What the values of a repeated enum mean. Reports the first that means nothing. */
export function checkEnums<Meaning>(
  values: readonly number[],
  meanings: Readonly<Record<number, Meaning>>,
  field: string,
  names: string,
  violations: Violations,
): readonly Meaning[] {
  const found = new Set<Meaning>();
  for (const [index, value] of values.entries()) {
    const meaning = checkEnum(value, meanings, `${field}[${index}]`, names, violations);
    if (meaning === undefined) break;
    found.add(meaning);
  }
  return [...found];
}

/** The locks of a listing: one of them, or (null) all with a prefix. */
interface ListedLocks {
  readonly lockName: string | null;
  readonly prefix: string;
}

export function checkListedLocks(locks: ListChangesRequest["locks"], violations: Violations): ListedLocks {
  switch (locks.case) {
    case "lockName":
      return { lockName: checkName(locks.value, "lock_name", violations), prefix: "" };
    case "prefix":
      return { lockName: null, prefix: checkText(locks.value, NAME_BYTES_MAX, "prefix", violations) };
    case undefined:
      return { lockName: null, prefix: "" };
  }
}

/** A claim by its public number. */
export function checkClaimReference(
  { lockName, ticketNumber }: ClaimReference,
  field: string,
  violations: Violations,
): { readonly name: string; readonly ticketNumber: bigint } {
  if (ticketNumber < 1n || ticketNumber > TICKET_NUMBER_MAX) {
    violations.add(
      `${field}.ticket_number`,
      `is ${ticketNumber}, which no claim has: pass the ticket_number of a claim as GetLock lists it`,
    );
  }
  return { name: checkName(lockName, `${field}.lock_name`, violations), ticketNumber };
}

/** A ticket or lease id. Does not check whether the claim exists. */
export function checkClaimId(id: string, field: string, violations: Violations): ClaimRef {
  const ref = parseClaimId(id);
  if (!ref) {
    violations.add(
      field,
      id === ""
        ? "is required: pass the lease_id of a Lease or the ticket_id of a Ticket"
        : "is not an id of this server: pass the lease_id of a Lease or the ticket_id of a Ticket, unchanged",
    );
  }
  return ref ?? NO_CLAIM;
}

/** Refuses ids with the prefix of those that the server makes. */
export function checkRequestId(requestId: string, violations: Violations): string {
  if (requestId.startsWith(SERVER_MADE_PREFIX)) {
    violations.add(
      "request_id",
      "begins with a NUL, which is reserved for the server: use another id, such as a UUID",
    );
  }
  return checkText(requestId, REQUEST_ID_BYTES_MAX, "request_id", violations);
}

/** Checks the number of labels, and the first LABELS_CHECKED_MAX of them. */
export function checkLabels(labels: LeaseTerms["labels"], violations: Violations): LeaseTerms["labels"] {
  const keys = Object.keys(labels);
  if (keys.length > LABELS_MAX)
    violations.add("labels", `has ${keys.length} entries; use at most ${LABELS_MAX}`);
  for (const key of keys.slice(0, LABELS_CHECKED_MAX)) {
    const field = `labels[${JSON.stringify(key.slice(0, QUOTED_CHARS_MAX).toWellFormed())}]`;
    const keyBytes = Buffer.byteLength(key);
    if (keyBytes < 1 || keyBytes > LABEL_KEY_BYTES_MAX) {
      violations.add(field, `has a key of ${keyBytes} bytes; use 1 to ${LABEL_KEY_BYTES_MAX} bytes of UTF-8`);
    } else if (key.includes(REPLACED)) violations.add(field, REPLACED_WORDS);
    checkText(labels[key] ?? "", TEXT_BYTES_MAX, field, violations);
  }
  return labels;
}

/** What a request asks of its leases. `terms` says what it wants of the lock's record; null: nothing. */
interface LeaseAsk {
  /** null: without end. */
  readonly ttlUs: number | null;
  readonly owner: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly terms: Terms | null;
}

/** What a request asks that sets nothing. */
const PLAIN: LeaseAsk = { ttlUs: TTL_US_DEFAULT, owner: "", labels: {}, terms: null };

export function checkLeaseTerms(terms: LeaseTerms | undefined, violations: Violations): LeaseAsk {
  if (!terms) return PLAIN;
  return {
    ttlUs: checkLasting(terms, violations),
    owner: checkText(terms.owner, TEXT_BYTES_MAX, "owner", violations),
    labels: checkLabels(terms.labels, violations),
    terms: checkRecordTerms(terms, violations),
  };
}

function checkLasting({ lasting }: LeaseTerms, violations: Violations): number | null {
  if (lasting.case === "noExpiry") return null;
  return checkDuration(lasting.value, TTL, "ttl", violations) ?? TTL_US_DEFAULT;
}

function checkRecordTerms(message: LeaseTerms, violations: Violations): Terms | null {
  const { minInterval, lockDelay, statusIfLost, ifStatus } = message;
  const terms = {
    minIntervalUs: checkDuration(minInterval, DELAY, "min_interval", violations) ?? null,
    lockDelayUs: checkDuration(lockDelay, DELAY, "lock_delay", violations) ?? null,
    statusIfLost: checkStatus(statusIfLost, "status_if_lost", violations) ?? null,
    ifStatus: checkStatuses(ifStatus, violations),
  };
  const says = terms.minIntervalUs || terms.lockDelayUs || terms.statusIfLost !== null || ifStatus.length > 0;
  return says ? terms : null;
}

function checkStatuses(statuses: readonly string[], violations: Violations): readonly string[] {
  if (statuses.length > STATUSES_MAX)
    violations.add("if_status", `has ${statuses.length} entries; use at most ${STATUSES_MAX}`);
  return statuses.slice(0, STATUSES_MAX).map((status, index) => {
    return checkText(status, STATUS_BYTES_MAX, `if_status[${index}]`, violations);
  });
}

/** undefined: the request gives none. */
export function checkStatus(
  status: string | undefined,
  field: string,
  violations: Violations,
): string | undefined {
  return status === undefined ? undefined : checkText(status, STATUS_BYTES_MAX, field, violations);
}

/** undefined: the request gives none. */
export function checkAttempts(attemptsLeft: number | undefined, violations: Violations): number | undefined {
  if (attemptsLeft !== undefined && attemptsLeft > ATTEMPTS_MAX)
    violations.add("attempts_left", `is ${attemptsLeft}; use 0 to ${ATTEMPTS_MAX}`);
  return attemptsLeft;
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
