// GetLock, ListLocks, ListLimits and ExplainWait: reads for people and tools. They never show secret ids.

import * as service from "#proto/rowlock/v1/lock_service_pb.js";
import { NAME_BYTES_MAX } from "../../core/bounds.ts";
import type { LimitSetting, LimitsQuery, LocksQuery } from "../../engine/answers.ts";
import type { Listed, WaitTarget } from "../../engine/history.ts";
import { seenUnder, shownExplanation, shownLock, type Touched } from "../authorize.ts";
import type { Call, MethodContext } from "../call.ts";
import { notWaiting } from "../messages/call-error.ts";
import { explanationMessage } from "../messages/explanation.ts";
import { limitSettingMessage, lockMessage } from "../messages/messages.ts";
import { type Check, NO_CLAIM } from "./fields.ts";
import { checkPageSize, FOREIGN_TOKEN, pageOf } from "./page.ts";

/** Describes a lock, even if nobody has used the name. */
export async function getLock({ engine }: MethodContext, name: string, call: Call) {
  return { lock: lockMessage(shownLock(call, await engine.view(name, call))) };
}

/** Answers with one page. The orders by waiters have no further pages: no token can say where the next one would begin. */
export function listLocks(
  { engine }: MethodContext,
  { pageSize, ...query }: Paged<LocksQuery>,
  call: Call,
): Promise<Buffer> {
  const asked = { ...query, ...seenUnder(call, "ListLocks", query.prefix), max: pageSize + 1 };
  return pageOf(
    {
      ...{ schema: service.ListLocksResponseSchema, pageSize, looksAhead: true },
      items: found(engine.views(asked, call)),
      shown: (view) => ({ locks: [lockMessage(shownLock(call, view))] }),
      token: ({ lock, at }) => {
        if (at) return recordTokenAfter(at);
        return query.order === "name" ? pageTokenAfter(lock.name) : "";
      },
    },
    call,
  );
}

export function listLimits(
  { engine }: MethodContext,
  { pageSize, ...query }: Paged<LimitsQuery>,
  call: Call,
): Promise<Buffer> {
  const asked = { ...query, ...seenUnder(call, "ListLimits", query.prefix), max: pageSize + 1 };
  return pageOf(
    {
      ...{ schema: service.ListLimitsResponseSchema, pageSize, looksAhead: true },
      items: found(engine.limits(asked, call)),
      shown: (setting) => ({ limits: [limitSettingMessage(setting)] }),
      token: limitsTokenAfter,
    },
    call,
  );
}

async function* found<Item>(items: AsyncIterable<Item>): AsyncGenerator<Listed<Item, Item>, void, void> {
  for await (const item of items) yield { kind: "found", item, at: item };
}

const ORDERS: Record<service.ListOrder, LocksQuery["order"]> = {
  [service.ListOrder.UNSPECIFIED]: "name",
  [service.ListOrder.NAME]: "name",
  [service.ListOrder.LONGEST_WAIT]: "longest_wait",
  [service.ListOrder.MOST_WAITERS]: "most_waiters",
};

type RecordPosition = NonNullable<LocksQuery["afterRecord"]>;

type Paged<Query> = Omit<Query, "max" | "isSeen"> & { readonly pageSize: number };

type PageRequest = Pick<service.ListLocksRequest, "prefix" | "pageSize" | "pageToken">;

export function checkGetLock({ name }: service.GetLockRequest, check: Check): string {
  return check.name(name, "name");
}

export function checkListLocks(message: service.ListLocksRequest, check: Check): Paged<LocksQuery> {
  const order = checkOrder(message, check);
  const { statuses, exhaustedOnly, busyOnly, pageToken } = message;
  const isOfRecords = statuses.length > 0 || exhaustedOnly;
  if (isOfRecords && (busyOnly || order !== "name"))
    check.add(
      exhaustedOnly ? "exhausted_only" : "statuses",
      "has an order of its own, and lists busy and free locks: leave busy_only and order unset",
    );
  const asked = { ...checkPage(message, check), busyOnly, order };
  if (!isOfRecords) return { ...asked, afterName: checkAfterName(message, order, check) };
  return {
    ...asked,
    afterName: null,
    records: { statuses: check.statuses(statuses, "statuses"), isExhausted: exhaustedOnly },
    afterRecord: pageToken === "" ? null : checkAfterRecord(message, check),
  };
}

/** Of a listing by status. */
function checkAfterRecord({ pageToken, prefix }: PageRequest, check: Check): RecordPosition | null {
  const at = recordOfPageToken(pageToken);
  if (at === null) check.add("page_token", FOREIGN_TOKEN);
  // At the end of a folder it has no name.
  else if (at.name === "" ? !isNear(at.folder, prefix) : !at.name.startsWith(prefix))
    check.add("page_token", OTHER_PREFIX);
  return at;
}

function isNear(folder: string, prefix: string): boolean {
  return folder.startsWith(prefix) || prefix.startsWith(folder);
}

