// A change that somebody made, as the history keeps it: of a limit, of a pool, of a record, a forced release, or a policy. `from` and
// `to` are text, which this file writes and reads: a limit in decimal with a rate and queue rules after it, a record as the JSON of
// its message, a claim as JSON, a policy's hash.

import type { Claim } from "./claim.ts";
import type { Caller } from "./command.ts";
import type { LockSettings } from "./limit.ts";
import type { LockRecord } from "./lock.ts";
import { queueRulesOf, queueRulesText } from "./queue-rules.ts";

/** `pool`: the limit of all names under a pattern together; `limit`: of a name, or of each name under a pattern. */
export type ChangeKind = "limit" | "pool" | "record" | "forced_release" | "policy";

export interface NotedChange {
  readonly kind: ChangeKind;
  /** The lock's name, or the pattern with its star; empty for a policy. */
  readonly target: string;
  readonly isPattern: boolean;
  /** The caller's principal, or its address if the server asks nobody; for a policy, the server that read it. */
  readonly by: string;
  /** Before and after; empty: there was or is none. */
  readonly from: string;
  readonly to: string;
  readonly reason: string;
}

/** Who makes the change of this caller; empty: nobody outside the servers. */
export function byOf(caller: Caller | undefined): string {
  if (!caller) return "";
  return caller.principal || caller.getPeer();
}

/**
 * Such as `5`, `5 500/60000000/20`, ` 500/60000000/20` and `5  1/refuse`: the limit, then permits, microseconds and burst of the
 * rate, then queue rules.
 */
export function settingsText({ limit, rate, queueRules }: LockSettings): string {
  const ofLimit = limit === null ? "" : String(limit);
  const ofRate = rate === null ? "" : `${rate.permits}/${rate.perUs}/${rate.burst}`;
  return `${ofLimit} ${ofRate} ${queueRules === null ? "" : queueRulesText(queueRules)}`.trimEnd();
}

/** What `settingsText` has written. */
export function settingsOf(text: string): LockSettings {
  const [ofLimit = "", ofRate = "", ofQueue = ""] = text.split(" ");
  const [permits = 0, perUs = 0, burst = 0] = ofRate.split("/").map(Number);
  return {
    limit: ofLimit === "" ? null : Number(ofLimit),
    rate: ofRate === "" ? null : { permits, perUs, burst },
    queueRules: ofQueue === "" ? null : queueRulesOf(ofQueue),
  };
}

export function recordText(record: LockRecord | null): string {
  if (!record) return "";
  const { status, attemptsLeft, notBeforeUs, version } = record;
  return JSON.stringify({
    ...(status !== "" && { status }),
    ...(attemptsLeft !== null && { attempts_left: attemptsLeft }),
    ...(notBeforeUs !== null && { not_before: instantText(notBeforeUs) }),
    version: String(version),
  });
}

type Released = Pick<Claim, "ticketNumber" | "state" | "owner" | "principal">;

/** A claim that is to be released by force. */
export function releasedText({ ticketNumber, state, owner, principal }: Released): string {
  return JSON.stringify({ ticket_number: String(ticketNumber), state, owner, principal });
}

/** What `releasedText` has written. */
export function releasedOf(text: string): Released {
  const { ticket_number, ...released } = JSON.parse(text);
  return { ...released, ticketNumber: BigInt(ticket_number) };
}

// The core has no `Date`, so it computes the calendar itself.

const DAY_US = 86_400_000_000;
/** Days of 400 years, after which the calendar repeats, and those from 1 March of the year 0 to 1970. */
const ERA_DAYS = 146_097;
const DAYS_TO_1970 = 719_468;

/** An instant in RFC 3339, in UTC with microseconds. */
export function instantText(us: number): string {
  const days = Math.floor(us / DAY_US);
  const ofDay = us - days * DAY_US;
  const [hours, minutes] = [Math.floor(ofDay / 3_600_000_000), Math.floor(ofDay / 60_000_000) % 60];
  const seconds = (ofDay % 60_000_000) / 1_000_000;
  return `${dateText(days)}T${two(hours)}:${two(minutes)}:${seconds.toFixed(6).padStart(9, "0")}Z`;
}

/** The years begin on 1 March here, so that a leap day is the last day of its year. */
function dateText(daysSince1970: number): string {
  const days = daysSince1970 + DAYS_TO_1970;
  const era = Math.floor(days / ERA_DAYS);
  const ofEra = days - era * ERA_DAYS;
  const leapDays = Math.floor(ofEra / 1_460) - Math.floor(ofEra / 36_524) + Math.floor(ofEra / 146_096);
  const yearOfEra = Math.floor((ofEra - leapDays) / 365);
  const ofYear = ofEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const month = Math.floor((5 * ofYear + 2) / 153);
  const day = ofYear - Math.floor((153 * month + 2) / 5) + 1;
  const year = yearOfEra + 400 * era + (month < 10 ? 0 : 1);
  return `${String(year).padStart(4, "0")}-${two(month < 10 ? month + 3 : month - 9)}-${two(day)}`;
}

function two(number: number): string {
  return String(number).padStart(2, "0");
}
