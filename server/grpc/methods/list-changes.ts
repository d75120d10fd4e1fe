// ListChanges: changes of limits, records and policies, and forced releases, for people and tools.

import { ChangeKind as WireChangeKind } from "#proto/rowlock/v1/lock_pb.js";
import {
  type ListChangesRequest,
  ListChangesRequestSchema,
  ListChangesResponseSchema,
} from "#proto/rowlock/v1/lock_service_pb.js";
import { TEXT_BYTES_MAX } from "../../core/bounds.ts";
import type { ChangeKind, NotedChange } from "../../core/noted-change.ts";
import type { ChangePosition, ChangesQuery } from "../../engine/history.ts";
import type { Call, MethodContext } from "../call.ts";
import { changeMessage } from "../messages/messages.ts";
import { timestampMessage } from "../messages/times.ts";
import { maySeeAllUnder, seenUnder } from "../shown.ts";
import { checkEnums, checkInstant, checkListedLocks, checkText, type Violations } from "./fields.ts";
import { checkPageSize, FOREIGN_TOKEN, pageOf, placeOfToken, requestMark, tokenAfter } from "./page.ts";

interface CheckedListChanges {
  readonly query: ChangesQuery;
  readonly pageSize: number;
  /** For the tokens of further pages. */
  readonly mark: string;
}

const VERB = "ListChanges";

/** Answers with one page. Throws ClientGone if the client hangs up. */
export async function listChanges(
  { engine }: MethodContext,
  { query, pageSize, mark }: CheckedListChanges,
  call: Call,
) {
  const isSeen = seenBy(call, query);
  const { changesUs } = await engine.historyBegins(query, call);
  return await pageOf(
    {
      schema: ListChangesResponseSchema,
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

export function checkListChanges(message: ListChangesRequest, violations: Violations): CheckedListChanges {
  const mark = requestMark(ListChangesRequestSchema, message);
  return {
    query: {
      ...checkListedLocks(message.locks, violations),
      isSeen: null,
      kinds: checkEnums(message.kinds, KIND_OF, "kinds", KIND_NAMES, violations),
      fromUs: checkInstant(message.from, "from", violations),
      untilUs: checkInstant(message.until, "until", violations),
      changedBy: checkText(message.changedBy, TEXT_BYTES_MAX, "changed_by", violations),
      after: checkPosition(message, mark, violations),
    },
    pageSize: checkPageSize(message.pageSize, violations),
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

function checkPosition(
  { pageToken }: ListChangesRequest,
  mark: string,
  violations: Violations,
): ChangePosition | null {
  const text = placeOfToken(pageToken, mark, violations);
  if (text === null) return null;
  const [, atUs, id] = POSITION.exec(text) ?? [];
  if (atUs !== undefined && id !== undefined) return { atUs: Number(atUs), id: BigInt(id) };
  violations.add("page_token", FOREIGN_TOKEN);
  return null;
}