function recordTokenAfter({ folder, status, dueAtUs, name }: RecordPosition): string {
  return Buffer.from(JSON.stringify([folder, status, dueAtUs, name])).toString("base64url");
}

/** The argument that `recordTokenAfter` made the token from; null: it never made this token. */
function recordOfPageToken(token: string): RecordPosition | null {
  try {
    const [folder, status, dueAtUs, name] = JSON.parse(Buffer.from(token, "base64url").toString());
    const isText = [folder, status, name].every((text) => typeof text === "string");
    if (!isText || (dueAtUs !== null && !Number.isSafeInteger(dueAtUs))) return null;
    const at = { folder, status, dueAtUs, name };
    return recordTokenAfter(at) === token ? at : null;
  } catch {
    return null;
  }
}

export function checkListLimits(message: service.ListLimitsRequest, check: Check): Paged<LimitsQuery> {
  const page = checkPage(message, check);
  const { pageToken } = message;
  if (pageToken === "") return { ...page, after: null };
  const after = settingOfPageToken(pageToken);
  checkPlace(after?.target ?? null, message, check);
  return { ...page, after };
}

function checkPage({ prefix, pageSize }: PageRequest, check: Check) {
  return {
    prefix: check.text(prefix, NAME_BYTES_MAX, "prefix"),
    pageSize: checkPageSize(pageSize, check),
  };
}

function checkOrder({ order }: service.ListLocksRequest, check: Check): LocksQuery["order"] {
  const names = "LIST_ORDER_NAME, LIST_ORDER_LONGEST_WAIT or LIST_ORDER_MOST_WAITERS";
  return check.enum(order, ORDERS, "order", names) ?? "name";
}

function checkAfterName(
  message: service.ListLocksRequest,
  order: LocksQuery["order"],
  check: Check,
): string | null {
  const { pageToken } = message;
  if (pageToken === "") return null;
  if (order !== "name") {
    check.add("page_token", "cannot be used with an order by waiters, which has one page: leave it unset");
    return null;
  }
  const name = nameOfPageToken(pageToken);
  checkPlace(name, message, check);
  return name;
}

const OTHER_PREFIX = "belongs to a listing with another prefix: keep the prefix, or begin without a token";

/** Checks that the token is of such a request. `last`: what it stands for; null: it is none of this server. */
function checkPlace(last: string | null, { prefix }: PageRequest, check: Check): void {
  if (last === null || Buffer.byteLength(last) > NAME_BYTES_MAX) {
    check.add("page_token", FOREIGN_TOKEN);
  } else if (!last.startsWith(prefix)) {
    check.add("page_token", OTHER_PREFIX);
  }
}

const LETTERS = { pattern: "p", pool: "o", name: "n" } as const;

export function pageTokenAfter(lastName: string): string {
  return Buffer.from(lastName).toString("base64url");
}

export function limitsTokenAfter({ kind, target }: Pick<LimitSetting, "kind" | "target">): string {
  return pageTokenAfter(LETTERS[kind] + target);
}

/** The argument that `pageTokenAfter` made the token from; null: it never made this token. */
function nameOfPageToken(token: string): string | null {
  const name = Buffer.from(token, "base64url").toString();
  // Neither decoder is strict, so a token counts only if encoding its name gives the same token again.
  return pageTokenAfter(name) === token ? name : null;
}

/** The argument that `limitsTokenAfter` made the token from; null: it never made this token. */
function settingOfPageToken(token: string): Pick<LimitSetting, "kind" | "target"> | null {
  const text = nameOfPageToken(token);
  const target = text?.slice(1) ?? "";
  if (text?.startsWith(LETTERS.name)) return { kind: "name", target };
  if (!target.endsWith("*")) return null;
  if (text?.startsWith(LETTERS.pool)) return { kind: "pool", target };
  return text?.startsWith(LETTERS.pattern) ? { kind: "pattern", target } : null;
}

/** Throws UNKNOWN_CLAIM if the claim does not wait. */
export async function explainWait({ engine }: MethodContext, target: WaitTarget, call: Call) {
  const explained = await engine.explain(target, call);
  if (!explained) throw notWaiting();
  return explanationMessage(shownExplanation(call, explained));
}

/** A ticket id proves that its caller may ask about it, so the right to use the lock is enough. */
export function touchedByExplainWait(target: WaitTarget): Touched {
  return target.kind === "ticket" ? { lockId: target.ref.lockId, right: "use" } : { names: [target.name] };
}

export function checkExplainWait({ target }: service.ExplainWaitRequest, check: Check): WaitTarget {
  switch (target.case) {
    case "name":
      return { kind: "name", name: check.name(target.value, "name") };
    case "ticketId":
      return { kind: "ticket", ref: check.claimId(target.value, "ticket_id") };
    case "claim":
      return { kind: "claim", ...check.claimReference(target.value, "claim") };
    case undefined:
      check.add(
        "target",
        "is required: set name for a request that would come now, ticket_id or claim for a waiter",
      );
      return { kind: "ticket", ref: NO_CLAIM };
  }
}
