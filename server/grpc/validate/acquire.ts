// Checks an AcquireRequest, alone or inside a WaitInQueueRequest. Pure.

import { Mode as WireMode, WhenBusy as WireWhenBusy } from "#proto/rowlock/v1/lock_pb.js";
import type { AcquireRequest } from "#proto/rowlock/v1/lock_service_pb.js";
import {
  DURATION_US_MAX,
  LABEL_KEY_BYTES_MAX,
  LABELS_MAX,
  PERMITS_MAX,
  REQUEST_ID_BYTES_MAX,
  TEXT_BYTES_MAX,
  TTL_US_DEFAULT,
  TTL_US_MIN,
  WAIT_US_MIN,
} from "../../core/bounds.ts";
import type { Mode } from "../../core/claim.ts";
import { SERVER_MADE_PREFIX } from "../../core/claim.ts";
import type { Terms } from "../../core/record.ts";
import type { AcquireInput } from "../../engine/lock-engine.ts";
import { LABELS_CHECKED_MAX, QUOTED_CHARS_MAX } from "../grpc-bounds.ts";
import { checkDuration, checkName, checkText, Violations } from "./fields.ts";
import { checkTerms } from "./records.ts";

type WhenBusy = "refuse" | "enqueue" | "wait";

interface CheckedAcquire {
  readonly ask: AcquireInput;
  readonly whenBusy: WhenBusy;
}

const MODES: Record<WireMode, Mode> = {
  [WireMode.UNSPECIFIED]: "permit",
  [WireMode.PERMIT]: "permit",
  [WireMode.SHARED]: "shared",
  [WireMode.EXCLUSIVE]: "exclusive",
};

const WHEN_BUSY: Record<WireWhenBusy, WhenBusy> = {
  [WireWhenBusy.UNSPECIFIED]: "refuse",
  [WireWhenBusy.REFUSE]: "refuse",
  [WireWhenBusy.ENQUEUE]: "enqueue",
  [WireWhenBusy.WAIT]: "wait",
};

/** Throws a CallError with all violations. */
export function checkAcquire(message: AcquireRequest): CheckedAcquire {
  const violations = new Violations();
  const whenBusy = checkWhenBusy(message, violations);
  if (whenBusy === "refuse" && message.maxWait) {
    violations.add(
      "max_wait",
      "needs a call that waits: set when_busy to WHEN_BUSY_ENQUEUE or WHEN_BUSY_WAIT",
    );
  }
  const ask = checkAsk(message, whenBusy !== "refuse", violations);
  return violations.checked({ ask, whenBusy });
}

/** Checks a request inside a WaitInQueueRequest, which always waits. Adds to `violations`. */
export function checkNestedAcquire(message: AcquireRequest, violations: Violations): AcquireInput {
  checkWhenBusy(message, violations);
  if (message.whenBusy === WireWhenBusy.REFUSE) {
    violations.add(
      "when_busy",
      "is WHEN_BUSY_REFUSE in a call that waits: leave it unspecified, or use Acquire",
    );
  }
  return checkAsk(message, true, violations);
}

function checkAsk(message: AcquireRequest, mayWait: boolean, violations: Violations): AcquireInput {
  const mode = checkMode(message, violations);
  return {
    name: checkName(message.name, "name", violations),
    mode,
    permits: checkPermits(message, mode, violations),
    ttlUs: checkTtl(message, violations),
    requestId: checkRequestId(message.requestId, REQUEST_ID_BYTES_MAX, violations),
    owner: checkText(message.owner, TEXT_BYTES_MAX, "owner", violations),
    labels: checkLabels(message.labels, violations),
    terms: checkOwnTerms(message, violations),
    mayWait,
    maxWaitUs: message.maxWait
      ? checkDuration(message.maxWait, { minUs: WAIT_US_MIN, maxUs: DURATION_US_MAX }, "max_wait", violations)
      : null,
  };
}

function checkMode({ mode }: AcquireRequest, violations: Violations): Mode {
  // Enums of proto3 are open: any number can arrive.
  const known: Mode | undefined = MODES[mode];
  if (!known)
    violations.add(
      "mode",
      `is ${mode}, which is not a known value: use MODE_PERMIT, MODE_SHARED or MODE_EXCLUSIVE`,
    );
  return known ?? "permit";
}

function checkWhenBusy({ whenBusy }: AcquireRequest, violations: Violations): WhenBusy {
  const known: WhenBusy | undefined = WHEN_BUSY[whenBusy];
  if (!known) {
    violations.add(
      "when_busy",
      `is ${whenBusy}, which is not a known value: use WHEN_BUSY_REFUSE, WHEN_BUSY_ENQUEUE or WHEN_BUSY_WAIT`,
    );
  }
  // Treated as a request that waits, so that a max_wait beside it is not reported as well.
  return known ?? "wait";
}

function checkPermits({ permits }: AcquireRequest, mode: Mode, violations: Violations): number {
  if (mode !== "permit" && permits > 1) {
    violations.add("permits", `is ${permits}; readers and writers are not counted, so leave it unset`);
  } else if (permits > PERMITS_MAX) {
    violations.add("permits", `is ${permits}; take at most ${PERMITS_MAX}`);
  }
  return permits === 0 ? 1 : permits;
}

function checkTtl({ ttl, noExpiry }: AcquireRequest, violations: Violations): number | null {
  if (noExpiry && ttl) violations.add("ttl", "contradicts no_expiry: set one of them");
  const ttlUs = ttl
    ? checkDuration(ttl, { minUs: TTL_US_MIN, maxUs: DURATION_US_MAX }, "ttl", violations)
    : TTL_US_DEFAULT;
  return noExpiry ? null : ttlUs;
}

function checkOwnTerms(message: AcquireRequest, violations: Violations): Terms | null {
  if (message.minInterval && message.noExpiry) {
    violations.add(
      "min_interval",
      "contradicts no_expiry: give the lease a ttl, or set cool_down at its Release",
    );
  }
  return checkTerms(message, violations);
}

/** Refuses ids with the prefix of those that the server makes. */
export function checkRequestId(requestId: string, bytesMax: number, violations: Violations): string {
  if (requestId.startsWith(SERVER_MADE_PREFIX)) {
    violations.add(
      "request_id",
      "begins with a NUL, which is reserved for the server: use another id, such as a UUID",
    );
  }
  return checkText(requestId, bytesMax, "request_id", violations);
}

/** Checks the number of labels, and the first LABELS_CHECKED_MAX of them. */
export function checkLabels(
  labels: AcquireRequest["labels"],
  violations: Violations,
): AcquireRequest["labels"] {
  const keys = Object.keys(labels);
  if (keys.length > LABELS_MAX)
    violations.add("labels", `has ${keys.length} entries; use at most ${LABELS_MAX}`);
  for (const key of keys.slice(0, LABELS_CHECKED_MAX)) {
    const field = `labels[${JSON.stringify(key.slice(0, QUOTED_CHARS_MAX).toWellFormed())}]`;
    const keyBytes = Buffer.byteLength(key);
    if (keyBytes < 1 || keyBytes > LABEL_KEY_BYTES_MAX) {
      violations.add(field, `has a key of ${keyBytes} bytes; use 1 to ${LABEL_KEY_BYTES_MAX} bytes of UTF-8`);
    }
    checkText(labels[key] ?? "", TEXT_BYTES_MAX, field, violations);
  }
  return labels;
}
