// ListClaims: claims that are live or have ended, for people and tools. It never shows secret ids.

import {
  type HeldAt,
  type ListClaimsRequest,
  ListClaimsRequestSchema,
  ListClaimsResponseSchema,
} from "#proto/rowlock/v1/lock_service_pb.js";
import { NAME_BYTES_MAX, TEXT_BYTES_MAX } from "../../core/bounds.ts";
import type { ClaimState, EndReason } from "../../core/claim.ts";
import type { ClaimPosition, ClaimsQuery } from "../../engine/history.ts";
import type { Call, MethodContext } from "../call.ts";
import { claimMessage, END_REASONS, STATES } from "../messages/messages.ts";
import { timestampMessage } from "../messages/times.ts";
import { seenUnder } from "../shown.ts";
import {
  checkEnums,
  checkInstant,
  checkLabels,
  checkListedLocks,
  checkName,
  checkText,
  type Violations,
} from "./fields.ts";
import { checkPageSize, FOREIGN_TOKEN, pageOf, placeOfToken, requestMark, tokenAfter } from "./page.ts";

interface CheckedListClaims {
  readonly query: ClaimsQuery;
  readonly pageSize: number;
  /** For the tokens of further pages. */
  readonly mark: string;
}

/** Answers with one page. Throws ClientGone if the client hangs up. */
export async function listClaims(
  { engine }: MethodContext,
  { query, pageSize, mark }: CheckedListClaims,
  call: Call,
) {
  const seen = query.lockName === null ? seenUnder(call, "ListClaims", query.prefix) : {};
  // First, so that no page says that something is kept which was forgotten while it was read.
  const { claimsUs } = await engine.historyBegins(query, call);
  return await pageOf(
    {
      schema: ListClaimsResponseSchema,
      pageSize,
      items: engine.claims({ ...query, ...seen }, call),
      shown: ({ claim, lockName }) => ({ claims: [claimMessage(claim, lockName)] }),
      token: (at) => tokenAfter(mark, textOf(at)),
      rest: { completeFrom: timestampMessage(claimsUs) },
    },
    call,
  );
}

export function checkListClaims(message: ListClaimsRequest, violations: Violations): CheckedListClaims {
  const { locks, from, until } = message;
  const mark = requestMark(ListClaimsRequestSchema, message);
  return {
    query: {
      ...(locks.case === "heldAt"
        ? checkHeldAt(locks.value, violations.within("held_at"))
        : { ...checkListedLocks(locks, violations), heldAtUs: null }),
      isSeen: null,
      owner: checkText(message.owner, TEXT_BYTES_MAX, "owner", violations),
      principal: checkText(message.principal, TEXT_BYTES_MAX, "principal", violations),
      labels: checkLabels(message.labels, violations),
      states: checkEnums(message.states, STATE_OF, "states", STATE_NAMES, violations),
      endReasons: checkEnums(message.endReasons, END_OF, "end_reasons", END_NAMES, violations),
      fromUs: checkInstant(from, "from", violations),
      untilUs: checkInstant(until, "until", violations),
      after: checkPosition(message, mark, violations),
    },
    pageSize: checkPageSize(message.pageSize, violations),
    mark,
  };
}

function checkHeldAt({ lockName, at }: HeldAt, violations: Violations) {
  if (!at) violations.add("at", "is required: the instant at which a claim held the lock");
  return {
    lockName: checkName(lockName, "lock_name", violations),
    prefix: "",
    heldAtUs: checkInstant(at, "at", violations),
  };
}

const STATE_OF: Readonly<Record<number, ClaimState>> = Object.fromEntries(
  Object.entries(STATES).map(([state, value]) => [value, state as ClaimState]),
);
const STATE_NAMES = "CLAIM_STATE_WAITING, CLAIM_STATE_HELD or CLAIM_STATE_ENDED";

const END_OF: Readonly<Record<number, EndReason>> = Object.fromEntries(
  Object.entries(END_REASONS).map(([reason, value]) => [value, reason as EndReason]),
);
const END_NAMES = Object.keys(END_REASONS)
  .map((reason) => `END_REASON_${reason.toUpperCase()}`)
  .join(", ");

function textOf(position: ClaimPosition): string {
  const { ticketNumber } = position;
  if (position.kind === "live") return `live ${ticketNumber} ${position.lockName}`;
  return `ended ${position.endedAtUs} ${position.lockId} ${ticketNumber}`;
}

const LIVE = /^live (\d{1,19}) (.+)$/s;
const ENDED = /^ended (\d{1,16}) (\d{1,19}) (\d{1,19})$/;

function checkPosition(
  { pageToken }: ListClaimsRequest,
  mark: string,
  violations: Violations,
): ClaimPosition | null {
  const text = placeOfToken(pageToken, mark, violations);
  if (text === null) return null;
  const [, liveTicket, lockName] = LIVE.exec(text) ?? [];
  if (liveTicket !== undefined && lockName !== undefined && Buffer.byteLength(lockName) <= NAME_BYTES_MAX)
    return { kind: "live", lockName, ticketNumber: BigInt(liveTicket) };
  const [, endedAtUs, lockId, ticket] = ENDED.exec(text) ?? [];
  if (endedAtUs !== undefined && lockId !== undefined && ticket !== undefined) {
    const key = { lockId: BigInt(lockId), ticketNumber: BigInt(ticket) };
    return { kind: "ended", endedAtUs: Number(endedAtUs), ...key };
  }
  violations.add("page_token", FOREIGN_TOKEN);
  return null;
}
