// Checks the first request of a session, and the timeouts of its commands. Pure.

import type { Duration } from "@bufbuild/protobuf/wkt";
import type { SessionOpen } from "#proto/rowlock/v1/lock_service_pb.js";
import { DURATION_US_MAX, TEXT_BYTES_MAX, WAIT_US_MIN } from "../../core/bounds.ts";
import { checkLabels } from "./acquire.ts";
import { checkDuration, checkText, Violations } from "./fields.ts";

/** The first request must have `open`, and later ones must not. Throws a CallError with all violations. */
export function checkOpen(open: SessionOpen | undefined, isFirst: boolean): SessionOpen | undefined {
  const violations = new Violations();
  if (isFirst && !open) violations.add("open", "is required in the first request of a session");
  if (!isFirst && open) violations.add("open", "may be set only in the first request of a session");
  if (open) {
    checkText(open.owner, TEXT_BYTES_MAX, "open.owner", violations);
    checkLabels(open.labels, violations.within("open"));
  }
  return violations.checked(open);
}

/** Returns milliseconds; undefined: no timeout. Throws a CallError with all violations. */
export function checkTimeout(timeout: Duration | undefined): number | undefined {
  const violations = new Violations();
  const us =
    timeout && checkDuration(timeout, { minUs: WAIT_US_MIN, maxUs: DURATION_US_MAX }, "timeout", violations);
  return violations.checked(us && us / 1_000);
}
