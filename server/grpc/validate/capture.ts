// Checks a CaptureRequest. Pure.

import type { CaptureRequest } from "#proto/rowlock/v1/lock_service_pb.js";
import {
  CAPTURE_MAX,
  CAPTURE_NAMES_MAX,
  CAPTURE_REQUEST_ID_BYTES_MAX,
  DURATION_US_MAX,
  NAME_BYTES_MAX,
  TEXT_BYTES_MAX,
  TTL_US_DEFAULT,
  TTL_US_MIN,
  WAIT_US_MIN,
} from "../../core/bounds.ts";
import { isOwnName } from "../../core/own-names.ts";
import type { CaptureInput, CaptureTarget } from "../../engine/lock-engine.ts";
import { VIOLATIONS_OF_NAMES_MAX } from "../grpc-bounds.ts";
import { checkLabels, checkRequestId } from "./acquire.ts";
import { checkDuration, checkName, checkText, Violations } from "./fields.ts";
import { checkTerms } from "./records.ts";

interface CheckedCapture {
  readonly ask: CaptureInput;
  /** null: the call does not wait. */
  readonly maxWaitUs: number | null;
}

/** Throws a CallError with all violations. */
export function checkCapture(message: CaptureRequest): CheckedCapture {
  const violations = new Violations();
  const { ttl, maxWait } = message;
  const ask = {
    target: checkTarget(message, violations),
    max: checkMax(message, violations),
    terms: checkTerms(message, violations),
    ttlUs: ttl
      ? checkDuration(ttl, { minUs: TTL_US_MIN, maxUs: DURATION_US_MAX }, "ttl", violations)
      : TTL_US_DEFAULT,
    requestId: checkRequestId(message.requestId, CAPTURE_REQUEST_ID_BYTES_MAX, violations),
    owner: checkText(message.owner, TEXT_BYTES_MAX, "owner", violations),
    labels: checkLabels(message.labels, violations),
  };
  const maxWaitUs = maxWait
    ? checkDuration(maxWait, { minUs: WAIT_US_MIN, maxUs: DURATION_US_MAX }, "max_wait", violations)
    : null;
  return violations.checked({ ask, maxWaitUs });
}

function checkMax({ maxLeases }: CaptureRequest, violations: Violations): number {
  if (maxLeases < 1 || maxLeases > CAPTURE_MAX)
    violations.add("max_leases", `is ${maxLeases}; take 1 to ${CAPTURE_MAX}`);
  return maxLeases;
}

function checkTarget({ prefix, names }: CaptureRequest, violations: Violations): CaptureTarget {
  if (prefix !== undefined) {
    if (names.length > 0) violations.add("names", "contradicts prefix: set one of them");
    return { kind: "prefix", prefix: checkText(prefix, NAME_BYTES_MAX, "prefix", violations) };
  }
  if (names.length === 0) violations.add("target", "is required: set prefix (empty for all locks) or names");
  else if (names.length > CAPTURE_NAMES_MAX)
    violations.add("names", `has ${names.length} entries; use at most ${CAPTURE_NAMES_MAX}`);
  else checkNames(names, violations);
  return { kind: "names", names };
}

function checkNames(names: readonly string[], violations: Violations): void {
  const own: [index: number, check: () => void][] = [];
  const seen = new Map<string, number>();
  names.forEach((name, index) => {
    const field = `names[${index}]`;
    const first = seen.get(name);
    if (first !== undefined)
      own.push([index, () => violations.add(field, `is the same as names[${first}]: name each lock once`)]);
    else seen.set(name, index);
    if (name === "" || isOwnName(name) || Buffer.byteLength(name) > NAME_BYTES_MAX)
      own.push([index, () => void checkName(name, field, violations)]);
  });
  // The violations of a thousand names would not fit into the trailer.
  for (const [, report] of own.slice(0, VIOLATIONS_OF_NAMES_MAX)) report();
}
