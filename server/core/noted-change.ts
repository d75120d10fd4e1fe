// A change that somebody made, as the history keeps it: of a limit, of a record, a forced release, or a policy. `from` and
// `to` are text, which only this file and the messages read: a limit in decimal, a record as the JSON of its message, a
// claim as JSON, a policy's hash.

import type { Claim } from "./claim.ts";
import type { Caller } from "./command.ts";
import { instantText } from "./instant-text.ts";
import type { LockRecord } from "./record.ts";

export type ChangeKind = "limit" | "record" | "forced_release" | "policy";

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

export function limitText(limit: number | null): string {
  return limit === null ? "" : String(limit);
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
