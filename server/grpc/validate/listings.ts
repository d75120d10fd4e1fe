// Checks the requests for GetLock, ListLocks, WatchLocks and ListLimits. They throw a CallError with all violations.
// Pure.

import type {
  GetLockRequest,
  ListLimitsRequest,
  ListLocksRequest,
  WatchLocksRequest,
} from "#proto/rowlock/v1/lock_service_pb.js";
import { ListOrder } from "#proto/rowlock/v1/lock_service_pb.js";
import { NAME_BYTES_MAX, PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX } from "../../core/bounds.ts";
import type { LimitsQuery, LocksQuery } from "../../engine/lock-engine.ts";
import { nameOfPageToken, settingOfPageToken } from "../messages/page-tokens.ts";
import { checkName, checkText, Violations } from "./fields.ts";

const ORDERS: Record<ListOrder, LocksQuery["order"]> = {
  [ListOrder.UNSPECIFIED]: "name",
  [ListOrder.NAME]: "name",
  [ListOrder.LONGEST_WAIT]: "longest_wait",
  [ListOrder.MOST_WAITERS]: "most_waiters",
};

interface CheckedListLocks extends Omit<LocksQuery, "max"> {
  readonly pageSize: number;
}

interface CheckedListLimits extends Omit<LimitsQuery, "max"> {
  readonly pageSize: number;
}

/** The fields that all requests for a page share. */
type PageRequest = Pick<ListLocksRequest, "prefix" | "pageSize" | "pageToken">;

export function checkGetLock({ name }: GetLockRequest): string {
  const violations = new Violations();
  return violations.checked(checkName(name, "name", violations));
}

export function checkListLocks(message: ListLocksRequest): CheckedListLocks {
  const violations = new Violations();
  const order = checkOrder(message, violations);
  return violations.checked({
    ...checkPage(message, violations),
    afterName: checkAfterName(message, order, violations),
    busyOnly: message.busyOnly,
    order,
  });
}

/** Returns the prefix. */
export function checkWatchLocks({ prefix }: WatchLocksRequest): string {
  const violations = new Violations();
  return violations.checked(checkText(prefix, NAME_BYTES_MAX, "prefix", violations));
}

export function checkListLimits(message: ListLimitsRequest): CheckedListLimits {
  const violations = new Violations();
  const page = checkPage(message, violations);
  const { pageToken } = message;
  if (pageToken === "") return violations.checked({ ...page, after: null });
  const after = settingOfPageToken(pageToken);
  checkPlace(after?.target ?? null, message, violations);
  return violations.checked({ ...page, after });
}

function checkPage({ prefix, pageSize }: PageRequest, violations: Violations) {
  if (pageSize < 0 || pageSize > PAGE_SIZE_MAX) {
    violations.add(
      "page_size",
      `is ${pageSize}; use 1 to ${PAGE_SIZE_MAX}, or leave it unset for ${PAGE_SIZE_DEFAULT}`,
    );
  }
  return {
    prefix: checkText(prefix, NAME_BYTES_MAX, "prefix", violations),
    pageSize: pageSize === 0 ? PAGE_SIZE_DEFAULT : pageSize,
  };
}

function checkOrder({ order }: ListLocksRequest, violations: Violations): LocksQuery["order"] {
  // Enums of proto3 are open: any number can arrive.
  const known: LocksQuery["order"] | undefined = ORDERS[order];
  if (!known) {
    violations.add(
      "order",
      `is ${order}, which is not a known value: use LIST_ORDER_NAME, LIST_ORDER_LONGEST_WAIT or LIST_ORDER_MOST_WAITERS`,
    );
  }
  return known ?? "name";
}

function checkAfterName(
  message: ListLocksRequest,
  order: LocksQuery["order"],
  violations: Violations,
): string | null {
  const { pageToken } = message;
  if (pageToken === "") return null;
  if (order !== "name") {
    violations.add(
      "page_token",
      "cannot be used with an order by waiters, which has one page: leave it unset",
    );
    return null;
  }
  const name = nameOfPageToken(pageToken);
  checkPlace(name, message, violations);
  return name;
}

/**
 * Checks that the token was made for such a request. `last`: the name or pattern that it stands for; null: it is no
 * token of this server.
 */
function checkPlace(last: string | null, { prefix }: PageRequest, violations: Violations): void {
  if (last === null || Buffer.byteLength(last) > NAME_BYTES_MAX) {
    violations.add(
      "page_token",
      "is not one of this server: pass next_page_token of the page before, unchanged",
    );
  } else if (!last.startsWith(prefix)) {
    violations.add(
      "page_token",
      "belongs to a listing with another prefix: keep the prefix, or begin without a token",
    );
  }
}
