// ListClaims, which never shows secret ids, and ListChanges: claims that are live or have ended, changes of limits, records and
// policies, and forced releases, for people and tools.

import { ChangeKind as WireChangeKind } from "#proto/rowlock/v1/lock_pb.js";
import * as service from "#proto/rowlock/v1/lock_service_pb.js";
import { NAME_BYTES_MAX, TEXT_BYTES_MAX } from "../../core/bounds.ts";
import type { ClaimState, EndReason } from "../../core/claim.ts";
import type { ChangeKind, NotedChange } from "../../core/noted-change.ts";
import type { ChangePosition, ChangesQuery, ClaimPosition, ClaimsQuery } from "../../engine/history.ts";
import { maySeeAllUnder, seenUnder, shownMembers } from "../authorize.ts";
import type { Call, MethodContext } from "../call.ts";
import { changeMessage, claimMessage, END_REASONS, STATES, timestampMessage } from "../messages/messages.ts";
import type { Check } from "./fields.ts";
import { checkPageSize, type PageAsked, pageOf, placeOfToken, requestMark, tokenAfter } from "./page.ts";

export async function listClaims(
  { engine }: MethodContext,
  { query, pageSize, mark }: PageAsked<ClaimsQuery>,
  call: Call,
) {
  const seen = query.lockName === null ? seenUnder(call, "ListClaims", query.prefix) : {};
  // First, so that no page says that something is kept which was forgotten while it was read.
  const { claimsUs } = await engine.historyBegins(query, call);
  return await pageOf(
    {
      schema: service.ListClaimsResponseSchema,
      pageSize,
      items: engine.claims({ ...query, ...seen }, call),
      shown: ({ claim, lockName }) => ({ claims: [claimMessage(shownMembers(call, claim), lockName)] }),
      token: (at) => tokenAfter(mark, textOf(at)),
      rest: { completeFrom: timestampMessage(claimsUs) },
    },
    call,
  );
}

export function checkListClaims(message: service.ListClaimsRequest, check: Check): PageAsked<ClaimsQuery> {
  const { locks, from, until } = message;
  const mark = requestMark(service.ListClaimsRequestSchema, message);
  return {
    query: {
      ...(locks.case === "heldAt"
        ? checkHeldAt(locks.value, check.within("held_at"))
        : { ...check.listedLocks(locks), heldAtUs: null }),
      isSeen: null,
      owner: check.text(message.owner, TEXT_BYTES_MAX, "owner"),
      principal: check.text(message.principal, TEXT_BYTES_MAX, "principal"),
      labels: check.labels(message.labels),
      states: check.enums(message.states, STATE_OF, "states", STATE_NAMES),
      endReasons: check.enums(message.endReasons, END_OF, "end_reasons", END_NAMES),
      fromUs: check.instant(from, "from"),
      untilUs: check.instant(until, "until"),
      after: placeOfToken(message.pageToken, mark, claimPositionOf, check),
    },
    pageSize: checkPageSize(message.pageSize, check),
    mark,
  };
}

function checkHeldAt({ lockName, at }: service.HeldAt, check: Check) {
  if (!at) check.add("at", "is required: the instant at which a claim held the lock");
  return {
    lockName: check.name(lockName, "lock_name"),
    prefix: "",
    heldAtUs: check.instant(at, "at"),
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

function claimPositionOf(text: string): ClaimPosition | null {
  const [, liveTicket, lockName] = LIVE.exec(text) ?? [];
  if (liveTicket !== undefined && lockName !== undefined && Buffer.byteLength(lockName) <= NAME_BYTES_MAX)
    return { kind: "live", lockName, ticketNumber: BigInt(liveTicket) };
  const [, endedAtUs, lockId, ticket] = ENDED.exec(text) ?? [];
  if (endedAtUs === undefined || lockId === undefined || ticket === undefined) return null;
  return {
    kind: "ended",
    endedAtUs: Number(endedAtUs),
    lockId: BigInt(lockId),
    ticketNumber: BigInt(ticket),
  };
}

const VERB = "ListChanges";

export async function listChanges(
  { engine }: MethodContext,
  { query, pageSize, mark }: PageAsked<ChangesQuery>,
  call: Call,
) {
  const isSeen = seenBy(call, query);
  const { changesUs } = await engine.historyBegins(query, call);
  return await pageOf(
    {
      schema: service.ListChangesResponseSchema,
      pageSize,
      items: engine.changes({ ...query, isSeen }, call),
      shown: (change) => ({ changes: [changeMessage(change)] }),
      token: ({ atUs, id }) => tokenAfter(mark, `${atUs} ${id}`),
      rest: { completeFrom: timestampMessage(changesUs) },
    },
    call,
  );
}

/**
 * Which changes the caller may see: those of names that it may see, those of patterns if it may see all names that they
 * cover, and those of policies if it may see everything. Throws RIGHT_MISSING if it may see nothing with the prefix.
 */
function seenBy(call: Call, { lockName, prefix }: ChangesQuery): (change: NotedChange) => boolean {
  const seen = lockName === null ? seenUnder(call, VERB, prefix) : { prefix: "", isSeen: null };
  return ({ kind, target, isPattern }) => {
    if (kind === "policy") return maySeeAllUnder(call, VERB, "");
    if (isPattern) return maySeeAllUnder(call, VERB, target.slice(0, -1));
    return target.startsWith(seen.prefix) && (seen.isSeen?.(target) ?? true);
  };
}

export function checkListChanges(message: service.ListChangesRequest, check: Check): PageAsked<ChangesQuery> {
  const mark = requestMark(service.ListChangesRequestSchema, message);
  return {
    query: {
      ...check.listedLocks(message.locks),
      isSeen: null,
      // To a client, a change of a pool is one of a limit.
      kinds: check
        .enums(message.kinds, KIND_OF, "kinds", KIND_NAMES)
        .flatMap((kind): ChangeKind[] => (kind === "limit" ? ["limit", "pool"] : [kind])),
      fromUs: check.instant(message.from, "from"),
      untilUs: check.instant(message.until, "until"),
      changedBy: check.text(message.changedBy, TEXT_BYTES_MAX, "changed_by"),
      after: placeOfToken(message.pageToken, mark, changePositionOf, check),
    },
    pageSize: checkPageSize(message.pageSize, check),
    mark,
  };
}

const KIND_OF: Readonly<Record<number, ChangeKind>> = {
  [WireChangeKind.LIMIT]: "limit",
  [WireChangeKind.RECORD]: "record",
  [WireChangeKind.FORCED_RELEASE]: "forced_release",
  [WireChangeKind.POLICY]: "policy",
};
const KIND_NAMES = Object.values(KIND_OF)
  .map((kind) => `CHANGE_KIND_${kind.toUpperCase()}`)
  .join(", ");

const POSITION = /^(\d{1,16}) (\d{1,20})$/;

function changePositionOf(text: string): ChangePosition | null {
  const [, atUs, id] = POSITION.exec(text) ?? [];
  return atUs === undefined || id === undefined ? null : { atUs: Number(atUs), id: BigInt(id) };
}
