// What GetLock and ListLocks requests must be, and the page tokens between two pages. Pure.

import type { GetLockRequest, ListLocksRequest } from "#proto/rowlock/v1/lock_service_pb.js";
import { NAME_BYTES_MAX, PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX } from "../core/bounds.ts";
import { checkName, checkText } from "./validate-fields.ts";
import { type Checked, Violations } from "./violations.ts";

export interface CheckedList {
  readonly prefix: string;
  /** The last name of the page before; null for the first page. */
  readonly afterName: string | null;
  readonly pageSize: number;
  readonly busyOnly: boolean;
}

export function checkGetLock({ name }: GetLockRequest): Checked<string> {
  const violations = new Violations();
  return violations.checked(checkName(name, "name", violations));
}

export function checkListLocks(message: ListLocksRequest): Checked<CheckedList> {
  const violations = new Violations();
  return violations.checked({
    prefix: checkText(message.prefix, NAME_BYTES_MAX, "prefix", violations),
    afterName: checkPageToken(message, violations),
    pageSize: checkPageSize(message.pageSize, violations),
    busyOnly: message.busyOnly,
  });
}

/** The token of the page that begins after `lastName`. */
export function pageTokenAfter(lastName: string): string {
  return Buffer.from(lastName).toString("base64url");
}

function checkPageSize(pageSize: number, violations: Violations): number {
  if (pageSize < 0 || pageSize > PAGE_SIZE_MAX) {
    violations.add(
      "page_size",
      `is ${pageSize}; use 1 to ${PAGE_SIZE_MAX}, or leave it unset for ${PAGE_SIZE_DEFAULT}`,
    );
  }
  return pageSize === 0 ? PAGE_SIZE_DEFAULT : pageSize;
}

function checkPageToken({ pageToken, prefix }: ListLocksRequest, violations: Violations): string | null {
  if (pageToken === "") return null;
  const bytes = Buffer.from(pageToken, "base64url");
  const name = bytes.toString();
  // Neither decoder is strict: what does not come out again as it went in was never given out.
  const isOurs = pageTokenAfter(name) === pageToken && bytes.length <= NAME_BYTES_MAX;
  if (!isOurs) {
    violations.add(
      "page_token",
      "is not one of this server: pass next_page_token of the page before, unchanged",
    );
  } else if (!name.startsWith(prefix)) {
    violations.add(
      "page_token",
      "belongs to a listing with another prefix: keep the prefix, or begin without a token",
    );
  }
  return name;
}
