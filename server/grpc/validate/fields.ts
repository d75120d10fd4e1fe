// Shared by all request checks: the list of violations, and the checks of single fields. Each check adds what it finds
// to the list, and returns a value that is only good if it found nothing. Pure. Refuses values, never repairs them.

import type { Duration } from "@bufbuild/protobuf/wkt";
import { NAME_BYTES_MAX, TEXT_BYTES_MAX } from "../../core/bounds.ts";
import type { ClaimRef } from "../../core/claim.ts";
import { parseClaimId } from "../../core/claim-id.ts";
import { isOwnName } from "../../core/own-names.ts";
import { badRequest, type Violation } from "../messages/call-error.ts";
import { spanText, spanUs } from "../messages/times.ts";

/** What google.protobuf.Duration itself allows: about 10,000 years. */
const DURATION_SECONDS_MAX = 315_576_000_000n;
const NANOS_MAX = 999_999_999;

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
  return text;
}

/** The reason that a caller gives for a change. */
export function checkReason(text: string, required: boolean, violations: Violations): string {
  if (required && text === "")
    violations.add("reason", `is required: say why, in 1 to ${TEXT_BYTES_MAX} bytes`);
  return checkText(text, TEXT_BYTES_MAX, "reason", violations);
}

/**
 * Returns a span of time in microseconds. Rounds parts of a microsecond up, so that nothing ends before the requested
 * time; the bounds apply to the exact value.
 */
export function checkDuration(
  duration: Duration,
  bounds: { readonly minUs: number; readonly maxUs: number },
  field: string,
  violations: Violations,
): number {
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
  if (us < bounds.minUs || us > bounds.maxUs) {
    violations.add(
      field,
      `is ${secondsText(seconds, nanos)}; use ${spanText(bounds.minUs)} to ${spanText(bounds.maxUs)}`,
    );
  }
  return Math.ceil(us);
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
